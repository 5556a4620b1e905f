// All-gather, all-to-all, reduce-scatter and all-reduce over all GPUs, three ways: the vendor's library, DMA engines,
// and the probe's own kernels with stores to peers.
//
// `size` is the full buffer per GPU. All-gather is in place; all-to-all leaves each rank's own part where it is;
// reduce-scatter and all-reduce are out of place. bf16, sums of small whole numbers, so that every result is exact.
#pragma once
#include <memory>

#include "task.h"

namespace probe {

struct CollectiveSpec {
    std::string op;                   // all_gather, all_to_all, reduce_scatter, all_reduce
    std::int64_t size = 0;
    std::string backend;              // nccl or rccl, probe, dma
    int channels = 0;                 // workgroups per GPU; 0: the library's choice, or one per compute unit
    std::string algorithm;            // probe, all_reduce: one_shot or two_shot, by stores to peers; left out: by loads
    std::string direction = "push";   // dma: whose stream carries a copy
    int engines = 1;                  // dma: streams per pair of GPUs
    bool batch = false;               // dma: one stream per GPU, its copies in one call of the runtime
    std::string call = "default";     // dma: default, peer
    Mapping mapping = Mapping::malloc;
    bool high_priority = false;
    Partition part;
};

class CollectiveTask : public Task {
public:
    void prepare() override;
    void verify() override;
    Json workload() const override;
    Json streams() const override;

protected:
    CollectiveTask(Node &node, CollectiveSpec spec);
    Node &node_;
    CollectiveSpec spec_;
    int ranks_;
    std::size_t shard_;                               // bytes
    std::vector<std::unique_ptr<Buffer>> in_, out_;   // per GPU; all_gather uses out_ only
};

// What a rank's buffers hold before, and must hold after. `out` has an all-gather's own shard in place already.
void check_collective(const std::string &op, std::int64_t size, int ranks);  // throws std::invalid_argument
void fill_collective(const Buffer &in, int rank);
void verify_collective(const std::string &op, const Buffer &out, std::size_t shard, int rank, int ranks);

std::unique_ptr<CollectiveTask> make_shots(Node &node, const CollectiveSpec &spec);  // one_shot, two_shot
std::unique_ptr<CollectiveTask> make_collective(Node &node, const CollectiveSpec &spec);
std::string vendor_collective_library();  // nccl or rccl

}  // namespace probe
