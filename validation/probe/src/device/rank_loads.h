// What a rank of a crew can run, by name as on the command line.
#pragma once
#include <memory>
#include <string>

#include "../crew.h"
#include "task.h"

namespace probe {

struct RankLoad {
    std::string text;           // as it was given
    std::string kind;           // gemm, own_gemm, hold, read, write, memory, local, push, pull, from_host, to_host, or an
                                // operation with or without dma_ in front
    std::int64_t size = 0;      // bytes, or workgroups of a hold
    std::int64_t extra = 0;     // workgroups of a stream kernel, channels, or microseconds of a hold; 0: left out
    std::int64_t m = 0, n = 0, k = 0;
    bool pull = false;          // dma_: who copies
    std::string task() const;   // gemm, hold, stream, copy or collective
    bool uses_engines() const;  // or whatever the runtime does when it is asked to copy
};

struct RankOptions {
    Pattern data = Pattern::random;
    bool out_of_place = false;
};

extern const char *const rank_loads_help;
RankLoad parse_rank_load(const std::string &text);  // no GPU is needed; throws UsageError
std::unique_ptr<Task> make_rank_load(Crew &crew, Node &node, const RankLoad &load, const RankOptions &options,
                                     bool high_priority);

}  // namespace probe
