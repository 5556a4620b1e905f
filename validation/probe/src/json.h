// JSON values that keep the order in which members were added. Host only, no device types.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace probe {

class Json {
public:
    Json() = default;                       // null
    Json(bool value);
    Json(int value) : Json(static_cast<std::int64_t>(value)) {}
    Json(std::int64_t value);
    Json(std::uint64_t value);
    Json(double value);                     // NaN and infinities become null
    Json(const char *value) : Json(std::string(value)) {}
    Json(std::string value);
    Json(const std::vector<double> &values);  // an array

    static Json object();
    static Json array();

    Json &set(const std::string &key, Json value);  // adds or replaces a member; returns *this
    Json &push(Json value);                         // appends an element; returns *this

    bool is_null() const { return kind_ == Kind::null; }
    std::string dump() const;       // one line, members in the order they were added, ", " and ": "
    std::string canonical() const;  // keys sorted, no spaces, non-ASCII as \uXXXX: what a record's id hashes

private:
    enum class Kind { null, boolean, integer, number, string, array, object };
    Kind kind_ = Kind::null;
    bool boolean_ = false;
    std::int64_t integer_ = 0;
    double number_ = 0;
    std::string string_;
    std::vector<Json> elements_;
    std::vector<std::pair<std::string, Json>> members_;
    void write(std::string &out, bool canonical) const;
};

}  // namespace probe
