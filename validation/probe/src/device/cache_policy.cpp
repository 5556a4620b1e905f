#include "cache_policy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "../options.h"

namespace probe {

template <class Operator>
struct Named {
    const char *name;
    Operator how;
    const char *level, *does;  // in a workload file; null: what it means left out
    const char *l2 = nullptr;  // what such loads do there
};

static const std::array<Named<Loads>, 7> all_loads{{{"plain", Loads::plain, nullptr, nullptr},
                                                    {"nc", Loads::nc, "l1", "allocate"},
                                                    {"no_allocate", Loads::no_allocate, "l1", "bypass", "stream"},
                                                    {"cs", Loads::cs, "l1", "allocate", "stream"},
                                                    {"evict_first", Loads::evict_first, "l1", "bypass", "stream"},
                                                    {"evict_last", Loads::evict_last, "l1", "bypass", "keep"},
                                                    {"uncached", Loads::uncached, "l1", "bypass"}}};
static const std::array<Named<Stores>, 6> all_stores{{{"plain", Stores::plain, nullptr, nullptr},
                                                      {"cs", Stores::cs, "stores", "stream"},
                                                      {"evict_first", Stores::evict_first, "stores", "stream"},
                                                      {"evict_last", Stores::evict_last, "stores", "keep"},
                                                      {"wt", Stores::wt, "stores", "write_through"},
                                                      {"uncached", Stores::uncached, "stores", "uncached"}}};

template <class Table>
static auto find(const Table &table, const std::string &name) {
    for (const auto &each : table)
        if (name == each.name) return each.how;
    std::string names = "keep";
    for (const auto &each : table) names += std::string(", ") + each.name;
    throw UsageError("cache policy " + name + ": " + names);
}

template <class Table, class Operator>
static const auto &entry(const Table &table, Operator how) {
    return *std::find_if(table.begin(), table.end(), [&](const auto &each) { return each.how == how; });
}

CachePolicy parse_policy(const std::string &text) {
    const auto slash = text.find('/');
    const auto loads = text.substr(0, slash);
    CachePolicy policy;
    policy.keep = loads == "keep";
    if (!policy.keep) policy.loads = find(all_loads, loads);
    if (slash != std::string::npos) policy.stores = find(all_stores, text.substr(slash + 1));
    return policy;
}

Json policy_json(const CachePolicy &policy) {
    auto json = Json::object();
    const auto &loads = entry(all_loads, policy.loads);
    const auto &stores = entry(all_stores, policy.stores);
    if (loads.level) json.set(loads.level, loads.does);
    if (loads.l2) json.set("l2", loads.l2);
    if (policy.keep) json.set("l2", "keep");
    if (stores.level) json.set(stores.level, stores.does);
    return json;
}

static bool set_aside = false;

bool lines_set_aside() { return set_aside; }

void keep_in_cache(const Lane &lane, void *data, std::size_t bytes) {
#if defined(__CUDACC__)
    set_aside = true;
    GPU(gpuSetDevice(lane.gpu));
    int most = 0, window = 0;
    GPU(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, first_gpu() + lane.gpu));
    GPU(cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, first_gpu() + lane.gpu));
    GPU(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(most)));
    cudaStreamAttrValue value = {};
    auto &kept = value.accessPolicyWindow;
    kept.base_ptr = data;
    kept.num_bytes = std::min(bytes, static_cast<std::size_t>(window));
    kept.hitRatio = std::min(1.0f, static_cast<float>(most) / static_cast<float>(kept.num_bytes));
    kept.hitProp = cudaAccessPropertyPersisting;
    kept.missProp = cudaAccessPropertyStreaming;
    GPU(cudaStreamSetAttribute(lane.stream, cudaStreamAttributeAccessPolicyWindow, &value));
#else
    (void)lane, (void)data, (void)bytes;
    throw UsageError("keep: this runtime has no window of lines to keep");
#endif
}

}  // namespace probe
