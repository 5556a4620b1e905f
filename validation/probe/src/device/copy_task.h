// Copies by DMA engines or by a kernel: local, to and from peers, to and from host memory.
#pragma once
#include <memory>

#include "task.h"

namespace probe {

struct CopySpec {
    std::string source = "gpu", destination = "peer";  // gpu, peer, host
    std::int64_t bytes = 0;                            // of each copy
    std::string executor = "dma";                      // dma, kernel
    std::string direction = "push";                    // between GPUs: whose stream carries it, the source's or not
    std::string call = "default";                      // default, peer: which of the runtime's calls
    Mapping mapping = Mapping::malloc;
    int engines = 1;      // streams one copy is split over
    int count = 1;        // copies
    int streams = 1;      // that whole copies are dealt to; those of one stream run one after another
    bool batch = false;   // the runtime's batch call, one per stream, instead of one call per copy
    bool overlap = false; // batch: the runtime is asked to leave the compute units alone
    int workgroups = 0;   // of the kernel; 0: one per compute unit
    bool all_gpus = false;
    bool high_priority = false;
};

class CopyTask : public Task {
public:
    CopyTask(Node &node, CopySpec spec);
    void prepare() override;
    void submit() override;
    void verify() override;
    Json workload() const override;
    Json streams() const override { return stream_json(spec_.high_priority, {}); }
    std::vector<std::pair<std::string, Json>> tasks(const std::string &name) const override;

private:
    struct Move {
        const char *from;
        char *to;
        int from_gpu, to_gpu;
        std::size_t bytes, lane;
    };
    Json with_repeat(int count) const;
    void submit_batches();
    CopySpec spec_;
    int grid_;
    std::vector<std::unique_ptr<Buffer>> sources_, destinations_;
    std::vector<Move> moves_;
};

// One copy between addresses on `stream`, with the call named; GPUs are -1 for host memory.
void copy_async(const std::string &call, char *to, int to_gpu, const char *from, int from_gpu, std::size_t bytes,
                gpuStream_t stream);
// Several copies in one call; throws MissingLibrary where the runtime has none.
struct Batch {
    std::vector<void *> to;
    std::vector<const void *> from;
    std::vector<std::size_t> bytes;
};
void copy_batch(Batch &batch, gpuStream_t stream, bool overlap = false);
void launch_copy_kernel(char *to, const char *from, std::size_t bytes, int workgroups, gpuStream_t stream);

}  // namespace probe
