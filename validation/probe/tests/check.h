// What the tests share: each check is counted, and one that fails is shown with what it is and what it must be.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

inline int checks = 0, failures = 0;

inline std::string shown(const std::string &value) { return value; }
inline std::string shown(const char *value) { return value; }
template <class T>
std::string shown(const T &value) {
    return std::to_string(value);
}
template <class T>
std::string shown(const std::vector<T> &values) {
    std::string out;
    for (const auto &value : values) out += (out.empty() ? "" : " ") + shown(value);
    return "[" + out + "]";
}

template <class A, class B>
void check_equal(const char *file, int line, const char *expression, const A &actual, const B &expected) {
    ++checks;
    if (actual == expected) return;
    ++failures;
    std::printf("%s:%d: %s is\n    %s, not\n    %s\n", file, line, expression, shown(actual).c_str(),
                shown(expected).c_str());
}

// The text of the error that `action` ends with; "no error" without one.
template <class Error>
std::string error_of(const std::function<void()> &action) {
    try {
        action();
    } catch (const Error &error) {
        return error.what();
    }
    return "no error";
}

#define CHECK_EQUAL(actual, expected) check_equal(__FILE__, __LINE__, #actual, actual, expected)
#define CHECK(condition) check_equal(__FILE__, __LINE__, #condition, bool(condition), true)

inline int verdict() {  // what main() returns
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
