// Writes measurement records, one JSON line each, to standard output.
#pragma once
#include <string>
#include <vector>

#include "../options.h"
#include "bench.h"

namespace probe {

// Where and under what a record was measured.
struct Setting {
    Json machine;         // as Node::describe()
    std::string runtime;  // with its version
    std::vector<Reading> before, after;
};

// What a record says besides its conditions.
struct Findings {
    Json host, measured = Json::object(), sets = Json::object(), observed;
    int samples = 1;
    bool serial = false;  // each task waits for the one before it
};

class Report {
public:
    static Options &declare(Options &options);  // --node, --suite, --role, --revision, --source, --gpus, --samples, ...
    Report(const Options &options, std::string command);

    // What was measured: `together` may have one task (an isolated run); `alone` holds one scene per task, or none.
    void write(Bench &bench, const std::string &name, const Scene *together, const std::vector<const Scene *> &alone,
               Json host = Json(), Json observed = Json());
    // A record without times: what the workload schema cannot say.
    void write_observed(Bench &bench, const std::string &name, const Scene &scene, Json host, Json observed);

    void write(const Setting &setting, const std::string &name, const std::vector<NamedTask> &order, Findings findings);

private:
    std::string node_, suite_, role_, revision_, source_, command_;
};

Json set_of(const std::vector<double> &times_us, const std::vector<std::string> &why);  // one of a record's `sets`
Settings settings_of(const Options &options);
void progress(const std::string &text);  // one line on standard error

}  // namespace probe
