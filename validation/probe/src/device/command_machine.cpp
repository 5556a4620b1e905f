#include "command_support.h"

namespace probe {

int run_machine(const std::vector<std::string> &arguments, const std::string &) {
    if (!arguments.empty()) throw UsageError("machine takes no options");
    Node node(0);
    auto json = node.describe();
    Json now = Json::array();
    for (const auto &each : node.read()) now.push(each.json());
    std::printf("%s\n", json.set("now", now).dump().c_str());
    return 0;
}

}  // namespace probe
