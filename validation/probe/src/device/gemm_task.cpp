#include "gemm_task.h"

#include <cmath>

#include "../options.h"
#include "blas.h"
#include "cache_policy.h"
#include "matrix_kernel.h"

namespace probe {

#if defined(__CUDACC__)
std::string vendor_gemm_library() { return "cublas"; }
#else
std::string vendor_gemm_library() { return "hipblaslt"; }
#endif

static std::shared_ptr<BlasLibrary> open_blas() {  // one for all tasks: its handles and workspaces are kept
    static auto library = std::make_shared<BlasLibrary>();
    return library;
}

GemmTask::GemmTask(Node &node, GemmSpec spec, bool log_placement) : node_(node), spec_(spec) {
    if (spec.library != "probe") blas_ = open_blas();
    if (spec.library == "probe" && spec.k % tile_k)
        throw std::invalid_argument("gemm: the probe's own kernel needs K in multiples of " + std::to_string(tile_k));
    if (!spec.keep.empty() && spec.keep != "keep_a" && spec.keep != "keep_b")
        throw UsageError("gemm: +" + spec.keep + ": keep_a or keep_b");
    if (log_placement && spec.library != "probe")
        throw std::invalid_argument("gemm: only the probe's own kernel logs where its workgroups ran");
    for (int gpu = 0; gpu < node.gpus(); ++gpu) {
        lanes_.push_back(node.stream(gpu, spec.high_priority, spec.part));
        a_.push_back(std::make_unique<Buffer>(gpu, spec.m * spec.k * 2));
        b_.push_back(std::make_unique<Buffer>(gpu, spec.n * spec.k * 2));
        c_.push_back(std::make_unique<Buffer>(gpu, spec.m * spec.n * 2));
        fill_bf16(*a_.back(), 1, spec.data);
        fill_bf16(*b_.back(), 2, spec.data);
        if (!spec.keep.empty()) {
            const auto &kept = spec.keep == "keep_a" ? *a_.back() : *b_.back();
            keep_in_cache(lanes_.back(), kept.data(), kept.bytes());
        }
        if (log_placement) log_.push_back(std::make_unique<Buffer>(gpu, grid() * sizeof(Placement)));
    }
}

GemmTask::~GemmTask() = default;

int GemmTask::grid() const {
    if (spec_.persistent) return spec_.units ? spec_.units : node_.compute_units();
    return static_cast<int>((spec_.m + tile_m - 1) / tile_m * ((spec_.n + tile_n - 1) / tile_n));
}

void GemmTask::prepare() {
    for (const auto &each : c_) poison(*each);
}

void GemmTask::submit() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        GPU(gpuSetDevice(lanes_[i].gpu));
        if (blas_)
            blas_->gemm(lanes_[i].gpu, lanes_[i].stream, a_[i]->data(), b_[i]->data(), c_[i]->data(), spec_.m, spec_.n,
                        spec_.k, spec_.units);
        else
            launch_matrix_kernel(*a_[i], *b_[i], *c_[i], spec_.m, spec_.n, spec_.k, grid(),
                                 log_.empty() ? nullptr : log_[i]->data<Placement>(), lanes_[i].stream);
    }
}

void GemmTask::verify() {  // 64 elements spread over C against sums in double precision
    for (const auto &c : c_)
        for (int probe = 0; probe < 64; ++probe) {
            const std::int64_t row = (spec_.m - 1) * (probe / 8) / 7, column = (spec_.n - 1) * (probe % 8) / 7;
            double right = 0, size = 0;
            for (std::int64_t i = 0; i < spec_.k; ++i) {
                const double term = static_cast<double>(value_of(spec_.data, row * spec_.k + i, 1)) *
                                    value_of(spec_.data, column * spec_.k + i, 2);
                right += term, size += std::abs(term);
            }
            std::uint16_t seen = 0;
            GPU(gpuSetDevice(c->gpu()));
            GPU(gpuMemcpy(&seen, c->at((row * spec_.n + column) * 2), 2, gpuMemcpyDefault));
            const double value = from_bf16(seen);
            if (std::abs(value - right) <= std::abs(right) / 128 + size * 1e-5) continue;  // NaN never passes
            throw WrongResult("gemm: C[" + std::to_string(row) + "," + std::to_string(column) + "] on GPU " +
                              std::to_string(c->gpu()) + " is " + std::to_string(value) + ", must be " +
                              std::to_string(right));
        }
}

Json GemmTask::workload() const {
    auto json = Json::object()
                    .set("kind", "gemm")
                    .set("m", spec_.m)
                    .set("n", spec_.n)
                    .set("k", spec_.k)
                    .set("library", spec_.library);
    if (spec_.persistent) json.set("schedule", "persistent");
    if (spec_.units) json.set("workgroups", spec_.units);
    if (kept_) json.set("inputs", "warm");
    if (!spec_.keep.empty()) json.set("cache", Json::object().set(spec_.keep == "keep_a" ? "a" : "b", "keep"));
    if (kept_ && spec_.data != Pattern::random) json.set("data", name_of_data(spec_.data));  // random is what it means left out
    return json;
}

Json GemmTask::streams() const { return stream_json(spec_.high_priority, spec_.part); }

std::vector<std::pair<std::string, std::string>> GemmTask::libraries() const {
    if (!blas_) return {};
    return {{blas_->name(), blas_->version()}};
}

std::vector<Placement> GemmTask::placements() const {
    std::vector<Placement> result(grid());
    GPU(gpuSetDevice(lanes_[0].gpu));
    GPU(gpuMemcpy(result.data(), log_[0]->data(), result.size() * sizeof(Placement), gpuMemcpyDefault));
    return result;
}

}  // namespace probe
