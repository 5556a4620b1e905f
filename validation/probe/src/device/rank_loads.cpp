#include "rank_loads.h"

#include <set>

#include "../options.h"
#include "copy_task.h"
#include "gemm_task.h"
#include "rank_tasks.h"
#include "stream_task.h"

namespace probe {

const char *const rank_loads_help =
    "gemm:MxNxK, own_gemm:MxNxK, hold:WORKGROUPS[:US], read|write|memory:SIZE[:WORKGROUPS] (memory reads and writes), "
    "local|push|pull|from_host|to_host:SIZE (a copy by the runtime's call), all_gather|all_to_all|reduce_scatter|"
    "all_reduce:SIZE[:CHANNELS], dma_all_gather|dma_all_to_all:SIZE[:push|pull]";

namespace {

const std::set<std::string> streams{"read", "write", "memory"}, copies{"local", "push", "pull", "from_host", "to_host"},
    operations{"all_gather", "all_to_all", "reduce_scatter", "all_reduce"}, by_dma{"dma_all_gather", "dma_all_to_all"};

std::vector<std::string> parts_of(const std::string &text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

}  // namespace

RankLoad parse_rank_load(const std::string &text) {
    const auto parts = parts_of(text);
    RankLoad load;
    load.text = text, load.kind = parts[0];
    const bool gemm = load.kind == "gemm" || load.kind == "own_gemm", engines = by_dma.count(load.kind) > 0;
    const bool extra = load.kind == "hold" || streams.count(load.kind) || operations.count(load.kind) || engines;
    if (!gemm && !extra && !copies.count(load.kind)) throw UsageError("load " + text + ": " + rank_loads_help);
    if (parts.size() < 2 || parts.size() > (extra ? 3u : 2u)) throw UsageError("load " + text + ": " + rank_loads_help);
    if (gemm) {
        const auto extents = parse_shape(parts[1], 3);
        load.m = extents[0], load.n = extents[1], load.k = extents[2];
        return load;
    }
    load.size = parse_size(parts[1]);
    if (parts.size() < 3) return load;
    if (!engines) {
        load.extra = parse_size(parts[2]);
    } else {
        if (parts[2] != "push" && parts[2] != "pull") throw UsageError("load " + text + ": push or pull, not " + parts[2]);
        load.pull = parts[2] == "pull";
    }
    return load;
}

std::string RankLoad::task() const {
    if (kind == "gemm" || kind == "own_gemm") return "gemm";
    if (kind == "hold") return kind;
    if (streams.count(kind)) return "stream";
    return copies.count(kind) ? "copy" : "collective";
}

bool RankLoad::uses_engines() const { return copies.count(kind) || by_dma.count(kind); }

std::unique_ptr<Task> make_rank_load(Crew &crew, Node &node, const RankLoad &load, const RankOptions &options,
                                     bool high_priority) {
    const auto task = load.task();
    if (task == "gemm") {
        GemmSpec spec;
        spec.m = load.m, spec.n = load.n, spec.k = load.k;
        spec.library = load.kind == "gemm" ? vendor_gemm_library() : "probe";
        spec.data = options.data, spec.high_priority = high_priority;
        return std::make_unique<GemmTask>(node, spec);
    }
    if (task == "hold")
        return std::make_unique<HoldTask>(node, static_cast<int>(load.size), load.extra ? static_cast<double>(load.extra) : 500,
                                          high_priority);
    if (task == "stream") {
        StreamSpec spec;
        spec.pattern = load.kind == "memory" ? "copy" : load.kind;
        spec.bytes = load.size, spec.workgroups = static_cast<int>(load.extra), spec.high_priority = high_priority;
        return std::make_unique<StreamTask>(node, spec);
    }
    if (load.kind == "push" || load.kind == "pull")
        return std::make_unique<PeerCopyTask>(crew, node, PeerCopySpec{load.size, load.kind == "pull", high_priority});
    if (task == "copy") {  // of this GPU alone; the peer of its node is itself
        CopySpec spec;
        spec.bytes = load.size, spec.all_gpus = true, spec.high_priority = high_priority;
        spec.source = load.kind == "from_host" ? "host" : "gpu";
        spec.destination = load.kind == "to_host" ? "host" : "gpu";
        return std::make_unique<CopyTask>(node, spec);
    }
    RankCollectiveSpec spec;
    const bool dma = by_dma.count(load.kind) > 0;
    spec.op = dma ? load.kind.substr(4) : load.kind;
    spec.backend = dma ? "dma" : vendor_collective_library();
    spec.size = load.size, spec.channels = static_cast<int>(load.extra), spec.pull = load.pull;
    spec.out_of_place = options.out_of_place, spec.high_priority = high_priority;
    return make_rank_collective(crew, node, spec);
}

}  // namespace probe
