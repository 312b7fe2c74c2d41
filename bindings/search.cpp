#include "bindings.h"
namespace misstep::bindings {
void define_search(nb::module_ &) {}
}
