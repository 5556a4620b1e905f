// All-reduce by stores to peers and flags, inside one kernel. One shot: every rank stores all it has at every peer, and each
// adds. Two shots: every rank stores to each peer that peer's shard, which adds and stores the sum at every peer.
#include <algorithm>

#include "add_bf16.h"
#include "collective_task.h"
#include "stores_task.h"

namespace probe {

constexpr int most_ranks = 16, shot_threads = 512;

// What one rank's kernel sees: index 0 is the rank itself, the others are its peers in turn.
struct Ranks {
    uint4 *scratch[most_ranks];        // of each peer: the slot for what this rank stores there
    const uint4 *received[most_ranks]; // here: the slot that each peer stores to
    uint4 *out[most_ranks];            // of each rank: where this rank's sums go
    std::uint32_t *told[most_ranks];         // of each peer: this rank's flags, one a workgroup and shot
    const std::uint32_t *heard[most_ranks];  // here: each peer's flags
    int count;
};

__device__ inline uint4 load_arrived(const uint4 *from) {  // past a first-level cache that may hold what was there before
#if defined(__CUDACC__)
    return __ldcg(from);
#else
    using uint4v = __attribute__((__vector_size__(4 * sizeof(std::uint32_t)))) std::uint32_t;
    const auto v = __builtin_nontemporal_load(reinterpret_cast<const uint4v *>(from));
    return {v[0], v[1], v[2], v[3]};
#endif
}

// What this workgroup stored is told to the same workgroup of every peer, and what those stored is waited for.
__device__ inline void meet(const Ranks &ranks, int flag, std::uint32_t turn) {
    gather_stores();
    if (threadIdx.x > 0 && static_cast<int>(threadIdx.x) < ranks.count) {
        wait_for_stores();
        store_flag(ranks.told[threadIdx.x] + flag, turn);
        wait_for_flag(ranks.heard[threadIdx.x] + flag, turn);
    }
    __syncthreads();
}

// `count`: 16-byte words that each rank stores at each peer; `stride`: from what one peer gets to what the next one gets.
__global__ void __launch_bounds__(shot_threads)
    shot_kernel(const uint4 *in, Ranks ranks, std::size_t count, std::size_t stride, int rank, bool both, std::uint32_t turn) {
    const std::size_t first = blockIdx.x * static_cast<std::size_t>(shot_threads) + threadIdx.x;
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * shot_threads;
    for (int peer = 1; peer < ranks.count; ++peer)
        for (std::size_t i = first; i < count; i += step)
            ranks.scratch[peer][i] = in[(rank + peer) % ranks.count * stride + i];
    meet(ranks, blockIdx.x, turn);
    for (std::size_t i = first; i < count; i += step) {
        uint4 sum = in[rank * stride + i];
        for (int peer = 1; peer < ranks.count; ++peer) sum = add_bf16x8(sum, load_arrived(ranks.received[peer] + i));
        for (int peer = 0; peer < (both ? ranks.count : 1); ++peer) ranks.out[peer][i] = sum;
    }
    if (both) meet(ranks, gridDim.x + blockIdx.x, turn);
}

class ShotCollective : public CollectiveTask {
public:
    ShotCollective(Node &node, const CollectiveSpec &spec) : CollectiveTask(node, spec), both_(spec.algorithm == "two_shot") {
        if (spec.op != "all_reduce") throw std::invalid_argument("--algorithm " + spec.algorithm + ": --op all_reduce");
        if (spec.algorithm != "one_shot" && !both_)
            throw std::invalid_argument("--algorithm " + spec.algorithm + ": one_shot or two_shot");
        if (ranks_ > most_ranks) throw std::invalid_argument("--algorithm: at most 16 GPUs");
        bytes_ = both_ ? shard_ : static_cast<std::size_t>(spec.size);
        grid_ = spec.channels ? spec.channels : node.compute_units();
        for (int gpu = 0; gpu < ranks_; ++gpu) {
            lanes_.push_back(node.stream(gpu, spec.high_priority, spec.part));
            scratch_.push_back(std::make_unique<Buffer>(gpu, bytes_ * ranks_, spec.mapping, ranks_));
            flags_.push_back(std::make_unique<Buffer>(gpu, ranks_ * flags() * sizeof(std::uint32_t), spec.mapping, ranks_));
            GPU(gpuMemsetAsync(flags_.back()->data(), 0, flags_.back()->bytes(), lanes_.back().stream));
            GPU(gpuStreamSynchronize(lanes_.back().stream));
        }
    }
    void submit() override {
        ++turn_;
        for (int gpu = 0; gpu < ranks_; ++gpu) {
            GPU(gpuSetDevice(gpu));
            const auto ranks = seen_from(gpu);
            shot_kernel<<<grid_, shot_threads, 0, lanes_[gpu].stream>>>(in_[gpu]->data<uint4>(), ranks, bytes_ / 16,
                                                                  both_ ? shard_ / 16 : 0, gpu, both_, turn_);
            GPU(gpuGetLastError());
        }
    }

private:
    std::size_t flags() const { return 2 * static_cast<std::size_t>(grid_); }  // of one peer
    Ranks seen_from(int gpu) const {
        Ranks ranks = {};
        ranks.count = ranks_;
        for (int i = 0; i < ranks_; ++i) {
            const int peer = (gpu + i) % ranks_;
            ranks.scratch[i] = reinterpret_cast<uint4 *>(scratch_[peer]->at(gpu * bytes_));
            ranks.received[i] = reinterpret_cast<const uint4 *>(scratch_[gpu]->at(peer * bytes_));
            ranks.out[i] = reinterpret_cast<uint4 *>(out_[peer]->at(both_ ? gpu * shard_ : 0));
            ranks.told[i] = flags_[peer]->data<std::uint32_t>() + gpu * flags();
            ranks.heard[i] = flags_[gpu]->data<std::uint32_t>() + peer * flags();
        }
        return ranks;
    }
    bool both_;
    int grid_;
    std::size_t bytes_;  // that a rank stores at each peer in the first shot
    std::uint32_t turn_ = 0;
    std::vector<std::unique_ptr<Buffer>> scratch_, flags_;
};

std::unique_ptr<CollectiveTask> make_shots(Node &node, const CollectiveSpec &spec) {
    return std::make_unique<ShotCollective>(node, spec);
}

}  // namespace probe
