// Measures one question on the GPUs of this machine and writes one record (JSON) per line to standard output.
//
// Exit codes: 0 measured; 1 a wrong result or a failing call; 2 a mistake on the command line; 3 a library that was asked
// for is missing; 4 no GPU, or fewer than asked for.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../crew.h"
#include "../options.h"
#include "commands.h"
#include "node.h"

namespace {

const probe::Command commands[] = {
    {"machine", "what is here: GPUs, driver, runtime, clocks", probe::run_machine},
    {"stream", "memory rates: pattern, footprint, number of compute units, passes", probe::run_stream},
    {"gemm", "matrix rates: shape, library, number of compute units", probe::run_gemm},
    {"copy", "copies by DMA engines and kernels: size, direction, engines, submission", probe::run_copy},
    {"collective", "collectives: library, DMA engines, own kernels; size, channels", probe::run_collective},
    {"launch", "latencies of submission, completion, events and signals", probe::run_launch},
    {"dispatch", "where each workgroup of a matrix kernel ran, and when", probe::run_dispatch},
    {"flags", "kernels of two GPUs that wait for each other's flags, behind stores", probe::run_flags},
    {"stress", "two synthetic loads beside each other", probe::run_stress},
    {"c3", "a GEMM beside a collective", probe::run_c3},
    {"ranks", "loads in loops, every GPU driven by a process of its own", probe::run_ranks},
    {"power", "power and energy of one load, over and over", probe::run_power},
};

int usage(FILE *out) {
    std::fprintf(out, "usage: probe SUBCOMMAND [OPTIONS]      probe SUBCOMMAND --help\n\n");
    for (const auto &each : commands) std::fprintf(out, "  %-12s %s\n", each.name, each.question);
    return out == stdout ? 0 : 2;
}

int fail(int code, const char *kind, const std::exception &error) {
    if (probe::Crew::is_rank())  // the process that started the ranks says it, once for all of them
        probe::Crew::fail(code, std::string(kind) + error.what());
    else
        std::fprintf(stderr, "probe: %s%s\n", kind, error.what());
    std::fflush(stdout);
    std::_Exit(code);  // streams may still wait behind a gate: destructors of libraries must not wait for them
}

}  // namespace

int main(int count, char **words) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // streams must not share a hardware queue
    setenv("GPU_MAX_HW_QUEUES", "16", 0);
    setenv("ROCBLAS_USE_HIPBLASLT", "1", 0);
    std::string line = "probe";
    for (int i = 1; i < count; ++i) line += std::string(" ") + words[i];
    if (count < 2) return usage(stderr);
    const std::string name = words[1];
    if (name == "--help" || name == "-h") return usage(stdout);
    try {
        for (const auto &each : commands)
            if (name == each.name) {
                const int code = each.run({words + 2, words + count}, line);
                std::fflush(stdout);
                std::_Exit(code);
            }
        throw probe::UsageError("no subcommand '" + name + "'; probe --help lists them");
    } catch (const probe::UsageError &error) {
        return fail(2, "", error);
    } catch (const std::invalid_argument &error) {
        return fail(2, "", error);
    } catch (const probe::NoDevice &error) {
        return fail(4, "", error);
    } catch (const probe::MissingLibrary &error) {
        return fail(3, "", error);
    } catch (const probe::WrongResult &error) {
        return fail(1, "wrong result: ", error);
    } catch (const std::exception &error) {
        return fail(1, "", error);
    }
}
