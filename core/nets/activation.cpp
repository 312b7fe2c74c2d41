#include "nets/activation.h"

#include <cmath>
#include <map>
#include <numbers>
#include <stdexcept>

namespace misstep {

namespace {

template <class Function>
void each(double *values, int count, Function function) {
    for (int i = 0; i < count; ++i) values[i] = function(values[i]);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

// The approximation that PyTorch calls approximate="tanh".
double gelu_tanh(double x) {
    static const double scale = std::sqrt(2 / std::numbers::pi);
    return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

}  // namespace

Activation Activation::named(const std::string &name, double parameter) {
    static const std::map<std::string, Kind> kinds = {
        {"identity", Kind::identity}, {"relu", Kind::relu}, {"leaky-relu", Kind::leaky_relu},
        {"elu", Kind::elu},           {"tanh", Kind::tanh}, {"sigmoid", Kind::sigmoid},
        {"silu", Kind::silu},         {"gelu", Kind::gelu}, {"gelu-tanh", Kind::gelu_tanh},
    };
    const auto found = kinds.find(name);
    if (found == kinds.end()) throw std::invalid_argument("there is no activation " + name);
    if (!std::isfinite(parameter)) throw std::invalid_argument("the parameter of the activation is not finite");
    return {found->second, parameter};
}

void Activation::apply(double *values, int count) const {
    switch (kind) {
        case Kind::identity: return;
        case Kind::relu: return each(values, count, [](double x) { return x < 0 ? 0 : x; });
        case Kind::leaky_relu: return each(values, count, [this](double x) { return x < 0 ? parameter * x : x; });
        case Kind::elu: return each(values, count, [this](double x) { return x < 0 ? parameter * std::expm1(x) : x; });
        case Kind::tanh: return each(values, count, [](double x) { return std::tanh(x); });
        case Kind::sigmoid: return each(values, count, sigmoid);
        case Kind::silu: return each(values, count, [](double x) { return x * sigmoid(x); });
        case Kind::gelu: return each(values, count, gelu);
        case Kind::gelu_tanh: return each(values, count, gelu_tanh);
    }
}

}  // namespace misstep
