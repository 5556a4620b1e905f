#include "options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace probe {
namespace {

constexpr std::int64_t longest_range = 100000;  // values of one "a..b"

[[noreturn]] void refuse(const std::string &text, const std::string &allowed) {
    throw UsageError("'" + text + "' is not " + allowed);
}

// Runs `parse`; puts the option's name in front of what it complains about.
template <class Parse>
auto named(const std::string &name, Parse parse) {
    try {
        return parse();
    } catch (const UsageError &error) {
        throw UsageError("--" + name + ": " + error.what());
    }
}

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

// The two ends of "a..b"; false when the text is no range.
bool split_range(const std::string &text, std::string &first, std::string &last) {
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) return false;
    first = text.substr(0, dots);
    last = text.substr(dots + 2);
    return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t parse_integer(const std::string &text,
                           const std::string &allowed = "a whole number, 0 or more") {
    std::int64_t value = 0;
    const char *const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0) refuse(text, allowed);
    return value;
}

// Edits that turn one spelling into another: characters inserted, deleted or replaced.
std::size_t distance(const std::string &from, const std::string &to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i] != to[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

[[noreturn]] void refuse_unknown(const std::string &name, const std::vector<std::string> &declared) {
    const std::string unknown = "unknown option --" + name + "; ";
    if (declared.empty()) throw UsageError(unknown + "there are none here");
    const std::string &nearest = *std::min_element(declared.begin(), declared.end(), [&](auto &a, auto &b) {
        return distance(name, a) < distance(name, b);
    });
    if (distance(name, nearest) <= std::max<std::size_t>(2, name.size() / 3))
        throw UsageError(unknown + "did you mean --" + nearest + "?");
    std::string all;
    for (const std::string &option : declared) all += (all.empty() ? "--" : ", --") + option;
    throw UsageError(unknown + "there are " + all);
}

const std::string size_allowed =
    "a size in whole bytes above 0, as in 4096, 64MiB or 1e6 (B, KB, MB, GB, KiB, MiB, GiB)";

std::int64_t bytes_of_unit(const std::string &unit) {
    static const std::pair<const char *, std::int64_t> units[] = {
        {"", 1},          {"B", 1},         {"KB", 1000},    {"MB", 1000 * 1000}, {"GB", 1000 * 1000 * 1000},
        {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    for (const auto &[name, bytes] : units)
        if (unit == name) return bytes;
    return 0;
}

}  // namespace

Options &Options::option(const std::string &name, const std::string &fallback, const std::string &help) {
    Option added;
    added.name = name, added.value = fallback, added.help = help, added.required = fallback.empty();
    options_.push_back(std::move(added));
    return *this;
}

Options &Options::flag(const std::string &name, const std::string &help) {
    Option added;
    added.name = name, added.value = "no", added.help = help, added.is_flag = true;
    options_.push_back(std::move(added));
    return *this;
}

void Options::parse(const std::vector<std::string> &arguments) {
    std::vector<std::string> declared;
    for (const Option &option : options_) declared.push_back(option.name);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &argument = arguments[i];
        if (argument.size() < 3 || argument.compare(0, 2, "--") != 0)
            throw UsageError("'" + argument +
                             "' is not an option; options are written --name value or --name=value");
        const std::size_t equals = argument.find('=');
        const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);

        const auto found =
            std::find_if(options_.begin(), options_.end(), [&](auto &o) { return o.name == name; });
        if (found == options_.end()) refuse_unknown(name, declared);

        if (found->given) throw UsageError("--" + name + " is given twice");
        found->given = true;
        if (found->is_flag) {
            if (equals != std::string::npos)
                throw UsageError("--" + name + " takes no value, but '" + argument.substr(equals + 1) +
                                 "' is given");
            found->value = "yes";
            continue;
        }
        if (equals != std::string::npos)
            found->value = argument.substr(equals + 1);
        else if (i + 1 < arguments.size() && arguments[i + 1].compare(0, 2, "--") != 0)
            found->value = arguments[++i];
        else
            throw UsageError("--" + name + " needs a value: " + found->help);
        if (found->value.empty())
            throw UsageError("--" + name + ": '' is empty; it needs a value: " + found->help);
    }
    for (const Option &option : options_)
        if (option.required && !option.given)
            throw UsageError("--" + option.name + " must be given: " + option.help);
}

std::string Options::help() const {
    const auto head = [](const Option &option) {
        return "  --" + option.name + (option.is_flag ? "" : " VALUE");
    };
    std::size_t width = 0;
    for (const Option &option : options_) width = std::max(width, head(option).size());
    std::string out;
    for (const Option &option : options_) {
        const std::string left = head(option);
        out += left + std::string(width - left.size() + 2, ' ') + option.help;
        if (option.required)
            out += " (must be given)";
        else if (!option.is_flag)
            out += " (default: " + option.value + ")";
        out += '\n';
    }
    return out;
}

const Options::Option &Options::find(const std::string &name) const {
    for (const Option &option : options_)
        if (option.name == name) return option;
    throw std::logic_error("option --" + name + " was never declared");
}

std::string Options::text(const std::string &name) const { return find(name).value; }

bool Options::on(const std::string &name) const { return find(name).value == "yes"; }

std::int64_t Options::integer(const std::string &name) const {
    return named(name, [&] { return parse_integer(text(name)); });
}

double Options::number(const std::string &name) const {
    return named(name, [&] {
        const std::string value = text(name);
        double parsed = 0;
        const char *const end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, parsed);
        if (error != std::errc() || stop != end || !std::isfinite(parsed) || parsed < 0)
            refuse(value, "a number, 0 or more, as in 0.5 or 1e-3");
        return parsed;
    });
}

std::vector<std::string> Options::texts(const std::string &name) const {
    return named(name, [&] {
        const std::vector<std::string> parts = split(text(name), ',');
        for (const std::string &part : parts)
            if (part.empty()) refuse(text(name), "a list without gaps, as in a,b,c");
        return parts;
    });
}

std::vector<std::int64_t> Options::integers(const std::string &name) const {
    return named(name, [&] {
        const std::string allowed = "a whole number, 0 or more, nor a range such as 1..8";
        std::vector<std::int64_t> values;
        std::string first, last;
        for (const std::string &part : split(text(name), ',')) {
            if (!split_range(part, first, last)) {
                values.push_back(parse_integer(part, allowed));
                continue;
            }
            const std::int64_t from = parse_integer(first, allowed), to = parse_integer(last, allowed);
            if (from > to) refuse(part, "a rising range, as in 1..8");
            if (to - from >= longest_range) refuse(part, "a range of at most 100000 numbers");
            for (std::int64_t value = from; value <= to; ++value) values.push_back(value);
        }
        return values;
    });
}

std::vector<std::int64_t> Options::sizes(const std::string &name) const {
    return named(name, [&] {
        std::vector<std::int64_t> values;
        std::string first, last;
        for (const std::string &part : split(text(name), ',')) {
            if (!split_range(part, first, last)) {
                values.push_back(parse_size(part));
                continue;
            }
            const std::int64_t from = parse_size(first), to = parse_size(last);
            if (from > to) refuse(part, "a rising range, as in 1KiB..1GiB");
            for (std::int64_t size = from;; size *= 2) {
                values.push_back(size);
                if (size > to / 2) break;
            }
        }
        return values;
    });
}

// Exact: the decimal digits stay an integer beside a power of ten, so 0.1KB is 100 bytes and 0.1KiB an error.
std::int64_t parse_size(const std::string &text) {
    std::size_t at = 0;
    std::int64_t digits = 0, power = 0;
    bool any = false, point = false;
    for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        if (__builtin_mul_overflow(digits, std::int64_t{10}, &digits) ||
            __builtin_add_overflow(digits, std::int64_t{text[at] - '0'}, &digits))
            refuse(text, size_allowed + "; it has too many digits");
        any = true;
        power -= point;
    }
    if (any && at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        const std::size_t sign = at + 1;
        std::size_t end = sign + (text[sign] == '+' || text[sign] == '-');
        std::int64_t exponent = 0;
        for (; end < text.size() && is_digit(text[end]) && exponent < 1000; ++end)
            exponent = 10 * exponent + (text[end] - '0');
        power += text[sign] == '-' ? -exponent : exponent;
        at = is_digit(text[end - 1]) ? end : at;
    }
    std::int64_t bytes = any ? bytes_of_unit(text.substr(at)) : 0;
    if (bytes == 0 || digits == 0) refuse(text, size_allowed);

    for (; power > 0; --power)
        if (__builtin_mul_overflow(bytes, std::int64_t{10}, &bytes))
            refuse(text, size_allowed + "; it is too large");
    for (; power < 0; ++power) {  // take a factor of ten from either side of the product
        for (const std::int64_t prime : {2, 5}) {
            std::int64_t &divisible = bytes % prime == 0 ? bytes : digits;
            if (divisible % prime != 0) refuse(text, size_allowed + "; it is no whole number of bytes");
            divisible /= prime;
        }
    }
    if (__builtin_mul_overflow(bytes, digits, &bytes)) refuse(text, size_allowed + "; it is too large");
    return bytes;
}

std::vector<std::int64_t> parse_shape(const std::string &text, std::size_t extents) {
    std::string example = "64";
    for (std::size_t i = 1; i < extents; ++i) example += "x64";
    const std::string allowed = std::to_string(extents) +
                                (extents == 1 ? " whole number" : " whole numbers") + " above 0, as in " +
                                example;
    std::vector<std::int64_t> shape;
    for (const std::string &part : split(text, 'x')) {
        std::int64_t extent = 0;
        const char *const end = part.data() + part.size();
        const auto [stop, error] = std::from_chars(part.data(), end, extent);
        if (error != std::errc() || stop != end || extent <= 0) refuse(text, allowed);
        shape.push_back(extent);
    }
    if (shape.size() != extents) refuse(text, allowed);
    return shape;
}

}  // namespace probe
