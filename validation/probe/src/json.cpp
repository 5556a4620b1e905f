#include "json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace probe {
namespace {

// Shortest text that reads back as the same double, laid out as Python's repr does: plain digits from 1e-4 to
// 1e16, else d.ddde-XX. `value` is finite.
std::string number_text(double value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    const std::string text(buffer, end);
    const std::size_t e = text.find('e');
    const int exponent = std::stoi(text.substr(e + 1));
    if (exponent < -4 || exponent >= 16) return text;

    const std::string sign = text[0] == '-' ? "-" : "";
    std::string digits;
    for (const char c : text.substr(0, e))
        if (c >= '0' && c <= '9') digits += c;
    if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

constexpr char32_t replacement = 0xfffd;  // for bytes that are not UTF-8

// Decodes the code point at `at` and moves `at` behind it.
char32_t next_code_point(const std::string &text, std::size_t &at) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    if (lead < 0x80) return lead;
    const int more = lead >= 0xf0 && lead <= 0xf4 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4) return replacement;
    char32_t point = lead & (0x3f >> more);
    std::size_t behind = at;
    for (int i = 0; i < more; ++i, ++behind) {
        if (behind >= text.size() || (text[behind] & 0xc0) != 0x80) return replacement;
        point = point << 6 | (text[behind] & 0x3f);
    }
    const char32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return replacement;
    at = behind;
    return point;
}

void append_utf8(std::string &out, char32_t point) {
    if (point < 0x80) {
        out += static_cast<char>(point);
        return;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static constexpr unsigned lead[] = {0xc0, 0xe0, 0xf0};
    out += static_cast<char>(lead[more - 1] | point >> (6 * more));
    for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
}

void append_escape(std::string &out, char32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[unit >> shift & 0xf];
}

void append_string(std::string &out, const std::string &text, bool ascii) {
    static const std::string named = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt";
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const char32_t point = next_code_point(text, at);
        const std::size_t name = point < 0x80 ? named.find(static_cast<char>(point)) : std::string::npos;
        if (name != std::string::npos)
            (out += '\\') += letters[name];
        else if (point < 0x20 || (ascii && point >= 0x7f && point < 0x10000))
            append_escape(out, point);
        else if (ascii && point >= 0x10000) {  // a surrogate pair
            append_escape(out, 0xd800 + ((point - 0x10000) >> 10));
            append_escape(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
        } else
            append_utf8(out, point);
    }
    out += '"';
}

}  // namespace

Json::Json(bool value) : kind_(Kind::boolean), boolean_(value) {}

Json::Json(std::int64_t value) : kind_(Kind::integer), integer_(value) {}

Json::Json(std::uint64_t value) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        throw std::overflow_error(std::to_string(value) +
                                  " is beyond the integers that Json holds (63 bits)");
}

Json::Json(double value) : kind_(std::isfinite(value) ? Kind::number : Kind::null), number_(value) {}

Json::Json(std::string value) : kind_(Kind::string), string_(std::move(value)) {}

Json::Json(const std::vector<double> &values) : kind_(Kind::array), elements_(values.begin(), values.end()) {}

Json Json::object() {
    Json json;
    json.kind_ = Kind::object;
    return json;
}

Json Json::array() {
    Json json;
    json.kind_ = Kind::array;
    return json;
}

Json &Json::set(const std::string &key, Json value) {
    if (kind_ != Kind::object) throw std::logic_error("Json::set(\"" + key + "\") on what is not an object");
    for (auto &[name, member] : members_)
        if (name == key) {
            member = std::move(value);
            return *this;
        }
    members_.emplace_back(key, std::move(value));
    return *this;
}

Json &Json::push(Json value) {
    if (kind_ != Kind::array) throw std::logic_error("Json::push on what is not an array");
    elements_.push_back(std::move(value));
    return *this;
}

std::string Json::dump() const {
    std::string out;
    write(out, false);
    return out;
}

std::string Json::canonical() const {
    std::string out;
    write(out, true);
    return out;
}

void Json::write(std::string &out, bool canonical) const {
    const char *const comma = canonical ? "," : ", ", *const colon = canonical ? ":" : ": ";
    switch (kind_) {
        case Kind::null: out += "null"; break;
        case Kind::boolean: out += boolean_ ? "true" : "false"; break;
        case Kind::integer: out += std::to_string(integer_); break;
        case Kind::number: out += number_text(number_); break;
        case Kind::string: append_string(out, string_, canonical); break;
        case Kind::array:
            out += '[';
            for (std::size_t i = 0; i < elements_.size(); ++i) {
                if (i) out += comma;
                elements_[i].write(out, canonical);
            }
            out += ']';
            break;
        case Kind::object: {
            std::vector<const std::pair<std::string, Json> *> order;
            for (const auto &member : members_) order.push_back(&member);
            if (canonical)  // bytes of UTF-8 sort as code points do, Python's order
                std::sort(order.begin(), order.end(), [](auto *a, auto *b) { return a->first < b->first; });
            out += '{';
            for (std::size_t i = 0; i < order.size(); ++i) {
                if (i) out += comma;
                append_string(out, order[i]->first, canonical);
                out += colon;
                order[i]->second.write(out, canonical);
            }
            out += '}';
            break;
        }
    }
}

}  // namespace probe
