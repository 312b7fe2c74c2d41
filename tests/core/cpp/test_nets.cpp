#include <cmath>
#include <limits>
#include <stdexcept>

#include "check.h"
#include "nets/kernels.h"
#include "nets/mlp.h"
#include "nets/network.h"
#include "nets/trees.h"

using namespace misstep;

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

// Every instruction set, for widths below, at and beyond the padding, and for batches beyond a block.
void test_mlp() {
    CHECK(find_kernels("no such instruction set") == nullptr);
    CHECK(find_kernels("") == available_kernels().front());
    for (const Kernels *kernels : available_kernels()) {
        // Hidden: relu(2x - y + 1) and relu(-x + 3); output: 10a - b + 0.5, scaled by 2 and moved by 1.
        const std::vector<double> weights{2, -1, -1, 0, 1, 3, 10, -1, 0.5};
        Mlp mlp({2, 2, 1}, weights, {{}, {}, 1, 2}, kernels->name);
        CHECK(mlp.kernels() == kernels->name);
        const std::vector<double> inputs{1, 1, 0, 5, 4, 0};
        std::vector<double> outputs(3);
        mlp.evaluate(inputs.data(), 3, outputs.data());
        CHECK_EQUAL(outputs[0], (10 * 2 - 2 + 0.5) * 2 + 1);
        CHECK_EQUAL(outputs[1], (10 * 0 - 3 + 0.5) * 2 + 1);
        CHECK_EQUAL(outputs[2], (10 * 9 - 0 + 0.5) * 2 + 1);

        Mlp normalised({1, 1}, std::vector<double>{3, 1}, {{5}, {2}, 0, 1}, kernels->name);
        const double nine = 9;
        double output = 0;
        normalised.evaluate(&nine, 1, &output);
        CHECK_EQUAL(output, 3 * 2.0 + 1);

        // One layer that adds up its inputs, times the number of the output.
        for (const int width : {1, 7, 8, 9, 33}) {
            std::vector<double> matrix;
            for (int o = 0; o < width; ++o) matrix.insert(matrix.end(), {double(o), double(o), double(o)});
            for (int o = 0; o < width; ++o) matrix.push_back(-o);
            Mlp layer({3, width}, matrix, {}, kernels->name);
            const int rows = 1'000;
            std::vector<double> in, out(static_cast<std::size_t>(rows * width));
            for (int row = 0; row < rows; ++row) in.insert(in.end(), {double(row), 1, -3});
            layer.evaluate(in.data(), rows, out.data());
            for (int row = 0; row < rows; ++row)
                for (int o = 0; o < width; ++o)
                    CHECK_EQUAL(out[static_cast<std::size_t>(row * width + o)], double(o * (row - 3)));
        }
    }
    CHECK_THROWS(Mlp({2, 1}, std::vector<double>{1, 2}, {}), std::invalid_argument);
    CHECK_THROWS(Mlp({}, {}, {}), std::invalid_argument);
    CHECK_THROWS(Mlp({1, 0}, {}, {}), std::invalid_argument);
    CHECK_THROWS(Mlp({1, 1}, std::vector<double>{1, 2}, {{1, 2}, {1, 2}}), std::invalid_argument);
    CHECK_THROWS(Mlp({1, 1}, std::vector<double>{1, 2}, {}, "no such instruction set"), std::invalid_argument);
}

// Each function at points where its value is known, and in a network.
void test_activations() {
    const auto at = [](const char *name, double parameter, double x) {
        Activation::named(name, parameter).apply(&x, 1);
        return x;
    };
    CHECK_EQUAL(at("identity", 0, -3), -3.0);
    CHECK_EQUAL(at("relu", 0, -3), 0.0);
    CHECK_EQUAL(at("leaky-relu", 0.5, -3), -1.5);
    CHECK_EQUAL(at("elu", 2, -INF), -2.0);
    CHECK_EQUAL(at("tanh", 0, INF), 1.0);
    CHECK_EQUAL(at("sigmoid", 0, 0), 0.5);
    CHECK_EQUAL(at("sigmoid", 0, -INF), 0.0);
    CHECK_EQUAL(at("silu", 0, 0), 0.0);
    CHECK_EQUAL(at("gelu", 0, 100), 100.0);
    CHECK_EQUAL(at("gelu-tanh", 0, 100), 100.0);
    for (const char *name : {"relu", "leaky-relu", "elu", "tanh", "sigmoid", "silu", "gelu", "gelu-tanh"})
        CHECK(std::isnan(at(name, 0.5, std::nan(""))));
    CHECK_THROWS(Activation::named("mish", 0), std::invalid_argument);
    CHECK_THROWS(Activation::named("elu", INF), std::invalid_argument);

    // Hidden: sigmoid(0) twice; output: 0.5 + 0.5 + 1.
    Mlp sigmoid({1, 2, 1}, std::vector<double>{1, 2, 0, 0, 1, 1, 1}, {}, "", Activation::named("sigmoid", 0));
    const double zero = 0;
    double output = 0;
    sigmoid.evaluate(&zero, 1, &output);
    CHECK_EQUAL(output, 2.0);
}

// Two numbers become -1 and 1, then 2 * -1 + 1 and 3 * 1 + 0, either before the rectifier or behind it.
void test_layer_norms() {
    const std::vector<double> weights{1, 3, 0, 0, 1, 1, 0};
    const auto sum = [&](int place, bool late) {
        Mlp mlp({1, 2, 1}, weights, {}, "", {}, {{place, late, 0, {2, 3}, {1, 0}}});
        const double one = 1;
        double output = 0;
        mlp.evaluate(&one, 1, &output);
        return output;
    };
    CHECK_EQUAL(sum(1, false), 3.0);       // -1 is rectified
    CHECK_EQUAL(sum(1, true), -1.0 + 3.0);
    CHECK_THROWS(sum(0, false), std::invalid_argument);  // one input, two weights
    CHECK_THROWS(sum(3, false), std::invalid_argument);
    Mlp inputs({2, 1}, std::vector<double>{1, 10, 0}, {}, "", {}, {{0, false, 0, {1, 1}, {0, 0}}});
    const double row[] = {5, 9};
    double output = 0;
    inputs.evaluate(row, 1, &output);
    CHECK_EQUAL(output, 9.0);
}

void test_choice() {
    const double outputs[] = {1, 5, 5, INF, 2};
    const auto choose = [&](std::initializer_list<bool> allowed) {
        return choose_output(outputs, allowed.begin(), static_cast<int>(allowed.size()));
    };
    CHECK_EQUAL(choose({true, true, true, false, true}), 1);  // the first of equals
    CHECK_EQUAL(choose({true, false, true, false, true}), 2);
    CHECK_EQUAL(choose({false, false, false, false, false}), NO_OUTPUT);
    CHECK_EQUAL(choose({true, false, false, true, false}), NOT_FINITE);
    CHECK_EQUAL(choose({}), NO_OUTPUT);
}

// One tree tests x < 0.1 and then y < 2 (or <=), another is a single leaf.
std::vector<double> evaluate(Trees::Rule rule, double x, double y) {
    Trees trees(2, 2, rule, {{2, 3, 0}, {0, 1, -1}}, {{0.1, 0, ~0, 1}, {2, 1, ~1, ~2}}, {10, 20, 30, 1, 2}, {0.5, 0});
    std::vector<double> outputs(2), many(2 * 1'000), inputs;
    const double row[] = {x, y};
    trees.evaluate(row, 1, outputs.data());
    for (int i = 0; i < 1'000; ++i) inputs.insert(inputs.end(), row, row + 2);
    trees.evaluate(inputs.data(), 1'000, many.data());
    CHECK(many[2 * 999] == outputs[0] && many[2 * 999 + 1] == outputs[1]);
    CHECK_EQUAL(outputs[1], 2.0);
    return outputs;
}

void test_trees() {
    for (const bool strict : {false, true}) {
        CHECK_EQUAL(evaluate({strict, false}, 0, 0)[0], 0.5 + 10 + 1);
        CHECK_EQUAL(evaluate({strict, false}, 1, 1)[0], 0.5 + 20 + 1);
        CHECK_EQUAL(evaluate({strict, false}, 1, 3)[0], 0.5 + 30 + 1);
        CHECK_EQUAL(evaluate({strict, false}, 1, 2)[0], 0.5 + (strict ? 30 : 20) + 1);
        CHECK_EQUAL(evaluate({strict, false}, 0.1, 0)[0], 0.5 + (strict ? 20 : 10) + 1);
    }
    // In single precision 0.1 is larger than the threshold 0.1 in double precision.
    CHECK_EQUAL(evaluate({false, true}, 0.1, 0)[0], 0.5 + 20 + 1);

    const std::vector<Trees::Node> backwards{{0, 0, 0, ~0}}, beyond{{0, 0, ~0, ~5}}, feature{{0, 2, ~0, ~1}};
    for (const std::vector<Trees::Node> &nodes : {backwards, beyond, feature})
        CHECK_THROWS(Trees(2, 1, {true, false}, {{1, 2, 0}}, nodes, {1, 2}, {0}), std::invalid_argument);
    CHECK_THROWS(Trees(1, 1, {true, false}, {{0, 1, 1}}, {}, {1}, {0}), std::invalid_argument);
    CHECK_THROWS(Trees(1, 1, {true, false}, {{0, 1, 0}}, {}, {1, 2}, {0}), std::invalid_argument);
    // A file that claims a billion inputs takes no memory for a billion numbers.
    CHECK_THROWS(Trees(1 << 30, 2, {true, true}, {}, {}, {}, {0}), std::invalid_argument);
    CHECK_EQUAL(Trees(1 << 30, 1, {true, true}, {}, {}, {}, {0}).inputs(), 1 << 30);
}

}  // namespace

int main() {
    test_mlp();
    test_activations();
    test_layer_norms();
    test_choice();
    test_trees();
    return misstep::test::result();
}
