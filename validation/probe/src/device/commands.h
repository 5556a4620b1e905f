// The subcommands: each answers one question. They return the exit code.
#pragma once
#include <string>
#include <vector>

namespace probe {

struct Command {
    const char *name;
    const char *question;
    int (*run)(const std::vector<std::string> &arguments, const std::string &command_line);
};

int run_machine(const std::vector<std::string> &, const std::string &);
int run_stream(const std::vector<std::string> &, const std::string &);
int run_gemm(const std::vector<std::string> &, const std::string &);
int run_copy(const std::vector<std::string> &, const std::string &);
int run_collective(const std::vector<std::string> &, const std::string &);
int run_launch(const std::vector<std::string> &, const std::string &);
int run_dispatch(const std::vector<std::string> &, const std::string &);
int run_flags(const std::vector<std::string> &, const std::string &);
int run_stress(const std::vector<std::string> &, const std::string &);
int run_c3(const std::vector<std::string> &, const std::string &);
int run_ranks(const std::vector<std::string> &, const std::string &);
int run_power(const std::vector<std::string> &, const std::string &);

}  // namespace probe
