#include "node.h"

#include <cstring>

namespace probe {

Node::Node(int gpus) {
    int present = 0;
    auto status = gpuGetDeviceCount(&present);
    if (status != gpuSuccess || present == 0)
        throw NoDevice(std::string("no GPU: ") + (status == gpuSuccess ? "none found" : gpuGetErrorString(status)) + " (" +
                       gpuGetErrorName(status) + ")");
    present -= first_gpu();
    if (gpus > present)
        throw NoDevice("asked for " + std::to_string(gpus) + " GPUs, found " + std::to_string(present));
    properties_.resize(gpus ? gpus : present);
    for (int gpu = 0; gpu < this->gpus(); ++gpu) {
        GPU(gpuGetDeviceProperties(&properties_[gpu], first_gpu() + gpu));
        char id[32] = {};
        GPU(gpuDeviceGetPCIBusId(id, sizeof id, first_gpu() + gpu));
        pci_.push_back(id);
    }
    machine_ = std::make_unique<Machine>(pci_);
}

static std::string dotted(int version, int major, int minor) {
    return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

std::string Node::runtime_version() const {
    int version = 0;
    GPU(gpuRuntimeGetVersion(&version));
#if defined(__CUDACC__)
    return "CUDA " + dotted(version, 1000, 10);
#else
    return "HIP " + dotted(version, 10000000, 100000);
#endif
}

std::string Node::compiler_version() const {
#if defined(__CUDACC__)
    return "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
           std::to_string(__CUDACC_VER_BUILD__);
#else
    return std::string("clang ") + __clang_version__;
#endif
}

void Node::enable_peer_access() {
    for (int gpu = 0; gpu < gpus(); ++gpu)
        for (int peer = 0; peer < gpus(); ++peer) {
            if (gpu == peer) continue;
            int possible = 0;
            GPU(gpuDeviceCanAccessPeer(&possible, gpu, peer));
            if (!possible)
                throw GpuError("GPU " + std::to_string(gpu) + " has no access to the memory of GPU " +
                               std::to_string(peer));
            GPU(gpuSetDevice(gpu));
            auto status = gpuDeviceEnablePeerAccess(peer, 0);
            if (status == gpuErrorPeerAccessAlreadyEnabled)
                (void)gpuGetLastError();
            else
                GPU(status);
        }
}

#if defined(__CUDACC__)
static gpuStream_t partition_stream(int gpu, Partition part, int units, int priority) {
    auto get = driver_call<CUresult (*)(CUdevice, CUdevResource *, CUdevResourceType)>("cuDeviceGetDevResource");
    auto split = driver_call<CUresult (*)(CUdevResource *, unsigned *, const CUdevResource *, CUdevResource *, unsigned,
                                          unsigned)>("cuDevSmResourceSplitByCount");
    auto generate = driver_call<CUresult (*)(CUdevResourceDesc *, CUdevResource *, unsigned)>("cuDevResourceGenerateDesc");
    auto create = driver_call<CUresult (*)(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned)>("cuGreenCtxCreate");
    auto open = driver_call<CUresult (*)(CUstream *, CUgreenCtx, unsigned, int)>("cuGreenCtxStreamCreate");
    CUdevResource all, taken, rest;
    check_driver(get(gpu, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
    unsigned groups = 1;
    const bool from_start = part.first == 0;  // one cut: the units before it, or those after it
    check_driver(split(&taken, &groups, &all, &rest, 0, from_start ? part.units : part.first),
                 "cuDevSmResourceSplitByCount");
    CUdevResource &mine = from_start ? taken : rest;
    if (static_cast<int>(mine.sm.smCount) != part.units)
        throw GpuError("a partition of " + std::to_string(part.units) + " of " + std::to_string(units) +
                       " compute units is not possible here; the nearest has " + std::to_string(mine.sm.smCount));
    CUdevResourceDesc description;
    check_driver(generate(&description, &mine, 1), "cuDevResourceGenerateDesc");
    CUgreenCtx context;
    check_driver(create(&context, description, gpu, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
    CUstream stream;
    check_driver(open(&stream, context, CU_STREAM_NON_BLOCKING, priority), "cuGreenCtxStreamCreate");
    return stream;
}
#else
static gpuStream_t partition_stream(int, Partition part, int units, int) {
    std::vector<std::uint32_t> mask((units + 31) / 32, 0);
    for (int unit = part.first; unit < part.first + part.units && unit < units; ++unit) mask[unit / 32] |= 1u << unit % 32;
    gpuStream_t stream;
    GPU(hipExtStreamCreateWithCUMask(&stream, mask.size(), mask.data()));
    return stream;
}
#endif

Lane Node::stream(int gpu, bool high_priority, Partition part) {
    GPU(gpuSetDevice(gpu));
    int low = 0, high = 0;
    GPU(gpuDeviceGetStreamPriorityRange(&low, &high));
    if (part.units) return {gpu, partition_stream(gpu, part, compute_units(), high_priority ? high : low)};
    gpuStream_t stream;
    GPU(gpuStreamCreateWithPriority(&stream, gpuStreamNonBlocking, high_priority ? high : low));
    return {gpu, stream};
}

Json Identity::json() const {
    return Json::object()
        .set("name", name)
        .set("compute_units", compute_units)
        .set("memory_bytes", memory_bytes)
        .set("l2_bytes", l2_bytes)
        .set("pci", pci);
}

Identity Node::identity(int gpu) const {
    const auto &properties = properties_[gpu];
    Identity it;
    std::strncpy(it.name, properties.name, sizeof it.name - 1);
    std::strncpy(it.pci, pci_[gpu].c_str(), sizeof it.pci - 1);
    it.compute_units = properties.multiProcessorCount;
    it.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    it.l2_bytes = static_cast<std::int64_t>(properties.l2CacheSize);
    return it;
}

Json describe_machine(const std::vector<Identity> &gpus, const Node &node) {
    Json list = Json::array();
    for (const auto &each : gpus) list.push(each.json());
    auto json = Json::object().set("gpus", list);
    if (!node.driver_version().empty()) json.set("driver", node.driver_version());
    return json.set("runtime", node.runtime_version()).set("compiler", node.compiler_version());
}

Json Node::describe() const {
    std::vector<Identity> gpus;
    for (int gpu = 0; gpu < this->gpus(); ++gpu) gpus.push_back(identity(gpu));
    return describe_machine(gpus, *this);
}

Mapping parse_mapping(const std::string &text) {
    if (text == "malloc") return Mapping::malloc;
    if (text == "peer") return Mapping::peer;
    if (text == "vmm") return Mapping::vmm;
    throw std::invalid_argument("--mapping " + text + ": malloc, peer or vmm");
}

#if defined(__CUDACC__)
static CUmemAllocationProp memory_of(int gpu) {
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = gpu;
    return kind;
}

static void *map_memory(int gpu, std::size_t bytes, int gpus, std::size_t &mapped, std::uint64_t &handle) {
    auto granularity = driver_call<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
    auto create = driver_call<decltype(&cuMemCreate)>("cuMemCreate");
    auto reserve = driver_call<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
    auto map = driver_call<decltype(&cuMemMap)>("cuMemMap");
    auto access = driver_call<decltype(&cuMemSetAccess)>("cuMemSetAccess");
    auto kind = memory_of(gpu);
    std::size_t grain = 0;
    check_driver(granularity(&grain, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), "cuMemGetAllocationGranularity");
    mapped = (bytes + grain - 1) / grain * grain;
    CUmemGenericAllocationHandle memory;
    CUdeviceptr address;
    check_driver(create(&memory, mapped, &kind, 0), "cuMemCreate");
    check_driver(reserve(&address, mapped, grain, 0, 0), "cuMemAddressReserve");
    check_driver(map(address, mapped, 0, memory, 0), "cuMemMap");
    std::vector<CUmemAccessDesc> rights(gpus);
    for (int each = 0; each < gpus; ++each) {
        rights[each].location = memory_of(each).location;
        rights[each].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    check_driver(access(address, mapped, rights.data(), rights.size()), "cuMemSetAccess");
    handle = memory;
    return reinterpret_cast<void *>(address);
}

static void unmap_memory(void *data, std::size_t mapped, std::uint64_t handle) {
    auto address = reinterpret_cast<CUdeviceptr>(data);
    driver_call<decltype(&cuMemUnmap)>("cuMemUnmap")(address, mapped);
    driver_call<decltype(&cuMemAddressFree)>("cuMemAddressFree")(address, mapped);
    driver_call<decltype(&cuMemRelease)>("cuMemRelease")(handle);
}
#else
static void *map_memory(int, std::size_t, int, std::size_t &, std::uint64_t &) {
    throw GpuError("--mapping vmm: this runtime's virtual memory calls are not used by the probe");
}
static void unmap_memory(void *, std::size_t, std::uint64_t) {}
#endif

Buffer::Buffer(int gpu, std::size_t bytes, Mapping mapping, int gpus) : gpu_(gpu), bytes_(bytes), mapping_(mapping) {
    if (gpu < 0) {
        GPU(gpuHostMalloc(&data_, bytes, gpuHostMallocPortable | gpuHostMallocMapped));
        return;
    }
    GPU(gpuSetDevice(gpu));
    if (mapping == Mapping::vmm)
        data_ = map_memory(gpu, bytes, gpus, mapped_, handle_);
    else
        GPU(gpuMalloc(&data_, bytes));
}

Buffer::~Buffer() {  // errors here would hide the one that ended the measurement
    if (gpu_ < 0) {
#if defined(__CUDACC__)
        (void)cudaFreeHost(data_);
#else
        (void)hipHostFree(data_);
#endif
    } else if (mapping_ == Mapping::vmm) {
        unmap_memory(data_, mapped_, handle_);
    } else {
        (void)gpuFree(data_);
    }
}

}  // namespace probe
