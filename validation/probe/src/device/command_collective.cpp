#include "collective_task.h"
#include "command_support.h"

namespace probe {

int run_collective(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("op", "all_gather", "all_gather, all_to_all, reduce_scatter, all_reduce; several with commas")
        .option("size", "", "full buffer per GPU; several with commas, or 1MiB..1GiB by doubling")
        .option("backend", "vendor", "vendor, dma, probe (own kernels); several with commas")
        .option("channels", "0", "workgroups per GPU, 0: the library's choice; several with commas")
        .option("direction", "push", "dma: push, pull; several with commas")
        .option("engines", "1", "dma: streams per pair of GPUs; several with commas")
        .option("call", "default", "dma: default or peer: which call of the runtime")
        .option("mapping", "malloc", "malloc or vmm: how memory is mapped to peers");
    if (parse(options, arguments, "collective")) return 0;
    Report report(options, line);
    Node node(static_cast<int>(options.integer("gpus")));
    node.enable_peer_access();
    Bench bench(node, settings_of(options));
    for (const auto &backend : options.texts("backend"))
        for (const auto &op : options.texts("op"))
            for (const auto size : options.sizes("size"))
                for (const auto channels : options.integers("channels"))
                    for (const auto &direction : options.texts("direction"))
                        for (const auto engines : options.integers("engines")) {
                            CollectiveSpec spec;
                            spec.op = op, spec.size = size;
                            spec.backend = backend == "vendor" ? vendor_collective_library() : backend;
                            spec.channels = static_cast<int>(channels);
                            spec.direction = direction, spec.engines = static_cast<int>(engines);
                            spec.call = options.text("call");
                            spec.mapping = parse_mapping(options.text("mapping"));
                            const auto task = make_collective(node, spec);
                            auto name = spec.backend + " " + op + " " + text_of(size);
                            auto host = Json::object(), observed = Json();
                            if (channels) name += ", " + std::to_string(channels) + " channels";
                            if (backend == "dma") {
                                name += ", " + direction;
                                if (engines > 1) name += ", " + std::to_string(engines) + " streams per pair";
                                if (options.text("mapping") != "malloc") name += ", " + options.text("mapping");
                                host.set("prelaunched", true);
                                observed = Json::object().set("call", spec.call).set("mapping", options.text("mapping"));
                            }
                            measure_alone(bench, report, name, "collective", *task, host, observed);
                        }
    return 0;
}

}  // namespace probe
