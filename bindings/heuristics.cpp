#include "bindings.h"

namespace misstep::bindings {
void define_heuristics(nb::module_ &) {}
}  // namespace misstep::bindings
