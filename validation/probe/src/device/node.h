// The GPUs of this machine: properties, peer access, streams and memory.
#pragma once
#include <memory>

#include "../json.h"
#include "../machine.h"
#include "gpu.h"

namespace probe {

struct NoDevice : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Lane {  // one stream of one GPU
    int gpu;
    gpuStream_t stream;
};

// A part of a GPU for one stream: `units` compute units from unit `first` on; 0 units: all of them.
struct Partition {
    int units = 0;
    int first = 0;
};

struct Identity {  // of one GPU; can be told to another process byte by byte
    char name[128] = {}, pci[32] = {};
    std::int64_t compute_units = 0, memory_bytes = 0, l2_bytes = 0;
    Json json() const;
};

class Node {
public:
    explicit Node(int gpus);  // 0: every GPU there is; throws NoDevice
    int gpus() const { return static_cast<int>(properties_.size()); }
    const gpuDeviceProp &properties(int gpu) const { return properties_[gpu]; }
    int compute_units() const { return properties_[0].multiProcessorCount; }
    std::string runtime_version() const;
    std::string compiler_version() const;
    void enable_peer_access();  // every pair; throws where a pair has none
    Lane stream(int gpu, bool high_priority = false, Partition part = {});
    Identity identity(int gpu) const;
    std::string driver_version() const { return machine_->driver_version(); }
    Json describe() const;  // {"gpus": [...], "driver": ..., "runtime": ..., "compiler": ...}
    std::vector<Reading> read() const { return machine_->read(); }
    double energy_j(int gpu) const { return machine_->energy_j(gpu); }

private:
    std::vector<gpuDeviceProp> properties_;
    std::unique_ptr<Machine> machine_;
    std::vector<std::string> pci_;
};

// {"gpus": [...], "driver": ..., "runtime": ..., "compiler": ...} of GPUs that may be other processes'.
Json describe_machine(const std::vector<Identity> &gpus, const Node &node);

// How a buffer's memory is obtained and made visible to the peers.
//   malloc: the runtime's allocation, all of it mapped to peers by enabling peer access
//   peer:   the same, and the record's workload says so
//   vmm:    physical memory created, mapped and given access per GPU (virtual memory management)
enum class Mapping { malloc, peer, vmm };
Mapping parse_mapping(const std::string &text);

class Buffer {
public:
    Buffer(int gpu, std::size_t bytes, Mapping mapping = Mapping::malloc, int gpus = 1);  // gpu -1: pinned host memory
    ~Buffer();
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    template <class T = void>
    T *data() const {
        return static_cast<T *>(data_);
    }
    char *at(std::size_t byte) const { return static_cast<char *>(data_) + byte; }
    std::size_t bytes() const { return bytes_; }
    int gpu() const { return gpu_; }

private:
    int gpu_;
    std::size_t bytes_, mapped_ = 0;
    Mapping mapping_;
    void *data_ = nullptr;
    std::uint64_t handle_ = 0;
};

}  // namespace probe
