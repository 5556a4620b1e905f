#include <memory>

#include "collective_task.h"
#include "command_support.h"
#include "copy_task.h"
#include "gemm_task.h"
#include "stream_task.h"

namespace probe {

// One synthetic load, named as on the command line; sized to run for about a millisecond on a large GPU.
static std::unique_ptr<Task> load_of(Node &node, const std::string &text, std::int64_t scale) {
    const auto colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    const int amount = colon == std::string::npos ? 0 : static_cast<int>(parse_size(text.substr(colon + 1)));
    StreamSpec spec;
    spec.workgroups = amount;
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
    if (kind == "hold") return std::make_unique<HoldTask>(node, amount ? amount : node.compute_units(), 500);
    if (kind == "gemm" || kind == "own_gemm") {
        GemmSpec gemm;
        gemm.m = gemm.n = gemm.k = amount ? amount : 4096;
        gemm.library = kind == "gemm" ? vendor_gemm_library() : "probe";
        return std::make_unique<GemmTask>(node, gemm);
    }
    throw UsageError("load " + text + ": memory, read, write, cache, alu, hold, dma_push, dma_pull, dma_local, " +
                     "dma_to_host, dma_from_host, gemm or own_gemm, with :N workgroups, engines or extent");
}

int run_stress(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("first", "", "loads, with commas: memory, read, write, cache, alu, hold, dma_*, gemm, own_gemm; :N for "
                                  "N workgroups, engines or extent")
        .option("second", "", "loads that run beside each of the first")
        .option("scale", "1024", "MiB that a memory load moves each way; the others in proportion");
    if (parse(options, arguments, "stress")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    if (node.gpus() > 1) node.enable_peer_access();
    Bench bench(node, settings_of(options));
    for (const auto &first : options.texts("first")) {
        auto one = load_of(node, first, options.integer("scale"));
        for (const auto &second : options.texts("second")) {
            if (node.gpus() < 2 && (second == "dma_push" || second == "dma_pull")) continue;
            auto other = load_of(node, second, options.integer("scale"));
            const NamedTask a{"first", one.get()}, b{"second", other.get()};
            Scene together{{a, b}, {}}, alone_a{{a}, {}}, alone_b{{b}, {}};
            bench.run({&alone_a, &alone_b, &together});
            const auto name = first + " beside " + second;
            const bool engines = (first + second).find("dma") != std::string::npos;
            report.write(bench, name, &together, {&alone_a, &alone_b},
                         engines ? Json::object().set("prelaunched", true) : Json::object());
            char numbers[120];
            std::snprintf(numbers, sizeof numbers, ": %.1f (alone %.1f), %.1f (alone %.1f) us", median_us(together, "first"),
                          median_us(alone_a, "first"), median_us(together, "second"), median_us(alone_b, "second"));
            progress(name + numbers);
        }
    }
    return 0;
}

}  // namespace probe
