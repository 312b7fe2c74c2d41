// Networks and trees whose arguments contradict each other are refused, and all others can be evaluated.
#include <cstdlib>
#include <iterator>
#include <stdexcept>

#include "bytes.h"
#include "nets/mlp.h"
#include "nets/trees.h"

namespace {

using namespace misstep;

const char *const names[] = {"identity", "relu", "leaky-relu", "elu",       "tanh",
                             "sigmoid",  "silu", "gelu",       "gelu-tanh", "none"};

// A row has the same outputs alone as among others.
void evaluate(Network &network, test::Bytes &bytes) {
    constexpr int ROWS = 11;  // more than are computed at once, and not a multiple
    if (network.inputs() > 1000 || network.outputs() > 1000) return;
    const auto width = static_cast<std::size_t>(network.inputs()),
               answers = static_cast<std::size_t>(network.outputs());
    std::vector<double> inputs, outputs(ROWS * answers), alone(answers);
    while (inputs.size() < ROWS * width)
        inputs.push_back(bytes.rarely() ? bytes.take<double>() : bytes.take<std::int8_t>());
    network.evaluate(inputs.data(), ROWS, outputs.data());
    for (std::size_t row = 0; row < ROWS; ++row) {
        network.evaluate(inputs.data() + row * width, 1, alone.data());
        for (std::size_t i = 0; i < answers; ++i) {
            const double among = outputs[row * answers + i];
            if (among != alone[i] && (among == among || alone[i] == alone[i])) std::abort();
        }
    }
    ++test::accepted;
}

std::vector<double> numbers(test::Bytes &bytes, std::size_t count) {
    if (bytes.rarely()) ++count;
    std::vector<double> list;
    while (list.size() < count) list.push_back(bytes.below(8) ? bytes.take<std::int8_t>() / 8.0 : bytes.take<float>());
    return list;
}

void mlp(test::Bytes &bytes) {
    std::vector<int> sizes;
    for (int i = 2 + bytes.below(3); i > 0; --i) sizes.push_back(1 + bytes.below(40));
    const auto inputs = static_cast<std::size_t>(sizes.front());
    Mlp::Normalisation normalisation;
    if (bytes.below(2)) normalisation = {numbers(bytes, inputs), numbers(bytes, inputs)};
    std::size_t wanted = 0;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
        wanted += static_cast<std::size_t>(sizes[i] + 1) * static_cast<std::size_t>(sizes[i + 1]);
    const std::vector<double> weights = numbers(bytes, wanted);
    const Activation activation = Activation::named(
        names[bytes.below(bytes.rarely() ? std::size(names) : std::size(names) - 1)], bytes.take<float>());
    std::vector<LayerNorm> norms;
    for (int i = bytes.below(3); i > 0; --i) {
        LayerNorm norm{bytes.index(sizes.size()), bytes.below(2) == 1, bytes.take<std::uint8_t>() / 64.0, {}, {}};
        const bool exists = norm.place >= 0 && static_cast<std::size_t>(norm.place) < sizes.size();
        const auto width = static_cast<std::size_t>(exists ? sizes[static_cast<std::size_t>(norm.place)] : 1);
        norm.scale = numbers(bytes, width);
        norm.shift = numbers(bytes, width);
        norms.push_back(norm);
    }
    if (bytes.rarely()) sizes.back() = bytes.take<int>();
    Mlp network(sizes, weights, normalisation, "", activation, norms);
    evaluate(network, bytes);
}

void trees(test::Bytes &bytes) {
    const int inputs = 1 + bytes.below(12), outputs = 1 + bytes.below(6);
    std::vector<Trees::Tree> list;
    std::vector<Trees::Node> nodes;
    std::size_t leaves = 0;
    for (int i = bytes.below(4); i >= 0; --i) {
        Trees::Tree tree{bytes.below(12), 1 + bytes.below(12), bytes.below(outputs + 1) - 1};
        for (int node = 0; node < tree.nodes; ++node) {
            const auto child = [&]() -> std::int32_t {
                if (bytes.rarely()) return bytes.take<int>();
                const int later = tree.nodes - node - 1, place = bytes.below(later + tree.leaves);
                return place < later ? node + 1 + place : ~(place - later);
            };
            const double threshold = bytes.rarely() ? bytes.take<double>() : bytes.take<std::int8_t>() / 2.0;
            const int feature = bytes.index(static_cast<std::size_t>(inputs)), left = child();
            nodes.push_back({threshold, feature, left, child()});
        }
        leaves += static_cast<std::size_t>(tree.leaves * (tree.output < 0 ? outputs : 1));
        if (bytes.rarely()) tree.nodes = bytes.take<int>();
        if (bytes.rarely()) tree.leaves = bytes.take<int>();
        if (bytes.rarely()) tree.output = bytes.take<int>();
        list.push_back(tree);
    }
    const std::vector<double> values = numbers(bytes, leaves), base = numbers(bytes, static_cast<std::size_t>(outputs));
    Trees network(inputs, outputs, {bytes.below(2) == 1, bytes.below(2) == 1}, list, nodes, values, base);
    evaluate(network, bytes);
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
