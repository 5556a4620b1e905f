// The vendor's GEMM, opened at run time: cuBLAS or hipBLAS, whose GemmEx calls differ only in the numbers of their enums.
// hipBLAS goes through rocBLAS; main() asks that for hipBLASLt kernels (ROCBLAS_USE_HIPBLASLT).
#pragma once
#include "gpu.h"

namespace probe {

class BlasLibrary {
public:
    BlasLibrary();  // throws MissingLibrary
    const std::string &version() const { return version_; }
    static std::string name();  // cublas or hipblas: whose call it is
    // Row-major C[m,n] = A[m,k] B[n,k]^T, bf16, float accumulation; `units`: compute units to plan for, 0 all.
    void gemm(int gpu, gpuStream_t stream, const void *a, const void *b, void *c, std::int64_t m, std::int64_t n,
              std::int64_t k, int units);

private:
    void *handle(int gpu);
    template <class Function>
    Function call(const char *name, bool required = true) const;
    void *library_ = nullptr;
    std::string version_;
    std::vector<void *> handles_;
};

}  // namespace probe
