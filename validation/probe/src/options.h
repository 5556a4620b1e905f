// Command line options of one subcommand: declared first, then parsed; every mistake is a UsageError.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe {

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Options {
public:
    // A default of "" means: must be given. Flags are "no" until given.
    Options &option(const std::string &name, const std::string &fallback, const std::string &help);
    Options &flag(const std::string &name, const std::string &help);

    void parse(const std::vector<std::string> &arguments);  // --name value, --name=value, --flag
    std::string help() const;                               // one line per option, with its default

    std::string text(const std::string &name) const;
    bool on(const std::string &name) const;
    std::int64_t integer(const std::string &name) const;           // > 0 unless the text says 0
    double number(const std::string &name) const;
    std::vector<std::string> texts(const std::string &name) const;        // comma separated
    std::vector<std::int64_t> integers(const std::string &name) const;    // "1,2,4" or "1..8"
    std::vector<std::int64_t> sizes(const std::string &name) const;       // "1KiB,64MiB,1e6" or "1KiB..1GiB" (x2)

private:
    struct Option {
        std::string name, value, help;
        bool is_flag = false, given = false, required = false;
    };
    std::vector<Option> options_;
    const Option &find(const std::string &name) const;
};

std::int64_t parse_size(const std::string &text);     // bytes; B KB MB GB decimal, KiB MiB GiB binary
std::vector<std::int64_t> parse_shape(const std::string &text, std::size_t extents);  // "8192x8192x4096"

}  // namespace probe
