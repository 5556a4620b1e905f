#include "command_support.h"
#include "loads.h"

namespace probe {

int run_stress(const std::vector<std::string> &arguments, const std::string &line) {
    Options options;
    options.option("first", "", "loads, with commas: memory, read, write, cache, reuse, alu, hold, dma_*, stores, stores_D (D in "
                                  "flight), stores_release, gemm, own_gemm; +POLICY of caches; :N workgroups, MiB (reuse), "
                                  "engines or extent")
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
            if (node.gpus() < 2 && (second.rfind("stores", 0) == 0 || second == "dma_push" || second == "dma_pull")) continue;
            auto other = load_of(node, second, options.integer("scale"));
            const NamedTask a{"first", one.get()}, b{"second", other.get()};
            Scene together{{a, b}, {}}, alone_a{{a}, {}}, alone_b{{b}, {}};
            bench.run({&alone_a, &alone_b, &together});
            const auto name = first + " beside " + second;
            const bool engines = (first + second).find("dma") != std::string::npos;
            auto observed = Json();
            if (name.find('+') != std::string::npos) observed = Json::object().set("loads", name);
            report.write(bench, name, &together, {&alone_a, &alone_b},
                         engines ? Json::object().set("prelaunched", true) : Json::object(), observed);
            char numbers[120];
            std::snprintf(numbers, sizeof numbers, ": %.1f (alone %.1f), %.1f (alone %.1f) us", median_us(together, "first"),
                          median_us(alone_a, "first"), median_us(together, "second"), median_us(alone_b, "second"));
            progress(name + numbers);
        }
    }
    return 0;
}

}  // namespace probe
