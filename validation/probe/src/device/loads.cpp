#include "loads.h"

#include <algorithm>

#include "../options.h"
#include "copy_task.h"
#include "gemm_task.h"
#include "stores_task.h"
#include "stream_task.h"

namespace probe {

std::unique_ptr<Task> load_of(Node &node, const std::string &text, std::int64_t scale) {
    const auto colon = text.find(':');
    const auto plus = text.find('+');
    const std::string kind = text.substr(0, std::min(plus, colon));
    const int amount = colon == std::string::npos ? 0 : static_cast<int>(parse_size(text.substr(colon + 1)));
    StreamSpec spec;
    spec.workgroups = amount;
    const std::string policy = plus == std::string::npos ? "" : text.substr(plus + 1, colon - plus - 1);
    if (!policy.empty() && kind.find("gemm") == std::string::npos) spec.policy = parse_policy(policy);
    if (kind == "memory" || kind == "read" || kind == "write") {
        spec.pattern = kind == "memory" ? "copy" : kind;
        spec.bytes = scale << 20;
        return std::make_unique<StreamTask>(node, spec);
    }
    if (kind == "cache") {  // half of the L2, over and over
        spec.pattern = "read";
        spec.bytes = node.properties(0).l2CacheSize / 2 / 4096 * 4096;
        spec.passes = static_cast<int>((scale << 21) / spec.bytes) + 1;
        return std::make_unique<StreamTask>(node, spec);
    }
    if (kind == "reuse") {  // so many MiB, over and over
        spec.pattern = "read";
        spec.workgroups = 0;
        spec.bytes = static_cast<std::int64_t>(amount ? amount : 16) << 20;
        spec.passes = static_cast<int>((scale << 21) / spec.bytes) + 1;
        return std::make_unique<StreamTask>(node, spec);
    }
    if (kind == "alu") {
        spec.pattern = "read";
        spec.bytes = 4 << 20;
        spec.passes = static_cast<int>(scale / 256) + 1;
        spec.flops_per_byte = 2048;
        return std::make_unique<StreamTask>(node, spec);
    }
    if (kind == "dma_push" || kind == "dma_pull" || kind == "dma_local" || kind == "dma_to_host" || kind == "dma_from_host") {
        CopySpec copy;
        copy.all_gpus = true;
        copy.engines = amount ? amount : 1;
        copy.bytes = (scale << 20) / (kind == "dma_to_host" || kind == "dma_from_host" ? 16 : 4);
        copy.direction = kind == "dma_pull" ? "pull" : "push";
        if (kind == "dma_local") copy.destination = "gpu";
        if (kind == "dma_to_host") copy.destination = "host";
        if (kind == "dma_from_host") copy.source = "host", copy.destination = "gpu";
        return std::make_unique<CopyTask>(node, copy);
    }
    if (kind.rfind("stores", 0) == 0) {  // stores, stores_1 (in flight), stores_release
        StoresSpec stores;
        stores.workgroups = amount ? amount : node.compute_units();
        stores.bytes = std::min<std::int64_t>(stores.workgroups * scale << 13, scale << 19);
        const std::string rest = kind.substr(6);
        stores.release = rest == "_release";
        if (!rest.empty() && !stores.release) stores.in_flight = static_cast<int>(parse_size(rest.substr(1)));
        return std::make_unique<StoresTask>(node, stores);
    }
    if (kind == "hold") return std::make_unique<HoldTask>(node, amount ? amount : node.compute_units(), 500);
    if (kind == "gemm" || kind == "own_gemm") {
        GemmSpec gemm;
        gemm.m = gemm.n = gemm.k = amount ? amount : 4096;
        gemm.library = kind == "gemm" ? vendor_gemm_library() : "probe";
        gemm.keep = policy;
        return std::make_unique<GemmTask>(node, gemm);
    }
    throw UsageError("load " + text + ": memory, read, write, cache, reuse, alu, hold, dma_push, dma_pull, dma_local, " +
                     "dma_to_host, dma_from_host, stores, stores_D (D in flight), stores_release, gemm or own_gemm, with +POLICY " +
                     "and :N workgroups, MiB, engines or extent");
}

}  // namespace probe
