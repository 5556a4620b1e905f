// RCCL or NCCL, opened at run time: one C interface for both.
#pragma once
#include <map>

#include "gpu.h"

namespace probe {

class NcclLibrary {
public:
    static NcclLibrary &open();  // throws MissingLibrary
    static std::string name() { return std::string(GPU_BACKEND) == "cuda" ? "nccl" : "rccl"; }
    const std::string &version() const { return version_; }

    // One per GPU; `channels` limits the workgroups of each (0: the library's choice). Kept for the next task.
    std::vector<void *> communicators(int gpus, int channels);

    // One of a crew of processes: `id` is what unique_id() gave one of them.
    std::string unique_id();
    void *join(const std::string &id, int ranks, int rank, int channels);

    struct Group {  // calls between construction and destruction start together
        explicit Group(NcclLibrary &library);
        ~Group() noexcept(false);
        NcclLibrary &library;
    };
    void all_gather(const void *in, void *out, std::size_t elements, void *comm, gpuStream_t stream);
    void reduce_scatter(const void *in, void *out, std::size_t elements_out, void *comm, gpuStream_t stream);
    void all_reduce(const void *in, void *out, std::size_t elements, void *comm, gpuStream_t stream);
    void send(const void *in, std::size_t bytes, int peer, void *comm, gpuStream_t stream);
    void receive(void *out, std::size_t bytes, int peer, void *comm, gpuStream_t stream);

private:
    NcclLibrary();
    template <class Function>
    Function call(const char *name) const;
    void check(int status, const char *what) const;
    struct Config;
    static Config config_of(int channels);
    void *library_ = nullptr;
    std::string version_;
    std::map<std::pair<int, int>, std::vector<void *>> communicators_;
};

}  // namespace probe
