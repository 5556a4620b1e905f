// C[M,N] = A[M,K] B[K,N] in bf16 with float accumulation, on every GPU; B is stored with K contiguous.
#pragma once
#include <memory>

#include "task.h"

namespace probe {

struct GemmSpec {
    std::int64_t m = 0, n = 0, k = 0;
    std::string library;      // probe: own kernel; else the vendor's, opened at run time
    int units = 0;            // compute units the library is told to plan for, or the persistent grid; 0: all
    bool persistent = false;  // own kernel only: a grid of `units` workgroups instead of one per tile
    bool high_priority = false;
    Partition part;           // compute units its stream may use
    Pattern data = Pattern::fraction;
    std::string keep;         // keep_a, keep_b: operand for which a part of the last cache is set aside
};

class BlasLibrary;

struct Placement {  // where and when one workgroup ran
    std::int32_t unit;
    std::uint64_t start_ns, end_ns;
};

class GemmTask : public Task {
public:
    GemmTask(Node &node, GemmSpec spec, bool log_placement = false);
    ~GemmTask() override;
    void prepare() override;
    void submit() override;
    void verify() override;
    Json workload() const override;
    Json streams() const override;
    std::vector<std::pair<std::string, std::string>> libraries() const override;
    std::vector<Placement> placements() const;  // of the last run on the first GPU

private:
    Node &node_;
    GemmSpec spec_;
    std::vector<std::unique_ptr<Buffer>> a_, b_, c_, log_;
    std::shared_ptr<BlasLibrary> blas_;
    int grid() const;
};

std::string vendor_gemm_library();  // cublas or hipblaslt: as records call it

}  // namespace probe
