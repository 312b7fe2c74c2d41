#pragma once

#include <iostream>

// CHECK, CHECK_EQUAL and CHECK_THROWS are counted, and a test continues after a failure. `main` returns
// `misstep::test::result()`.
namespace misstep::test {

inline int checks = 0;
inline int failures = 0;

inline std::ostream &fail(const char *file, int line) {
    ++failures;
    return std::cerr << file << ":" << line << ": ";
}

// A test without any check fails.
inline int result() {
    std::cout << checks << " checks, " << failures << " failures\n";
    return checks == 0 || failures != 0;
}

}  // namespace misstep::test

#define CHECK(condition)                                                                               \
    do {                                                                                               \
        ++misstep::test::checks;                                                                       \
        if (!(condition)) misstep::test::fail(__FILE__, __LINE__) << #condition << " does not hold\n"; \
    } while (false)

#define CHECK_EQUAL(found, expected)                                                                                  \
    do {                                                                                                              \
        ++misstep::test::checks;                                                                                      \
        const auto found_ = (found);                                                                                  \
        const decltype(found_) expected_ = (expected);                                                                \
        if (!(found_ == expected_))                                                                                   \
            misstep::test::fail(__FILE__, __LINE__) << #found << " is " << +found_ << ", not " << +expected_ << "\n"; \
    } while (false)

#define CHECK_THROWS(expression, Error)                                                                          \
    do {                                                                                                         \
        ++misstep::test::checks;                                                                                 \
        bool thrown_ = false;                                                                                    \
        try {                                                                                                    \
            static_cast<void>(expression);                                                                       \
        } catch (const Error &) {                                                                                \
            thrown_ = true;                                                                                      \
        }                                                                                                        \
        if (!thrown_) misstep::test::fail(__FILE__, __LINE__) << #expression << " throws no " << #Error << "\n"; \
    } while (false)
