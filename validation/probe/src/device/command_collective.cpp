#include "collective_task.h"
#include "command_support.h"

namespace probe {

static void measure(Bench &bench, Report &report, const CollectiveSpec &spec, const std::vector<bool> &releases) {
    const auto task = make_collective(bench.node(), spec);
    for (const bool eager : releases) {
        bench.settings().eager = eager;
        auto name = spec.backend + " " + spec.op + " " + text_of(spec.size);
        auto host = Json::object(), observed = Json();
        if (spec.channels) name += ", " + std::to_string(spec.channels) + " channels";
        if (!spec.algorithm.empty()) name += ", " + spec.algorithm;
        if (spec.backend == "dma") {
            name += ", " + spec.direction;
            if (spec.engines > 1) name += ", " + std::to_string(spec.engines) + " streams per pair";
            if (spec.mapping != Mapping::malloc) name += spec.mapping == Mapping::vmm ? ", vmm" : ", peer";
            if (spec.batch) name += ", batch";
            host = host_of_copies(eager, spec.batch, true);
            observed = Json::object()
                           .set("call", spec.batch ? "batch" : spec.call)
                           .set("mapping", spec.mapping == Mapping::vmm ? "vmm" : "malloc");
        } else if (eager) {
            host.set("launch", "eager").set("threads", "single");
        }
        measure_alone(bench, report, name, "collective", *task, host, observed);
    }
}

int run_collective(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("op", "all_gather", "all_gather, all_to_all, reduce_scatter, all_reduce; several with commas")
        .option("size", "", "full buffer per GPU; several with commas, or 1MiB..1GiB by doubling")
        .option("backend", "vendor", "vendor, dma, probe (own kernels); several with commas")
        .option("channels", "0", "workgroups per GPU, 0: the library's choice; several with commas")
        .option("algorithm", "default", "probe, all_reduce: one_shot, two_shot (stores to peers and flags); default: loads; "
                                        "several with commas")
        .option("direction", "push", "dma: push, pull; several with commas")
        .option("engines", "1", "dma: streams per pair of GPUs; several with commas")
        .option("submission", "one_by_one", "dma: one_by_one, batch (one call of the runtime per GPU); several with commas")
        .option("release", "gated", "gated (submitted beforehand, behind a wait), eager (submitted at the release, timed by "
                                    "the host's clock); several with commas")
        .option("call", "default", "dma: default or peer: which call of the runtime")
        .option("mapping", "malloc", "malloc, vmm: how memory is mapped to peers; peer: malloc, and the workload says so");
    if (parse(options, arguments, "collective")) return 0;
    const auto batches = batch_or_not(options), releases = eager_or_not(options);
    const auto directions = options.texts("direction");
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    node.enable_peer_access();
    Bench bench(node, settings_of(options));
    CollectiveSpec spec;
    spec.call = options.text("call"), spec.mapping = parse_mapping(options.text("mapping"));
    for (const auto &backend : options.texts("backend"))
        for (const auto &op : options.texts("op"))
            for (const auto size : options.sizes("size"))
                for (const auto channels : options.integers("channels"))
                    for (const auto &algorithm : options.texts("algorithm"))
                        for (const auto &direction : directions)
                            for (const auto engines : options.integers("engines"))
                                for (const bool batch : batches) {
                                    if (backend != "dma" && (batch != batches[0] || direction != directions[0]))
                                        continue;  // only engines have them
                                    if (backend != "probe" && algorithm != options.texts("algorithm")[0]) continue;
                                    spec.op = op, spec.size = size;
                                    spec.backend = backend == "vendor" ? vendor_collective_library() : backend;
                                    spec.algorithm = backend == "probe" && algorithm != "default" ? algorithm : "";
                                    spec.channels = static_cast<int>(channels), spec.batch = batch;
                                    spec.direction = direction, spec.engines = static_cast<int>(engines);
                                    if (backend == "probe" && channels && channels < node.gpus() - 1) {
                                        progress("skipped: --channels " + std::to_string(channels) +
                                                 ", own kernels need one per peer");
                                        continue;
                                    }
                                    measure(bench, report, spec, releases);
                                }
    return 0;
}

}  // namespace probe
