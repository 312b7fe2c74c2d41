#include "jani/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jani/linear.h"
#include "jani/operators.h"

namespace misstep::jani {

namespace {
constexpr double INFINITY_ = std::numeric_limits<double>::infinity();
constexpr double REAL_EPSILON = 1e-5;
}  // namespace

Distance::Distance(const Expressions &expressions, Programs &programs, ExprId condition, Scale scale) {
    const std::uint32_t root = normalise(expressions, programs, condition, true, scale);
    nodes_.resize(root + 1);  // the root is evaluated last, and nodes after it are not used
    done_.clear();
}

std::uint32_t Distance::add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t Distance::constant(bool holds) {
    Node node{Kind::constant};
    node.number = holds ? 0 : INFINITY_;
    return add(std::move(node));
}

std::uint32_t Distance::combine(Kind kind, std::uint32_t a, std::uint32_t b) {
    Node node{kind};
    for (std::uint32_t child : {a, b})
        if (nodes_[child].kind == kind)
            node.children.insert(node.children.end(), nodes_[child].children.begin(), nodes_[child].children.end());
        else node.children.push_back(child);
    return add(std::move(node));
}

std::uint32_t Distance::normalise(const Expressions &expressions, Programs &programs, ExprId e, bool positive,
                                  Scale scale) {
    if (const auto found = done_.find({e, positive}); found != done_.end()) return found->second;
    const Expressions::Node node = expressions[e];
    const auto visit = [&](int argument, bool sign) {
        return normalise(expressions, programs, node.arguments[argument], sign, scale);
    };
    const auto both = [&](std::uint32_t a, std::uint32_t b) { return combine(Kind::sum, a, b); };
    const auto either = [&](std::uint32_t a, std::uint32_t b) { return combine(Kind::least, a, b); };
    std::uint32_t result;
    const bool on_booleans =
        (node.op == Op::equal || node.op == Op::not_equal) && expressions[node.arguments[0]].type == Type::boolean;
    if (node.op == Op::constant) {
        result = constant((node.word != 0) == positive);
    } else if (node.op == Op::negation) {
        result = visit(0, !positive);
    } else if (node.op == Op::conjunction || node.op == Op::disjunction) {
        const std::uint32_t a = visit(0, positive), b = visit(1, positive);
        result = (node.op == Op::conjunction) == positive ? both(a, b) : either(a, b);
    } else if (node.op == Op::ite) {
        const std::uint32_t a = both(visit(0, true), visit(1, positive)), b = both(visit(0, false), visit(2, positive));
        result = either(a, b);
    } else if (on_booleans) {
        const bool same = (node.op == Op::equal) == positive;
        const std::uint32_t a = both(visit(0, true), visit(1, same)), b = both(visit(0, false), visit(1, !same));
        result = either(a, b);
    } else {
        result = atom(expressions, programs, e, positive, scale);
    }
    done_.emplace(std::pair(e, positive), result);
    return result;
}

std::uint32_t Distance::atom(const Expressions &expressions, Programs &programs, ExprId e, bool positive, Scale scale) {
    const Expressions::Node &node = expressions[e];
    Node result{Kind::truth};
    ExprId left = node.arguments[0], right = node.arguments[1];
    switch (node.op) {
        case Op::equal: result.kind = positive ? Kind::equal : Kind::not_equal; break;
        case Op::not_equal: result.kind = positive ? Kind::not_equal : Kind::equal; break;
        case Op::less_equal:
        case Op::less:
            result.kind = (node.op == Op::less) == positive ? Kind::less : Kind::less_equal;
            if (!positive) std::swap(left, right);  // not (a <= b) is b < a
            break;
        default: {  // a Boolean variable, or an atom that is not a comparison
            result.kind = positive ? Kind::truth : Kind::falsity;
            if (node.op != Op::variable) ++opaque_;
            result.left = programs.value(e);
            return add(std::move(result));
        }
    }
    result.integer = expressions[left].type == Type::integer && expressions[right].type == Type::integer;
    result.left = programs.value(left);
    result.right = programs.value(right);
    const auto form = difference(expressions, left, right);
    if (!form) {
        ++nonlinear_;
    } else if (scale == Scale::l1) {
        double largest = 0;
        for (const auto &[slot, weight] : form->terms) largest = std::max(largest, std::abs(weight));
        if (largest > 0) result.number = 1 / largest;
    }
    return add(std::move(result));
}

double Distance::atom_value(const Node &node, const Programs &programs, Word *registers) const {
    const Word left = programs.run(node.left, registers);
    if (node.kind == Kind::truth) return left != 0 ? 0 : 1;
    if (node.kind == Kind::falsity) return left != 0 ? 1 : 0;
    const Word right = programs.run(node.right, registers);
    // Whether the atom holds is decided on the values themselves, so that rounding the difference cannot matter.
    bool below, same;
    double gap;
    if (node.integer) {
        __extension__ using Wide = __int128;
        below = left < right;
        same = left == right;
        gap = static_cast<double>(static_cast<Wide>(left) - right);
    } else {
        below = as_real(left) < as_real(right);
        same = as_real(left) == as_real(right);
        gap = as_real(left) - as_real(right);
    }
    const double epsilon = node.integer ? 1 : REAL_EPSILON;
    switch (node.kind) {
        case Kind::less_equal: return below || same ? 0 : gap * node.number;
        case Kind::less: return below ? 0 : (gap + epsilon) * node.number;
        case Kind::equal: return same ? 0 : std::abs(gap) * node.number;
        default: return same ? epsilon * node.number : 0;
    }
}

double Distance::operator()(const Programs &programs, Word *registers, std::vector<double> &values) const {
    values.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const Node &node = nodes_[i];
        double value;
        switch (node.kind) {
            case Kind::constant: value = node.number; break;
            case Kind::sum:
                value = 0;
                for (std::uint32_t child : node.children) value += values[child];
                break;
            case Kind::least:
                value = INFINITY_;
                for (std::uint32_t child : node.children) value = std::min(value, values[child]);
                break;
            default: try { value = atom_value(node, programs, registers);
                } catch (const Fault &) {
                    value = 1;
                }
        }
        values[i] = value;
    }
    return values.back();
}

}  // namespace misstep::jani
