#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row_digest.h"
#include "bindings.h"

// Prepares rows of a campaign for its database: computes their digests, and converts their values to those of the tables.
//
// A record consists of a few rows, each with about a dozen values that are checked and lists that are written as JSON. In
// Python that takes longer than SQLite needs to store them. This file does the same as `misstep.campaigns.rows` for rows
// with values of the usual types. All other rows are left to Python, which also writes the error messages.

namespace misstep::bindings {
namespace {

std::string_view bytes_of(PyObject *value) {
    char *start = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(value, &start, &size) != 0) throw nb::python_error();
    return {start, static_cast<std::size_t>(size)};
}

// The usual values of a database are written here; all others (floats, lone surrogates, huge numbers) are written by Python.
void add_value(RowText &text, PyObject *value, bool packed) {
    if (value == Py_None) return text.add_none();
    if (Py_TYPE(value) == &PyLong_Type) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow == 0) return text.add_integer(number);
    } else if (Py_TYPE(value) == &PyUnicode_Type) {
        Py_ssize_t size = 0;
        if (const char *utf8 = PyUnicode_AsUTF8AndSize(value, &size))
            return text.add_text({utf8, static_cast<std::size_t>(size)});
        PyErr_Clear();
    } else if (Py_TYPE(value) == &PyBytes_Type) {
        return packed ? text.add_digest(bytes_of(value)) : text.add_bytes(bytes_of(value));
    }
    const nb::object written = nb::steal(PyObject_ASCII(value));
    if (!written.is_valid()) throw nb::python_error();
    text.add(nb::cast<std::string_view>(written));
}

using TableSum = std::pair<nb::str, DigestSum>;

DigestSum &sum_of(std::vector<TableSum> &sums, nb::handle table) {
    for (auto &[name, sum] : sums)
        if (name.is(table) || name.equal(table)) return sum;
    return sums.emplace_back(nb::borrow<nb::str>(table), DigestSum()).second;
}

nb::dict row_sums(const nb::list &rows, const nb::tuple &packed_tables) {
    std::vector<TableSum> sums;
    RowText text;
    PyObject *table = nullptr;  // the table of the previous row, which is mostly the same
    bool packed = false;
    for (const nb::handle own : rows) {
        const auto row = nb::cast<nb::tuple>(own);
        if (row.size() == 0 || !nb::isinstance<nb::str>(row[0]))
            throw nb::value_error("a row begins with the name of its table");
        if (nb::handle own_table = row[0]; own_table.ptr() != table) {
            table = own_table.ptr();
            packed = PySequence_Contains(packed_tables.ptr(), table) == 1;
        }
        for (const nb::handle value : row) add_value(text, value.ptr(), packed);
        sum_of(sums, row[0]).add(text.finish());
    }
    nb::dict found;
    for (const auto &[table, sum] : sums) {
        const Sha256 total = sum.bytes();
        found[table] = nb::make_tuple(sum.count(), nb::bytes(total.data(), total.size()));
    }
    return found;
}

// Whether SQLite returns a value of a column as it was stored: i for INTEGER, t for TEXT, r for REAL.
bool is_kept(PyObject *value, char kind) {
    if (value == Py_None) return true;
    switch (kind) {
        case 'i': return Py_TYPE(value) == &PyLong_Type;
        case 't': return Py_TYPE(value) == &PyUnicode_Type;
        case 'r': return Py_TYPE(value) == &PyFloat_Type;
        default: throw nb::value_error("an unknown kind of column");
    }
}

nb::tuple table_sum(nb::handle table, const nb::list &rows, const std::vector<Py_ssize_t> &columns,
                    const std::string &kinds) {
    if (columns.size() != kinds.size()) throw nb::value_error("expected a kind for each column");
    DigestSum sum;
    RowText text;
    for (const nb::handle own : rows) {
        add_value(text, table.ptr(), false);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            PyObject *value = PyTuple_GetItem(own.ptr(), columns[i]);
            if (value == nullptr) throw nb::python_error();
            if (!is_kept(value, kinds[i])) throw nb::type_error("a value that the table would hold as another one");
            add_value(text, value, false);
        }
        sum.add(text.finish());
    }
    const Sha256 total = sum.bytes();
    return nb::make_tuple(sum.count(), nb::bytes(total.data(), total.size()));
}

// An integer of 64 bits. A bool is refused, although Python counts it among the integers.
bool read_integer(PyObject *value, long long &number) {
    if (Py_TYPE(value) != &PyLong_Type) return false;
    int overflow = 0;
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0;
}

bool is_count(PyObject *value) {
    long long number = 0;
    return read_integer(value, number) && number >= 0;
}

bool is_seconds(PyObject *value) {
    if (Py_TYPE(value) != &PyFloat_Type) return false;
    const double seconds = PyFloat_AsDouble(value);
    return std::isfinite(seconds) && !std::signbit(seconds);  // SQLite does not store a negative zero
}

// Whether SQLite can store the text as it is. Text that is not well-formed Unicode is cleaned by Python.
bool is_text(PyObject *value, Py_ssize_t least, Py_ssize_t most) {
    if (Py_TYPE(value) != &PyUnicode_Type) return false;
    const Py_ssize_t size = PyUnicode_GetLength(value);
    if (size < least || size > most) return false;
    if (PyUnicode_AsUTF8AndSize(value, nullptr) != nullptr) return true;
    PyErr_Clear();
    return false;
}

bool write_integers(std::string &json, PyObject *list) {
    if (Py_TYPE(list) != &PyTuple_Type) return false;
    json += '[';
    const Py_ssize_t size = PyTuple_Size(list);
    for (Py_ssize_t i = 0; i < size; ++i) {
        long long number = 0;
        if (!read_integer(PyTuple_GetItem(list, i), number)) return false;
        char digits[24];
        const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
        if (i != 0) json += ',';
        json.append(digits, end);
    }
    json += ']';
    return true;
}

bool write_lists(std::string &json, PyObject *lists) {
    if (Py_TYPE(lists) != &PyTuple_Type) return false;
    json += '[';
    const Py_ssize_t size = PyTuple_Size(lists);
    for (Py_ssize_t i = 0; i < size; ++i) {
        if (i != 0) json += ',';
        if (!write_integers(json, PyTuple_GetItem(lists, i))) return false;
    }
    json += ']';
    return true;
}

// Checks and converts rows column by column. The meaning of the letters is described in `misstep.campaigns.encoding`.
class RowEncoder {
   public:
    RowEncoder(std::string_view kinds, const nb::tuple &words, Py_ssize_t longest)
        : kinds_(kinds), words_(words), longest_(longest) {
        if (words_.size() != kinds_.size()) throw nb::value_error("expected words for each column");
    }

    // The row with a value in front of it; None if Python has to write it.
    nb::object encode(nb::handle first, PyObject *row) {
        const auto size = static_cast<Py_ssize_t>(kinds_.size());
        if (!PyTuple_Check(row) || PyTuple_Size(row) != size) throw nb::value_error("a row of other columns");
        nb::object found = nb::steal(PyTuple_New(size + 1));
        if (!found.is_valid()) throw nb::python_error();
        PyTuple_SetItem(found.ptr(), 0, nb::borrow(first).release().ptr());
        for (Py_ssize_t i = 0; i < size; ++i) {
            nb::object value = column(row, i);
            if (!value.is_valid()) return nb::none();
            PyTuple_SetItem(found.ptr(), i + 1, value.release().ptr());
        }
        return found;
    }

   private:
    nb::object column(PyObject *row, Py_ssize_t i) {
        PyObject *value = PyTuple_GetItem(row, i);
        const bool none = value == Py_None;
        const char kind = kinds_[static_cast<std::size_t>(i)];
        switch (kind) {
            case 'c': return none ? nb::borrow(value) : made(value, i);
            case 'j': return written(value, write_integers);
            case 'J': return none ? nb::borrow(value) : written(value, write_integers);
            case 'L': return none ? nb::borrow(value) : written(value, write_lists);
            case 'b': return PyBool_Check(value) ? nb::steal(PyLong_FromLong(value == Py_True)) : nb::object();
            default: return fits(kind, row, i, value, none) ? nb::borrow(value) : nb::object();
        }
    }

    bool fits(char kind, PyObject *row, Py_ssize_t i, PyObject *value, bool none) const {
        long long number = 0;
        switch (kind) {
            case 'n': return is_count(value);
            case 'o': return none || is_count(value);
            case 'm': return read_integer(value, number) && number >= -1;
            case 'r': return none || is_before(value, PyTuple_GetItem(row, 0));
            case 'h': return none || is_interval(PyTuple_GetItem(row, i - 1), value);
            case 's': return is_seconds(value);
            case 'S': return none || is_seconds(value);
            case 't': return is_text(value, 1, PY_SSIZE_T_MAX);
            case 'T': return none || is_text(value, 0, longest_);
            case 'w': return is_word(value, i);
            case 'k': return is_bug(PyTuple_GetItem(row, i - 1)) ? is_word(value, i) : none;
            default: throw nb::value_error("an unknown kind of column");
        }
    }

    template <class Write>
    nb::object written(PyObject *value, Write write) {
        json_.clear();
        if (!write(json_, value)) return nb::object();
        nb::object text = nb::steal(PyUnicode_FromStringAndSize(json_.data(), static_cast<Py_ssize_t>(json_.size())));
        if (!text.is_valid()) throw nb::python_error();
        return text;
    }

    nb::object made(PyObject *value, Py_ssize_t i) const {
        nb::object text = nb::borrow(PyTuple_GetItem(words_.ptr(), i))(nb::handle(value));
        return Py_TYPE(text.ptr()) == &PyUnicode_Type ? text : nb::object();
    }

    static bool is_before(PyObject *value, PyObject *other) {
        long long number = 0, end = 0;
        return read_integer(value, number) && read_integer(other, end) && 0 <= number && number < end;
    }

    static bool is_interval(PyObject *low, PyObject *high) {
        long long first = 0, last = 0;
        return read_integer(low, first) && read_integer(high, last) && 0 <= first && first <= last;
    }

    bool is_word(PyObject *value, Py_ssize_t i) const {
        if (Py_TYPE(value) != &PyUnicode_Type) return false;
        const int found = PySet_Contains(PyTuple_GetItem(words_.ptr(), i), value);
        if (found < 0) throw nb::python_error();
        return found == 1;
    }

    static bool is_bug(PyObject *value) {
        return Py_TYPE(value) == &PyUnicode_Type && PyUnicode_CompareWithASCIIString(value, "BUG") == 0;
    }

    std::string_view kinds_;
    const nb::tuple &words_;
    Py_ssize_t longest_;
    std::string json_;
};

nb::list encode_rows(nb::handle first, const nb::list &rows, const std::string &kinds, const nb::tuple &words,
                     Py_ssize_t longest) {
    RowEncoder encoder(kinds, words, longest);
    nb::list found;
    for (const nb::handle row : rows) found.append(encoder.encode(first, row.ptr()));
    return found;
}
}  // namespace

void define_rows(nb::module_ &module) {
    module.def("row_sums", row_sums, nb::arg("rows"), nb::arg("packed_tables"),
               "Of rows of a database that begin with the name of their table: for each table the number of rows and "
               "the sum of their digests modulo 2^256, the most significant byte first.");
    module.def(
        "table_sum", table_sum, nb::arg("table"), nb::arg("rows"), nb::arg("columns"), nb::arg("kinds"),
        "The same of rows of one table, of these columns. An error if a value is none of its kind: i, t or r, for "
        "INTEGER, TEXT and REAL.");
    module.def("encode_rows", encode_rows, nb::arg("first"), nb::arg("rows"), nb::arg("kinds"), nb::arg("words"),
               nb::arg("longest"),
               "Rows as the tables hold them, with a value in front of each; None for a row that Python has to write.");
}

}  // namespace misstep::bindings
