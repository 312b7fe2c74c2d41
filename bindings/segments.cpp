#include "bindings.h"
#include "nets/segments.h"

namespace misstep::bindings {

namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutRows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Winners = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutWinners = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check(bool right, const char *what) {
    if (!right) throw nb::value_error(what);
}

void check_rows(const Index &index, std::size_t rows) {
    for (std::size_t i = 0; i < index.size(); ++i)
        check(index.data()[i] >= 0 && static_cast<std::size_t>(index.data()[i]) < rows, "a row that is not there");
}

}  // namespace

void define_segments(nb::module_ &module) {
    module.def("segment_max", [](const Rows &x, const Index &members, const Index &offsets, float empty,
                                 const OutRows &out, const OutWinners &winner) {
        const std::size_t segments = out.shape(0);
        check(offsets.size() == segments + 1 && offsets.data()[0] == 0 &&
                  offsets.data()[segments] == static_cast<std::int32_t>(members.size()) &&
                  winner.shape(0) == segments && winner.shape(1) == x.shape(1) && out.shape(1) == x.shape(1),
              "arrays of other sizes");
        for (std::size_t s = 0; s < segments; ++s)
            check(offsets.data()[s] <= offsets.data()[s + 1], "offsets that decrease");
        check_rows(members, x.shape(0));
        segment_max(x.data(), members.data(), offsets.data(), segments, x.shape(1), empty, out.data(), winner.data());
    }, nb::arg("x"), nb::arg("members"), nb::arg("offsets"), nb::arg("empty"), nb::arg("out"), nb::arg("winner"));

    module.def("scatter_winners", [](const Rows &gradient, const Winners &winner, const OutRows &out) {
        check(winner.shape(0) == gradient.shape(0) && winner.shape(1) == gradient.shape(1) &&
                  out.shape(1) == gradient.shape(1),
              "arrays of other sizes");
        for (std::size_t i = 0; i < winner.size(); ++i)
            check(winner.data()[i] < static_cast<std::int64_t>(out.shape(0)), "a row that is not there");
        scatter_winners(gradient.data(), winner.data(), gradient.shape(0), gradient.shape(1), out.data());
    }, nb::arg("gradient"), nb::arg("winner"), nb::arg("out"));

    module.def("scatter_rows", [](const Rows &gradient, const Index &index, const OutRows &out) {
        check(index.size() == gradient.shape(0) && out.shape(1) == gradient.shape(1), "arrays of other sizes");
        check_rows(index, out.shape(0));
        scatter_rows(gradient.data(), index.data(), gradient.shape(0), gradient.shape(1), out.data());
    }, nb::arg("gradient"), nb::arg("index"), nb::arg("out"));
}

}  // namespace misstep::bindings
