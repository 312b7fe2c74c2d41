// A SAS file is refused with a SasError, or gives a task on which operators can be applied.
#include <cstdlib>

#include "bytes.h"
#include "fdr/sas_reader.h"
#include "fdr/state.h"
#include "fdr/successors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace misstep;
    try {
        const Task task = read_sas({reinterpret_cast<const char *>(data), size});
        if (!task.axioms().empty()) return 0;  // the binding refuses them
        ++test::accepted;
        const SuccessorGenerator successors(task);
        const StatePacker &packer = successors.packer();
        std::vector<std::uint64_t> state(packer.words()), next(packer.words());
        std::vector<int> values(task.initial().begin(), task.initial().end());
        std::vector<OperatorId> applicable;
        packer.pack(values.data(), state.data());
        for (std::size_t steps = 0; steps < 5; ++steps) {
            applicable.clear();
            successors.applicable(values.data(), applicable);
            if (applicable.empty()) break;
            successors.apply(applicable[steps % applicable.size()], state.data(), next.data());
            state.swap(next);
            packer.unpack(state.data(), values.data());
        }
    } catch (const SasError &error) {
        if (error.line < 1) std::abort();  // every error names a line
    }
    return 0;
}
