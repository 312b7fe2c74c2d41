// Networks and trees whose arguments contradict each other are refused, and all others can be evaluated.
#include <iterator>
#include <stdexcept>

#include "bytes.h"
#include "nets/mlp.h"
#include "nets/trees.h"

namespace {

using namespace misstep;

const char *const names[] = {"identity", "relu", "leaky-relu", "elu",       "tanh",
                             "sigmoid",  "silu", "gelu",       "gelu-tanh", "none"};

void evaluate(Network &network) {
    if (network.inputs() > 1000 || network.outputs() > 1000) return;
    const std::vector<double> inputs(3 * static_cast<std::size_t>(network.inputs()), 0.5);
    std::vector<double> outputs(3 * static_cast<std::size_t>(network.outputs()));
    network.evaluate(inputs.data(), 3, outputs.data());
}

void mlp(test::Bytes &bytes) {
    std::vector<int> sizes;
    for (std::int8_t width : bytes.list<std::int8_t>(5)) sizes.push_back(width);
    if (bytes.below(16) == 0) sizes.push_back(bytes.take<int>());
    Mlp::Normalisation normalisation;
    normalisation.mean = bytes.list<double>(6);
    normalisation.range = bytes.list<double>(6);
    std::vector<double> weights;
    std::size_t wanted = 0;  // the right number of weights, most of the time
    for (std::size_t i = 0; i + 1 < sizes.size() && wanted < 100000; ++i)
        if (sizes[i] > 0 && sizes[i] < 200 && sizes[i + 1] > 0 && sizes[i + 1] < 200)
            wanted += static_cast<std::size_t>(sizes[i] + 1) * static_cast<std::size_t>(sizes[i + 1]);
    if (bytes.below(8) == 0) ++wanted;
    while (weights.size() < wanted) weights.push_back(bytes.take<float>());
    const Activation activation = Activation::named(names[bytes.below(std::size(names))], bytes.take<float>());
    std::vector<LayerNorm> norms;
    for (int i = bytes.below(3); i > 0; --i) {
        LayerNorm norm{bytes.take<std::int8_t>(), bytes.below(2) == 1, bytes.take<float>(), {}, {}};
        norm.scale = bytes.list<double>(6);
        norm.shift = bytes.list<double>(6);
        norms.push_back(norm);
    }
    Mlp network(sizes, weights, normalisation, "", activation, norms);
    evaluate(network);
}

void trees(test::Bytes &bytes) {
    const auto small = [&]() -> std::int32_t {
        return bytes.below(32) ? bytes.take<std::int8_t>() : bytes.take<int>();
    };
    const int inputs = small(), outputs = small();
    std::vector<Trees::Tree> list;
    for (int i = bytes.below(4); i > 0; --i) list.push_back({small(), small(), small()});
    std::vector<Trees::Node> nodes;
    for (int i = bytes.below(12); i > 0; --i) nodes.push_back({bytes.take<float>(), small(), small(), small()});
    std::vector<double> values = bytes.list<double>(40), base = bytes.list<double>(10);
    Trees network(inputs, outputs, {bytes.below(2) == 1, bytes.below(2) == 1}, list, nodes, values, base);
    evaluate(network);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    test::Bytes bytes(data, size);
    try {
        bytes.below(2) ? trees(bytes) : mlp(bytes);
    } catch (const std::invalid_argument &) {
    }
    return 0;
}
