#include <cstring>
#include <map>

#include "collective_task.h"
#include "command_support.h"
#include "gemm_task.h"

namespace probe {

// A variant of the collective: name -> what is different from the library's defaults.
struct Variant {
    CollectiveSpec spec;
    bool first = false;
};

static Variant variant_of(const std::string &text) {
    Variant variant;
    variant.spec.backend = vendor_collective_library();
    if (text == "default") return variant;
    if (text == "first") {
        variant.first = true;
    } else if (text == "priority_first") {
        variant.first = variant.spec.high_priority = true;
    } else if (text.rfind("channels", 0) == 0) {
        variant.spec.channels = static_cast<int>(parse_size(text.substr(std::strlen("channels"))));
    } else if (text == "dma_pull" || text == "dma_push") {
        variant.spec.backend = "dma";
        variant.spec.direction = text.substr(4);
    } else if (text == "probe") {
        variant.spec.backend = "probe";
        variant.spec.channels = 16;
    } else {
        throw UsageError("--variants " + text + ": default, first, priority_first, channelsN, dma_pull, dma_push, probe");
    }
    return variant;
}

int run_c3(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("shape", "", "of the GEMM, MxNxK; several with commas")
        .option("library", "vendor", "vendor or probe (own kernel)")
        .option("op", "all_gather", "all_gather, all_to_all, reduce_scatter, all_reduce; several with commas")
        .option("size", "", "of the collective, full buffer per GPU; several with commas")
        .option("variants", "default", "default, first, priority_first, channelsN, dma_pull, dma_push, probe")
        .option("engines", "1", "dma: streams per pair of GPUs")
        .option("call", "default", "dma: default or peer: which call of the runtime")
        .option("mapping", "malloc", "malloc, vmm: how memory is mapped to peers; peer: malloc, and the workload says so")
        .option("keep", "none", "none, keep_a, keep_b: operand of the GEMM for which a part of the last cache is set aside")
        .option("partition", "0", "compute units of the collective, the others are the GEMM's; 0: shared");
    if (parse(options, arguments, "c3")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    node.enable_peer_access();
    Bench bench(node, settings_of(options));
    const int part = static_cast<int>(options.integer("partition"));
    for (const auto &shape : options.texts("shape")) {
        const auto extents = parse_shape(shape, 3);
        GemmSpec gemm_spec;
        gemm_spec.m = extents[0], gemm_spec.n = extents[1], gemm_spec.k = extents[2];
        gemm_spec.library = options.text("library") == "vendor" ? vendor_gemm_library() : options.text("library");
        if (options.text("keep") != "none") gemm_spec.keep = options.text("keep");
        if (part) gemm_spec.part = {node.compute_units() - part, part};
        GemmTask gemm(node, gemm_spec);
        for (const auto &op : options.texts("op"))
            for (const auto size : options.sizes("size"))
                for (const auto &text : options.texts("variants")) {
                    auto variant = variant_of(text);
                    auto &spec = variant.spec;
                    const bool engines = spec.backend == "dma";
                    if (engines && (op == "reduce_scatter" || op == "all_reduce")) continue;  // engines do not reduce
                    spec.op = op, spec.size = size;
                    spec.engines = static_cast<int>(options.integer("engines"));
                    spec.call = options.text("call");
                    spec.mapping = parse_mapping(options.text("mapping"));
                    if (part && !engines) spec.part = {part, 0};
                    const auto collective = make_collective(node, spec);
                    const NamedTask a{"gemm", &gemm}, b{"collective", collective.get()};
                    Scene together{variant.first ? std::vector<NamedTask>{b, a} : std::vector<NamedTask>{a, b}, {}};
                    Scene alone_gemm{{a}, {}}, alone_collective{{b}, {}};
                    bench.run({&alone_gemm, &alone_collective, &together});
                    auto host = Json::object(), observed = Json::object().set("variant", text);
                    if (engines) {
                        host.set("prelaunched", true);
                        observed.set("call", spec.call).set("mapping", options.text("mapping"));
                    }
                    const auto name = shape + " beside " + op + " " + text_of(size) + ", " + text;
                    report.write(bench, name, &together, {&alone_gemm, &alone_collective}, host, observed);
                    char numbers[160];
                    std::snprintf(numbers, sizeof numbers, ": %.1f us; gemm %.1f (alone %.1f), collective %.1f (alone %.1f)",
                                  median_us(together, ""), median_us(together, "gemm"), median_us(alone_gemm, "gemm"),
                                  median_us(together, "collective"), median_us(alone_collective, "collective"));
                    progress(name + numbers);
                }
    }
    return 0;
}

}  // namespace probe
