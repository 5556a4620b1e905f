// The GPU runtime calls the probe uses, under one name each: hip* when compiled as HIP, cuda* when compiled by nvcc.
// Nothing else in the probe names a vendor's runtime.
#pragma once
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__CUDACC__)
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#define GPU_NAME(name) cuda##name
#define GPU_BACKEND "cuda"
#elif defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GPU_NAME(name) hip##name
#define GPU_BACKEND "hip"
#else
#error "compile with nvcc, hipcc or clang -x hip"
#endif

using gpuError_t = GPU_NAME(Error_t);
using gpuStream_t = GPU_NAME(Stream_t);
using gpuEvent_t = GPU_NAME(Event_t);
#if defined(__CUDACC__)
using gpuDeviceProp = cudaDeviceProp;
#else
using gpuDeviceProp = hipDeviceProp_t;
#endif

#define gpuSuccess GPU_NAME(Success)
#define gpuErrorPeerAccessAlreadyEnabled GPU_NAME(ErrorPeerAccessAlreadyEnabled)
#define gpuGetErrorName GPU_NAME(GetErrorName)
#define gpuGetErrorString GPU_NAME(GetErrorString)
#define gpuGetLastError GPU_NAME(GetLastError)
#define gpuGetDeviceCount GPU_NAME(GetDeviceCount)
#define gpuGetDeviceProperties GPU_NAME(GetDeviceProperties)
#define gpuSetDevice(gpu) GPU_NAME(SetDevice)(::probe::first_gpu() + (gpu))
#define gpuDeviceSynchronize GPU_NAME(DeviceSynchronize)
#define gpuDeviceGetPCIBusId GPU_NAME(DeviceGetPCIBusId)
#define gpuDeviceCanAccessPeer GPU_NAME(DeviceCanAccessPeer)
#define gpuDeviceEnablePeerAccess GPU_NAME(DeviceEnablePeerAccess)
#define gpuDeviceGetStreamPriorityRange GPU_NAME(DeviceGetStreamPriorityRange)
#define gpuRuntimeGetVersion GPU_NAME(RuntimeGetVersion)
#define gpuMalloc GPU_NAME(Malloc)
#define gpuFree GPU_NAME(Free)
#define gpuHostMalloc GPU_NAME(HostAlloc)
#define gpuHostMallocPortable GPU_NAME(HostAllocPortable)
#define gpuHostMallocMapped GPU_NAME(HostAllocMapped)
#define gpuMemcpy GPU_NAME(Memcpy)
#define gpuMemcpyAsync GPU_NAME(MemcpyAsync)
#define gpuMemcpyPeerAsync GPU_NAME(MemcpyPeerAsync)
#define gpuMemcpyDefault GPU_NAME(MemcpyDefault)
#define gpuMemsetAsync GPU_NAME(MemsetAsync)
#define gpuIpcMemHandle_t GPU_NAME(IpcMemHandle_t)
#define gpuIpcGetMemHandle GPU_NAME(IpcGetMemHandle)
#define gpuIpcOpenMemHandle GPU_NAME(IpcOpenMemHandle)
#define gpuIpcCloseMemHandle GPU_NAME(IpcCloseMemHandle)
#define gpuIpcMemLazyEnablePeerAccess GPU_NAME(IpcMemLazyEnablePeerAccess)
#define gpuStreamCreateWithPriority GPU_NAME(StreamCreateWithPriority)
#define gpuStreamNonBlocking GPU_NAME(StreamNonBlocking)
#define gpuStreamSynchronize GPU_NAME(StreamSynchronize)
#define gpuStreamWaitEvent GPU_NAME(StreamWaitEvent)
#define gpuEventCreate GPU_NAME(EventCreate)
#define gpuEventDestroy GPU_NAME(EventDestroy)
#define gpuEventRecord GPU_NAME(EventRecord)
#define gpuEventSynchronize GPU_NAME(EventSynchronize)
#define gpuEventElapsedTime GPU_NAME(EventElapsedTime)
#define gpuFuncSetAttribute GPU_NAME(FuncSetAttribute)
#define gpuFuncAttributeMaxDynamicSharedMemorySize GPU_NAME(FuncAttributeMaxDynamicSharedMemorySize)
#if !defined(__CUDACC__)
#undef gpuHostMalloc
#undef gpuHostMallocPortable
#undef gpuHostMallocMapped
#define gpuHostMalloc hipHostMalloc
#define gpuHostMallocPortable hipHostMallocPortable
#define gpuHostMallocMapped hipHostMallocMapped
#endif

namespace probe {

// GPU 0 of the probe is this one of the runtime: not 0 where a process drives one of the several GPUs that it sees.
constexpr const char *first_gpu_variable = "PROBE_FIRST_GPU";
inline int first_gpu() {
    static const int first = std::getenv(first_gpu_variable) ? std::atoi(std::getenv(first_gpu_variable)) : 0;
    return first;
}

struct GpuError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct MissingLibrary : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct WrongResult : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check(gpuError_t status, const char *call, const char *file, int line) {
    if (status == gpuSuccess) return;
    throw GpuError(std::string(call) + ": " + gpuGetErrorName(status) + ", " + gpuGetErrorString(status) + " (" + file +
                   ":" + std::to_string(line) + ")");
}
#define GPU(call) ::probe::check((call), #call, __FILE__, __LINE__)

#if defined(__CUDACC__)
constexpr int wave_size = 32;
// The driver's calls that the runtime does not offer are looked up in the driver itself, so that linking needs no stub.
template <class Function>
Function driver_call(const char *name) {
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    auto *call = driver ? dlsym(driver, name) : nullptr;
    if (!call) throw MissingLibrary(std::string("the driver offers no ") + name);
    return reinterpret_cast<Function>(call);
}
inline void check_driver(CUresult status, const char *call) {
    if (status == CUDA_SUCCESS) return;
    throw GpuError(std::string(call) + ": driver error " + std::to_string(static_cast<int>(status)));
}
#else
constexpr int wave_size = 64;
#endif

#if defined(__CUDACC__)
__device__ inline std::uint64_t device_clock_ns() {  // one clock for all compute units of a GPU
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
__device__ inline int compute_unit_id() {
    unsigned id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return static_cast<int>(id);
}
#else
__device__ inline std::uint64_t device_clock_ns() { return __builtin_amdgcn_s_memrealtime() * 10; }  // 100 MHz on gfx94x
// HW_ID (register 4): CU in bits 8-11, shader array 12, shader engine 13-15; XCC_ID (register 20): die.
// CDNA3 ISA reference, sections on S_GETREG_B32 and hardware registers.
__device__ inline int compute_unit_id() {
    unsigned place = __builtin_amdgcn_s_getreg(4 | (0 << 6) | (31 << 11));
    unsigned die = __builtin_amdgcn_s_getreg(20 | (0 << 6) | (31 << 11)) & 0xf;
    return static_cast<int>((die << 8) | ((place >> 8) & 0xff));
}
#endif

}  // namespace probe
