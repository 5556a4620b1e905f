#include <algorithm>
#include <utility>

#include "command_support.h"
#include "copy_task.h"

namespace probe {

using Ends = std::pair<std::string, std::string>;

// From and to: lists of the same length are taken in pairs; one alone belongs to all of the others.
static std::vector<Ends> ends_of(const Options &options, int gpus) {
    const auto from = options.texts("from"), to = options.texts("to");
    const auto count = std::max(from.size(), to.size());
    if (std::min(from.size(), to.size()) > 1 && from.size() != to.size())
        throw UsageError("--from and --to: " + std::to_string(from.size()) + " and " + std::to_string(to.size()) +
                         " places; as many of each, or one of either");
    std::vector<Ends> ends;
    for (std::size_t i = 0; i < count; ++i) {
        const Ends pair{from[from.size() > 1 ? i : 0], to[to.size() > 1 ? i : 0]};
        for (const auto &place : {pair.first, pair.second}) {
            if (place != "gpu" && place != "peer" && place != "host")
                throw UsageError("'" + place + "' is no place of a copy: gpu, peer or host");
            if (place == "peer" && gpus < 2) throw NoDevice("a copy to a peer needs 2 GPUs");
        }
        if (pair.first != "gpu" && pair.second != "gpu")
            throw UsageError("--from " + pair.first + " --to " + pair.second + ": one of them must be gpu");
        ends.push_back(pair);
    }
    return ends;
}

static std::string name_of(const CopySpec &spec, const Options &options) {
    auto name = spec.executor + " copy " + text_of(spec.bytes) + ", " + spec.source + " to " + spec.destination;
    if (spec.direction != "push") name += ", " + spec.direction;
    if (spec.engines > 1) name += ", " + std::to_string(spec.engines) + " streams";
    if (spec.count > 1) name += ", " + std::to_string(spec.count) + " copies";
    if (spec.streams > 1) name += " over " + std::to_string(spec.streams) + " streams";
    if (spec.workgroups) name += ", " + std::to_string(spec.workgroups) + " workgroups";
    if (spec.mapping != Mapping::malloc) name += ", " + options.text("mapping");
    if (spec.call != "default") name += ", " + spec.call + " call";
    if (options.on("no-peer-access")) name += ", staged";
    if (spec.batch) name += ", batch";
    if (spec.overlap) name += ", overlap";
    if (spec.all_gpus) name += ", all GPUs";
    return name;
}

static void measure(Bench &bench, Report &report, const CopySpec &spec, const Options &options) {
    CopyTask task(bench.node(), spec);
    for (const bool eager : eager_or_not(options)) {
        bench.settings().eager = eager;
        auto host = Json::object();
        if (spec.executor == "dma")
            host = host_of_copies(eager, spec.batch, spec.all_gpus);
        else if (eager)
            host.set("launch", "eager");
        const auto observed = Json::object()
                                  .set("call", spec.batch ? "batch" : spec.call)
                                  .set("mapping", options.text("mapping"))
                                  .set("peer_access", !options.on("no-peer-access"));
        auto name = name_of(spec, options);
        measure_alone(bench, report, name, "copy", task, host, observed);
    }
}

int run_copy(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("bytes", "", "of one copy; several with commas, or 1KiB..1GiB by doubling")
        .option("from", "gpu", "gpu, peer, host; several with commas, in pairs with --to or one for all")
        .option("to", "peer", "gpu, peer, host; several with commas, in pairs with --from or one for all")
        .option("executor", "dma", "dma, kernel; several with commas")
        .option("direction", "push", "between GPUs, whose stream: the source's (push), the destination's (pull)")
        .option("engines", "1", "streams that one copy is split over; several with commas")
        .option("count", "1", "copies; several with commas")
        .option("streams", "1", "streams that --count copies are dealt to, whole ones; several with commas")
        .option("submission", "one_by_one", "one_by_one, batch (one call of the runtime per stream); several with commas")
        .option("release", "gated", "gated (submitted beforehand, behind a wait), eager (submitted at the release, timed by "
                                    "the host's clock); several with commas")
        .option("workgroups", "0", "kernel: 0: one per compute unit; several with commas")
        .option("call", "default", "default or peer: which call of the runtime")
        .option("mapping", "malloc", "malloc, vmm: how memory is mapped to peers; peer: malloc, and the workload says so")
        .flag("overlap", "batch: ask the runtime to leave the compute units alone")
        .flag("all-gpus", "every GPU copies at the same time")
        .flag("no-peer-access", "leave peer access off: copies between GPUs are staged");
    if (parse(options, arguments, "copy")) return 0;
    const auto batches = batch_or_not(options), eager = eager_or_not(options);
    if (options.on("no-peer-access") && !(eager.size() == 1 && eager[0]))
        throw UsageError("--no-peer-access: staged copies make the host wait, so they need --release eager");
    if (options.on("overlap") && !(batches.size() == 1 && batches[0]))
        throw UsageError("--overlap: only the batch call can be asked, so it needs --submission batch");
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    if (node.gpus() > 1 && !options.on("no-peer-access")) node.enable_peer_access();
    Bench bench(node, settings_of(options));
    const auto directions = options.texts("direction");
    CopySpec spec;
    spec.call = options.text("call"), spec.mapping = parse_mapping(options.text("mapping"));
    spec.overlap = options.on("overlap"), spec.all_gpus = options.on("all-gpus");
    for (const auto &executor : options.texts("executor"))
        for (const auto &[source, destination] : ends_of(options, node.gpus()))
            for (const auto &direction : directions)
                for (const auto bytes : options.sizes("bytes"))
                    for (const auto engines : options.integers("engines"))
                        for (const auto count : options.integers("count"))
                            for (const auto streams : options.integers("streams"))
                                for (const auto workgroups : options.integers("workgroups"))
                                    for (const bool batch : batches) {
                                        if (source != "peer" && destination != "peer" && direction != directions[0])
                                            continue;  // only two GPUs can take turns
                                        spec.executor = executor, spec.source = source, spec.destination = destination;
                                        spec.direction = direction, spec.bytes = bytes, spec.batch = batch;
                                        spec.engines = static_cast<int>(engines), spec.count = static_cast<int>(count);
                                        spec.streams = static_cast<int>(streams);
                                        spec.workgroups = static_cast<int>(workgroups);
                                        measure(bench, report, spec, options);
                                    }
    return 0;
}

}  // namespace probe
