// Kernels that only move memory, or only compute, or only hold compute units: the synthetic loads.
#pragma once
#include <memory>

#include "cache_policy.h"
#include "task.h"

namespace probe {

// Dynamic shared memory that lets only one workgroup onto a compute unit.
int whole_unit(const Node &node);

struct StreamSpec {
    std::string pattern = "copy";  // read, write, copy, triad
    std::int64_t bytes = 0;        // of one array
    int workgroups = 0;            // 0: one per compute unit
    int passes = 1;                // over the arrays, by one kernel
    int flops_per_byte = 0;        // vector operations on what was read
    bool high_priority = false;
    CachePolicy policy;            // of its loads and stores; of a triad: none
};

class StreamTask : public Task {  // on every GPU, on memory of its own
public:
    StreamTask(Node &node, StreamSpec spec, bool all_gpus = true);
    void prepare() override;
    void submit() override;
    void verify() override;
    Json workload() const override;
    Json streams() const override { return stream_json(spec_.high_priority, {}); }
    bool note_times(DeviceTimes *times) override;

private:
    Node &node_;
    StreamSpec spec_;
    int grid_;
    DeviceTimes *times_ = nullptr;  // of the next run only
    std::vector<std::unique_ptr<Buffer>> a_, b_, c_;  // c = a + s b; read uses a, write and copy write c
};

// Workgroups that each fill one compute unit and touch no memory, for a set time.
class HoldTask : public Task {
public:
    HoldTask(Node &node, int workgroups, double time_us, bool high_priority = false);
    void submit() override;
    Json workload() const override;
    Json streams() const override { return stream_json(high_priority_, {}); }
    bool note_times(DeviceTimes *times) override;

private:
    int workgroups_;
    double time_us_;
    int shared_;
    bool high_priority_;
    DeviceTimes *times_ = nullptr;
};

}  // namespace probe
