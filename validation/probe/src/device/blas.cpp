#include "blas.h"

#include <cstdlib>

namespace probe {

#if defined(__CUDACC__)
#define BLAS "cublas"
constexpr const char *names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
constexpr const char *create_name = "cublasCreate_v2", *stream_name = "cublasSetStream_v2";
constexpr const char *variable = "PROBE_CUBLAS";
constexpr int transposed = 1, plain = 0, bf16 = 14, compute_f32 = 68, any_algorithm = -1;  // library_types.h, cublas_api.h
#else
#define BLAS "hipblas"
constexpr const char *names[] = {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so"};
constexpr const char *create_name = "hipblasCreate", *stream_name = "hipblasSetStream";
constexpr const char *variable = "PROBE_HIPBLAS";
// hipblas.h: HIPBLAS_OP_T, HIPBLAS_OP_N; of hipblasGemmEx_v2: HIP_R_16BF and HIPBLAS_COMPUTE_32F; HIPBLAS_GEMM_DEFAULT
constexpr int transposed = 112, plain = 111, bf16 = 14, compute_f32 = 2, any_algorithm = 160;
#endif

static void check_blas(int status, const char *what) {
    if (status != 0) throw GpuError(std::string(what) + ": status " + std::to_string(status));
}

std::string BlasLibrary::name() { return BLAS; }

BlasLibrary::BlasLibrary() {
    const char *given = std::getenv(variable);
    if (given) library_ = dlopen(given, RTLD_NOW);
    for (const char *name : names)
        if (!library_) library_ = dlopen(name, RTLD_NOW);
    if (!library_)
        throw MissingLibrary(std::string("no ") + names[0] + " (nor an older one) found; put its folder into " +
                             "LD_LIBRARY_PATH or its path into " + variable);
#if defined(__CUDACC__)
    auto property = call<int (*)(int, int *)>("cublasGetProperty");
    int major = 0, minor = 0, patch = 0;
    property(0, &major), property(1, &minor), property(2, &patch);
    version_ = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
#else
    version_ = "unknown";
    if (auto git = call<int (*)(char *, std::size_t)>("hipblasGetGitRevision", false)) {
        char text[64] = {};
        if (git(text, sizeof text) == 0) version_ = text;
    }
#endif
}

template <class Function>
Function BlasLibrary::call(const char *name, bool required) const {
    auto *found = dlsym(library_, name);
    if (!found && required) throw MissingLibrary(std::string("the GEMM library offers no ") + name);
    return reinterpret_cast<Function>(found);
}

void *BlasLibrary::handle(int gpu) {
    if (handles_.size() <= static_cast<std::size_t>(gpu)) handles_.resize(gpu + 1, nullptr);
    if (!handles_[gpu]) {
        GPU(gpuSetDevice(gpu));
        check_blas(call<int (*)(void **)>(create_name)(&handles_[gpu]), create_name);
    }
    return handles_[gpu];
}

void BlasLibrary::gemm(int gpu, gpuStream_t stream, const void *a, const void *b, void *c, std::int64_t m, std::int64_t n,
                       std::int64_t k, int units) {
    using GemmEx = int (*)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                           const void *, void *, int, int, int, int);
    GPU(gpuSetDevice(gpu));
    auto *handle = this->handle(gpu);
    check_blas(call<int (*)(void *, gpuStream_t)>(stream_name)(handle, stream), stream_name);
#if defined(__CUDACC__)
    check_blas(call<int (*)(void *, int)>("cublasSetSmCountTarget")(handle, units), "cublasSetSmCountTarget");
    auto gemm_ex = call<GemmEx>("cublasGemmEx");
#else
    if (units) throw MissingLibrary("hipBLAS takes no number of compute units; use a partition instead");
    auto gemm_ex = call<GemmEx>("hipblasGemmEx_v2", false);
    if (!gemm_ex) gemm_ex = call<GemmEx>("hipblasGemmEx");  // from hipBLAS 3 on the same signature
#endif
    const float one = 1, zero = 0;
    check_blas(gemm_ex(handle, transposed, plain, static_cast<int>(n), static_cast<int>(m), static_cast<int>(k), &one, b,
                       bf16, static_cast<int>(k), a, bf16, static_cast<int>(k), &zero, c, bf16, static_cast<int>(n),
                       compute_f32, any_algorithm),
               "GemmEx");
}

}  // namespace probe
