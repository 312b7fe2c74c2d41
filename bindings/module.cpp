#include "bindings.h"

NB_MODULE(_core, module) {
    module.doc() = "The native core of Misstep. Private: use the package's public names.";
    nb::set_leak_warnings(false);  // users may keep objects alive until the interpreter exits
    using namespace misstep::bindings;
    define_base(module);
    define_rows(module);
    define_fdr(module);
    define_state_space(module);
    define_heuristics(module);
    define_search(module);
    define_bounds(module);
    define_improve(module);
    define_policygraph(module);
    define_permitted(module);
    define_repair(module);
    define_oracles(module);
    define_nets(module);
    define_asnets(module);
    define_sketches(module);
    define_wl(module);
    define_fuzzing(module);
    define_dominance(module);
    define_jani(module);
    define_safety_systems(module);
    define_safety(module);
    define_janisafety(module);
    define_prove(module);
    define_risk(module);
}
