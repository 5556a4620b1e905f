#include "nccl.h"

#include <climits>
#include <cstdlib>
#include <cstring>

namespace probe {

// nccl.h of NCCL 2.18 and RCCL 2.18 or newer; later versions accept the shorter structure by its size and version.
struct UniqueId {
    char internal[128];
};
struct NcclLibrary::Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef, version = 21800;
    int blocking = INT_MIN, cga_cluster_size = INT_MIN, min_ctas = INT_MIN, max_ctas = INT_MIN;
    const char *net_name = nullptr;
    int split_share = INT_MIN;
};
constexpr int type_int8 = 0, type_bf16 = 9, sum = 0;

NcclLibrary &NcclLibrary::open() {
    static NcclLibrary library;
    return library;
}

NcclLibrary::NcclLibrary() {
    const bool nvidia = name() == "nccl";
    const char *variable = nvidia ? "PROBE_NCCL" : "PROBE_RCCL";
    const char *file = nvidia ? "libnccl.so.2" : "librccl.so.1";
    const char *given = std::getenv(variable);
    library_ = dlopen(given ? given : file, RTLD_NOW);
    if (!library_ && !nvidia) library_ = dlopen("librccl.so", RTLD_NOW);
    if (!library_)
        throw MissingLibrary(std::string("no ") + file + " found; put its folder into LD_LIBRARY_PATH or its path into " +
                             variable);
    int number = 0;
    check(call<int (*)(int *)>("ncclGetVersion")(&number), "ncclGetVersion");
    version_ = std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
               std::to_string(number % 100);
}

template <class Function>
Function NcclLibrary::call(const char *name) const {
    auto *found = dlsym(library_, name);
    if (!found) throw MissingLibrary(std::string("the collective library offers no ") + name);
    return reinterpret_cast<Function>(found);
}

void NcclLibrary::check(int status, const char *what) const {
    if (status == 0) return;
    throw GpuError(std::string(what) + ": " + call<const char *(*)(int)>("ncclGetErrorString")(status));
}

NcclLibrary::Group::Group(NcclLibrary &library) : library(library) {
    library.check(library.call<int (*)()>("ncclGroupStart")(), "ncclGroupStart");
}
NcclLibrary::Group::~Group() noexcept(false) {
    library.check(library.call<int (*)()>("ncclGroupEnd")(), "ncclGroupEnd");
}

std::vector<void *> NcclLibrary::communicators(int gpus, int channels) {
    auto &list = communicators_[{gpus, channels}];
    if (!list.empty()) return list;
    list.resize(gpus, nullptr);
    UniqueId id;
    std::memcpy(id.internal, unique_id().data(), sizeof id.internal);
    auto config = config_of(channels);
    auto init = call<int (*)(void **, int, UniqueId, int, Config *)>("ncclCommInitRankConfig");
    Group group(*this);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        GPU(gpuSetDevice(gpu));
        check(init(&list[gpu], gpus, id, gpu, &config), "ncclCommInitRankConfig");
    }
    return list;
}

NcclLibrary::Config NcclLibrary::config_of(int channels) {
    Config config;
    if (channels) config.min_ctas = 1, config.max_ctas = channels;
    return config;
}

std::string NcclLibrary::unique_id() {
    UniqueId id;
    check(call<int (*)(UniqueId *)>("ncclGetUniqueId")(&id), "ncclGetUniqueId");
    return {id.internal, sizeof id.internal};
}

void *NcclLibrary::join(const std::string &id, int ranks, int rank, int channels) {
    UniqueId common;
    std::memcpy(common.internal, id.data(), sizeof common.internal);
    auto config = config_of(channels);
    void *communicator = nullptr;
    auto init = call<int (*)(void **, int, UniqueId, int, Config *)>("ncclCommInitRankConfig");
    check(init(&communicator, ranks, common, rank, &config), "ncclCommInitRankConfig");
    return communicator;
}

void NcclLibrary::all_gather(const void *in, void *out, std::size_t elements, void *comm, gpuStream_t stream) {
    using Call = int (*)(const void *, void *, std::size_t, int, void *, gpuStream_t);
    check(call<Call>("ncclAllGather")(in, out, elements, type_bf16, comm, stream), "ncclAllGather");
}

void NcclLibrary::reduce_scatter(const void *in, void *out, std::size_t elements_out, void *comm, gpuStream_t stream) {
    using Call = int (*)(const void *, void *, std::size_t, int, int, void *, gpuStream_t);
    check(call<Call>("ncclReduceScatter")(in, out, elements_out, type_bf16, sum, comm, stream), "ncclReduceScatter");
}

void NcclLibrary::all_reduce(const void *in, void *out, std::size_t elements, void *comm, gpuStream_t stream) {
    using Call = int (*)(const void *, void *, std::size_t, int, int, void *, gpuStream_t);
    check(call<Call>("ncclAllReduce")(in, out, elements, type_bf16, sum, comm, stream), "ncclAllReduce");
}

void NcclLibrary::send(const void *in, std::size_t bytes, int peer, void *comm, gpuStream_t stream) {
    using Call = int (*)(const void *, std::size_t, int, int, void *, gpuStream_t);
    check(call<Call>("ncclSend")(in, bytes, type_int8, peer, comm, stream), "ncclSend");
}

void NcclLibrary::receive(void *out, std::size_t bytes, int peer, void *comm, gpuStream_t stream) {
    using Call = int (*)(void *, std::size_t, int, int, void *, gpuStream_t);
    check(call<Call>("ncclRecv")(out, bytes, type_int8, peer, comm, stream), "ncclRecv");
}

}  // namespace probe
