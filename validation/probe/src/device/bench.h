// Takes samples: blocks all streams, fills them, releases them together, and reads when each task ended.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gate.h"
#include "task.h"

namespace probe {

struct NamedTask {
    std::string name;
    Task *task;
};

struct Sample {
    double wall_us = 0;
    std::vector<double> task_us;   // from the release of the first task to the end of each, in launch order
    std::vector<double> lane_us;   // gated: to the end of each stream, earliest first
    std::string why;               // not empty: throttled for heat, or otherwise disturbed
};

struct Settings {
    int samples = 10;
    int warm_up = 2;
    bool cold = true;        // caches are flushed before each sample
    double pause_ms = 0;     // before each sample
    bool eager = false;      // no gate: tasks are submitted at the release, and the host's clock is read
};

// A set of tasks measured together; several scenes are sampled in turns, so that all see the same drift.
struct Scene {
    std::vector<NamedTask> order;
    std::vector<Sample> samples;
};

class Bench {
public:
    Bench(Node &node, Settings settings);
    ~Bench();
    void run(std::vector<Scene *> scenes);  // warms up, verifies each scene once before and once after, fills samples
    const std::vector<Reading> &before() const { return before_; }
    const std::vector<Reading> &after() const { return after_; }
    Settings &settings() { return settings_; }
    const Node &node() const { return node_; }
    void read_before() { before_ = node_.read(); }  // for what is measured otherwise than by run()
    void read_after() { after_ = node_.read(); }
    Node &node() { return node_; }

private:
    Sample sample(const Scene &scene);
    Sample gated(const Scene &scene);
    Sample eager(const Scene &scene);
    void verify(const Scene &scene);
    void flush();
    void synchronize();
    std::string disturbance() const;
    gpuEvent_t event(int gpu, std::size_t index);

    Node &node_;
    Settings settings_;
    std::vector<std::unique_ptr<Buffer>> scratch_;  // larger than every cache, one per GPU
    std::vector<std::vector<gpuEvent_t>> events_;   // per GPU, reused
    std::vector<Lane> idle_;                        // one stream per GPU that only marks the release
    std::vector<Reading> before_, after_;
};

double median_us(const Scene &scene, const std::string &task);  // task "" : the wall time
std::vector<double> stream_ends_us(const Scene &scene);         // median end of the first stream to end, the second, ...

}  // namespace probe
