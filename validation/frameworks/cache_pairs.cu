// Pairs of kernels under a profiler that counts ranges: a reader that lives in L2 beside a copy with and
// without operators, and products of cuBLAS beside copies with and without lines set aside.
//
//     nvcc -O3 -arch=sm_90 -o cache_pairs cache_pairs.cu -lcublas
//     ncu --replay-mode app-range --cache-control none --clock-control none --csv --page raw \
//         --metrics ... ./cache_pairs       one range a case, in the order printed
//
// Without a profiler it prints the median time of each of a pair over eight runs.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    auto code = (call);                                                            \
    if (int(code) != 0) {                                                           \
      fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, int(code));          \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum How { PLAIN, CS, EVICT_FIRST, EVICT_LAST };
constexpr int THREADS = 1024, UNROLL = 4;

template <int H>
__device__ float4 get(const float4* p) {
  float4 v;
  if (H == CS) return __ldcs(p);
  if (H == EVICT_FIRST) {
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                 "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
  }
  if (H == EVICT_LAST) {
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;\n"
                 "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
  }
  return __ldcg(p);
}

template <int H>
__device__ void put(float4* p, float4 v) {
  if (H == CS) __stcs(p, v);
  else if (H == EVICT_FIRST)
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                 "st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, p; }"
                 ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
  else *p = v;
}

// As the probe's stream kernel: the same addresses in every pass, past L1.
template <bool WRITES, int H>
__global__ void __launch_bounds__(THREADS) stream(const float4* a, float4* c, size_t count, int passes) {
  extern __shared__ char claimed[];
  (void)claimed;
  const size_t step = size_t(gridDim.x) * THREADS;
  float4 sum = {0, 0, 0, 0};
  for (int pass = 0; pass < passes; ++pass) {
    size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x;
    for (; i + (UNROLL - 1) * step < count; i += UNROLL * step) {
      float4 x[UNROLL];
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) x[j] = get<H>(a + i + j * step);
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) {
        if (WRITES) put<H>(c + i + j * step, x[j]);
        else sum.x += x[j].x, sum.y += x[j].y, sum.z += x[j].z, sum.w += x[j].w;
      }
    }
    for (; i < count; i += step) {
      float4 x = get<H>(a + i);
      if (WRITES) put<H>(c + i, x);
      else sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
    }
    if (!WRITES) asm volatile("" ::: "memory");
  }
  if (!WRITES && sum.x + sum.y + sum.z + sum.w == 1e30f) c[0] = sum;
}

__global__ void wait_ns(long long ns) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < ns);
}

constexpr size_t MIB = 1 << 20;
cudaStream_t one, two;
float4 *small, *large, *copied, *hosts;
__nv_bfloat16 *a, *b, *c;
cublasHandle_t blas;
using Launch = std::function<void()>;

template <int H>
Launch reader(size_t mib) {
  return [=] { stream<false, H><<<132, THREADS, 0, one>>>(small, copied, mib * MIB / 16, int(2080 / mib)); };
}
template <int H>
Launch copier(size_t mib, int units = 132) {
  return [=] {
    int shared = units < 132 ? 227 * 1024 : 0;
    if (shared) CHECK(cudaFuncSetAttribute(stream<true, H>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    stream<true, H><<<units, THREADS, shared, two>>>(large, copied, mib * MIB / 16, 1);
  };
}
Launch gemm(int n) {
  return [=] {
    float alpha = 1, beta = 0;
    CHECK(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &alpha, a, CUDA_R_16BF, n, b, CUDA_R_16BF, n, &beta, c,
                       CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  };
}
Launch engine(size_t mib) {
  return [=] { CHECK(cudaMemcpyAsync(copied, large, mib * MIB, cudaMemcpyDeviceToDevice, two)); };
}
Launch from_host(size_t mib) {
  return [=] { CHECK(cudaMemcpyAsync(copied, hosts, mib * MIB, cudaMemcpyHostToDevice, two)); };
}

void window(const void* data, size_t bytes) {  // bytes 0: none
  int most = 0, widest = 0;
  CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
  CHECK(cudaDeviceGetAttribute(&widest, cudaDevAttrMaxAccessPolicyWindowSize, 0));
  cudaStreamAttrValue value = {};
  auto& kept = value.accessPolicyWindow;
  kept.base_ptr = const_cast<void*>(data);
  kept.num_bytes = std::min(bytes, size_t(widest));
  kept.hitRatio = bytes ? std::min(1.0f, float(most) / float(kept.num_bytes)) : 0.0f;
  kept.hitProp = bytes ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
  kept.missProp = bytes ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
  CHECK(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &value));
}

void run(const std::string& name, Launch first, Launch second) {
  std::vector<float> times[3];
  for (int turn = 0; turn < 9; ++turn) {  // the first warms up, the last is the range
    if (first) first();
    CHECK(cudaDeviceSynchronize());
    cudaEvent_t gate, begin[2], end[2];
    for (auto* e : {&gate, &begin[0], &begin[1], &end[0], &end[1]}) CHECK(cudaEventCreate(e));
    if (turn == 8) CHECK(cudaProfilerStart());
    wait_ns<<<1, 1, 0, one>>>(200000);
    CHECK(cudaEventRecord(gate, one));
    CHECK(cudaStreamWaitEvent(two, gate, 0));
    CHECK(cudaEventRecord(begin[0], one));
    if (first) first();
    CHECK(cudaEventRecord(end[0], one));
    CHECK(cudaEventRecord(begin[1], two));
    if (second) second();
    CHECK(cudaEventRecord(end[1], two));
    CHECK(cudaDeviceSynchronize());
    if (turn == 8) CHECK(cudaProfilerStop());
    for (int i = 0; i < 2; ++i) {
      float ms;
      CHECK(cudaEventElapsedTime(&ms, gate, end[i]));
      if (turn) times[i].push_back(1e3f * ms);
    }
  }
  for (auto& each : times) std::sort(each.begin(), each.end());
  printf("case,%s,%.1f,%.1f\n", name.c_str(), times[0][4], times[1][4]);
  fflush(stdout);
}

int main() {
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&small, 64 * MIB));
  CHECK(cudaMalloc(&large, 1024 * MIB));
  CHECK(cudaMalloc(&copied, 1024 * MIB));
  CHECK(cudaMallocHost(&hosts, 64 * MIB));
  for (auto* each : {&a, &b, &c}) CHECK(cudaMalloc(each, 8192UL * 8192 * 2));
  std::vector<__nv_bfloat16> values(8192UL * 8192);
  for (size_t i = 0; i < values.size(); ++i) values[i] = __float2bfloat16(float(i * 2654435761u >> 16 & 255) / 128 - 1);
  for (auto* each : {a, b}) CHECK(cudaMemcpy(each, values.data(), values.size() * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(small, 0, 64 * MIB));
  CHECK(cudaMemset(large, 0, 1024 * MIB));
  CHECK(cublasCreate(&blas));
  CHECK(cublasSetStream(blas, one));
  for (size_t mib : {16, 24, 32}) {
    auto m = std::to_string(mib);
    run("reader:" + m, reader<PLAIN>(mib), nullptr);
    run("reader:" + m + " beside copy", reader<PLAIN>(mib), copier<PLAIN>(1024));
    run("reader:" + m + " beside copy cs", reader<PLAIN>(mib), copier<CS>(1024));
    run("reader:" + m + " beside copy evict_first", reader<PLAIN>(mib), copier<EVICT_FIRST>(1024));
    run("reader evict_last:" + m + " beside copy", reader<EVICT_LAST>(mib), copier<PLAIN>(1024));
  }
  run("copy", nullptr, copier<PLAIN>(1024));
  run("copy cs", nullptr, copier<CS>(1024));
  run("copy evict_first", nullptr, copier<EVICT_FIRST>(1024));
  for (int set = 0; set < 3; ++set) {  // nothing; lines set aside; and operand a in them
    std::string how = set == 2 ? " keep" : set == 1 ? " set aside" : "";
    if (set == 1) {
      int most = 0;
      CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
      CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size_t(most)));
    }
    for (int n : {4096, 8192}) {
      if (set == 2) window(a, size_t(n) * n * 2);
      auto m = "gemm:" + std::to_string(n) + how;
      run(m, gemm(n), nullptr);
      run(m + " beside copy of 66", gemm(n), copier<PLAIN>(1024, 66));
      run(m + " beside engine", gemm(n), engine(256));
      run(m + " beside host", gemm(n), from_host(n == 4096 ? 16 : 64));
    }
    run("copy of 66" + how, nullptr, copier<PLAIN>(1024, 66));
    run("engine" + how, nullptr, engine(256));
    run("host" + how, nullptr, from_host(64));
  }
  return 0;
}
