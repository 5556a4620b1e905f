// Writes measurement records, one JSON line each, to standard output.
#pragma once
#include <string>
#include <vector>

#include "../options.h"
#include "bench.h"

namespace probe {

class Report {
public:
    static Options &declare(Options &options);  // --node, --suite, --role, --revision, --source, --gpus, --samples, ...
    Report(const Options &options, std::string command);

    // What was measured: `together` may have one task (an isolated run); `alone` holds one scene per task, or none.
    void write(Bench &bench, const std::string &name, const Scene *together, const std::vector<const Scene *> &alone,
               Json host = Json(), Json observed = Json());
    // A record without times: what the workload schema cannot say.
    void write_observed(Bench &bench, const std::string &name, const Scene &scene, Json host, Json observed);

private:
    void line(Bench &bench, const std::string &name, const std::vector<NamedTask> &order, Json host, Json measured,
              Json sets, Json observed, int samples);
    std::string node_, suite_, role_, revision_, source_, command_;
};

Settings settings_of(const Options &options);
void progress(const std::string &text);  // one line on standard error

}  // namespace probe
