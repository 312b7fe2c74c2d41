#include "jani/operators.h"
#include "jani/program.h"

namespace misstep::jani {

bool Programs::execute(std::uint32_t begin, Word *registers) const {
    const Instruction *at = code_.data() + begin;
    const auto r = [&](Register i) -> Word & { return registers[i]; };
    const auto real = [&](Register i) { return as_real(registers[i]); };
    const auto put = [&](double value) { registers[at->target] = from_real(operators::finite(value)); };
    for (;; ++at) {
        switch (at->code) {
            case Code::add_i: r(at->target) = operators::add(r(at->a), r(at->b)); break;
            case Code::subtract_i: r(at->target) = operators::subtract(r(at->a), r(at->b)); break;
            case Code::multiply_i: r(at->target) = operators::multiply(r(at->a), r(at->b)); break;
            case Code::modulo_i: r(at->target) = operators::modulo(r(at->a), r(at->b)); break;
            case Code::minimum_i: r(at->target) = std::min(r(at->a), r(at->b)); break;
            case Code::maximum_i: r(at->target) = std::max(r(at->a), r(at->b)); break;
            case Code::absolute_i: r(at->target) = operators::absolute(r(at->a)); break;
            case Code::sign_i: r(at->target) = operators::sign(r(at->a)); break;
            case Code::equal_i: r(at->target) = r(at->a) == r(at->b); break;
            case Code::not_equal_i: r(at->target) = r(at->a) != r(at->b); break;
            case Code::less_i: r(at->target) = r(at->a) < r(at->b); break;
            case Code::less_equal_i: r(at->target) = r(at->a) <= r(at->b); break;
            case Code::add_r: put(real(at->a) + real(at->b)); break;
            case Code::subtract_r: put(real(at->a) - real(at->b)); break;
            case Code::multiply_r: put(real(at->a) * real(at->b)); break;
            case Code::divide_r: put(operators::divide(real(at->a), real(at->b))); break;
            case Code::minimum_r: put(std::min(real(at->a), real(at->b))); break;
            case Code::maximum_r: put(std::max(real(at->a), real(at->b))); break;
            case Code::absolute_r: put(std::abs(real(at->a))); break;
            case Code::sign_r: r(at->target) = operators::sign_of_real(real(at->a)); break;
            case Code::power_r: put(std::pow(real(at->a), real(at->b))); break;
            case Code::logarithm_r: put(operators::logarithm(real(at->a), real(at->b))); break;
            case Code::sine_r: put(std::sin(real(at->a))); break;
            case Code::cosine_r: put(std::cos(real(at->a))); break;
            case Code::floor_r: r(at->target) = operators::to_integer(std::floor(real(at->a))); break;
            case Code::ceil_r: r(at->target) = operators::to_integer(std::ceil(real(at->a))); break;
            case Code::truncate_r: r(at->target) = operators::to_integer(std::trunc(real(at->a))); break;
            case Code::equal_r: r(at->target) = real(at->a) == real(at->b); break;
            case Code::not_equal_r: r(at->target) = real(at->a) != real(at->b); break;
            case Code::less_r: r(at->target) = real(at->a) < real(at->b); break;
            case Code::less_equal_r: r(at->target) = real(at->a) <= real(at->b); break;
            case Code::to_real: r(at->target) = from_real(static_cast<double>(r(at->a))); break;
            case Code::negate: r(at->target) = r(at->a) == 0; break;
            case Code::move: r(at->target) = r(at->a); break;
            case Code::element: r(at->target) = registers[at->b + r(at->a)]; break;
            case Code::within:
                if (r(at->a) < 0 || r(at->a) >= Word{at->b}) throw Fault{"the index is outside the array"};
                r(at->target) = r(at->a);
                break;
            // A jump goes to the instruction before its target, because the loop then steps forward.
            case Code::jump: at = code_.data() + at->target - 1; break;
            case Code::jump_if_false:
                if (r(at->a) == 0) at = code_.data() + at->target - 1;
                break;
            case Code::jump_if_true:
                if (r(at->a) != 0) at = code_.data() + at->target - 1;
                break;
            case Code::require:
                if (r(at->a) == 0) return false;
                break;
            case Code::require_equal_i:
                if (r(at->a) != r(at->b)) return false;
                break;
            case Code::require_not_equal_i:
                if (r(at->a) == r(at->b)) return false;
                break;
            case Code::require_less_i:
                if (r(at->a) >= r(at->b)) return false;
                break;
            case Code::require_less_equal_i:
                if (r(at->a) > r(at->b)) return false;
                break;
            case Code::require_equal_r:
                if (real(at->a) != real(at->b)) return false;
                break;
            case Code::require_not_equal_r:
                if (real(at->a) == real(at->b)) return false;
                break;
            case Code::require_less_r:
                if (real(at->a) >= real(at->b)) return false;
                break;
            case Code::require_less_equal_r:
                if (real(at->a) > real(at->b)) return false;
                break;
            case Code::halt: return true;
        }
    }
}

}  // namespace misstep::jani
