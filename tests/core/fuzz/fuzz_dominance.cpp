// Dominance tables are refused, or can be asked about every state and are written as they were read.
#include <cstdlib>

#include "bytes.h"
#include "dominance/function.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using misstep::dominance::Function;
    const std::vector<int> sizes{2, 3, 4};
    const auto function = Function::read({reinterpret_cast<const char *>(data), size}, sizes);
    if (!function) return 0;
    ++misstep::test::accepted;
    for (int one = 0; one < 24; ++one)
        for (int other = 0; other < 24; ++other) {
            const int dominated[] = {one % 2, one / 2 % 3, one / 6},
                      dominating[] = {other % 2, other / 2 % 3, other / 6};
            function->value(dominated, dominating);
            function->by_factor(dominated, dominating);
        }
    const std::string written = function->write();
    const auto again = Function::read(written, sizes);
    if (!again || again->write() != written) std::abort();
    return 0;
}
