#include "command_support.h"
#include "copy_task.h"

namespace probe {

int run_copy(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("bytes", "", "of one copy; several with commas, or 1KiB..1GiB by doubling")
        .option("from", "gpu", "gpu, peer, host; several with commas")
        .option("to", "peer", "gpu, peer, host; several with commas")
        .option("executor", "dma", "dma, kernel; several with commas")
        .option("direction", "push", "between GPUs, whose stream: the source's (push), the destination's (pull)")
        .option("engines", "1", "streams that one copy is split over; several with commas")
        .option("count", "1", "copies back to back; several with commas")
        .option("workgroups", "0", "kernel: 0: one per compute unit; several with commas")
        .option("call", "default", "default or peer: which call of the runtime")
        .option("mapping", "malloc", "malloc or vmm: how memory is mapped to peers")
        .flag("batch", "one call for all --count copies")
        .flag("all-gpus", "every GPU copies at the same time")
        .flag("eager", "submit at the release and time with the host's clock, instead of gated beforehand")
        .flag("no-peer-access", "leave peer access off: copies between GPUs are staged");
    if (parse(options, arguments, "copy")) return 0;
    if (options.on("no-peer-access") && !options.on("eager"))
        throw UsageError("--no-peer-access: staged copies make the host wait, so they need --eager");
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    if (node.gpus() > 1 && !options.on("no-peer-access")) node.enable_peer_access();
    auto settings = settings_of(options);
    settings.eager = options.on("eager");
    Bench bench(node, settings);
    for (const auto &executor : options.texts("executor"))
        for (const auto &source : options.texts("from"))
            for (const auto &destination : options.texts("to"))
                for (const auto &direction : options.texts("direction"))
                    for (const auto bytes : options.sizes("bytes"))
                        for (const auto engines : options.integers("engines"))
                            for (const auto count : options.integers("count"))
                                for (const auto workgroups : options.integers("workgroups")) {
                                    if (source == "peer" && destination == "peer")
                                        throw UsageError("--from peer --to peer: one of them must be local");
                                    if (node.gpus() < 2 && (source == "peer" || destination == "peer"))
                                        throw NoDevice("a copy to a peer needs 2 GPUs");
                                    CopySpec spec;
                                    spec.bytes = bytes, spec.source = source, spec.destination = destination;
                                    spec.executor = executor, spec.direction = direction;
                                    spec.engines = static_cast<int>(engines), spec.count = static_cast<int>(count);
                                    spec.workgroups = static_cast<int>(workgroups);
                                    spec.call = options.text("call");
                                    spec.mapping = parse_mapping(options.text("mapping"));
                                    spec.batch = options.on("batch"), spec.all_gpus = options.on("all-gpus");
                                    CopyTask task(node, spec);
                                    auto name = executor + " copy " + text_of(bytes) + ", " + source + " to " + destination;
                                    if (direction != "push") name += ", " + direction;
                                    if (engines > 1) name += ", " + std::to_string(engines) + " streams";
                                    if (count > 1) name += ", " + std::to_string(count) + " copies";
                                    if (workgroups) name += ", " + std::to_string(workgroups) + " workgroups";
                                    if (options.text("mapping") != "malloc") name += ", " + options.text("mapping");
                                    if (spec.call != "default") name += ", " + spec.call + " call";
                                    if (options.on("no-peer-access")) name += ", staged";
                                    if (spec.batch) name += ", batch";
                                    if (spec.all_gpus) name += ", all GPUs";
                                    auto host = Json::object();
                                    if (settings.eager) host.set("launch", "eager");
                                    if (executor == "dma" && !settings.eager)
                                        host.set("prelaunched", true);
                                    if (spec.batch)
                                        host.set("submission", "batch");
                                    auto observed = Json::object()
                                                        .set("call", spec.batch ? "batch" : spec.call)
                                                        .set("mapping", options.text("mapping"))
                                                        .set("peer_access", !options.on("no-peer-access"));
                                    measure_alone(bench, report, name, "copy", task, host, observed);
                                }
    return 0;
}

}  // namespace probe
