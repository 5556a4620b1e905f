// How long loads wait, as histograms: passes of a reader that lives in L2, single loads that L2 has, and
// single loads that it lacks, beside reads, writes and copies with and without operators, and with and
// without lines set aside.
//
//     nvcc -O3 -arch=sm_90 -o cache_waits cache_waits.cu && ./cache_waits > waits.csv
//
// Lines: kind, what waits, what is beside it, median time of the first [us], of the second [us], loads (or
// passes), and of these the mean, 5, 50, 90, 99 % of the wait [ns].
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    auto code = (call);                                                    \
    if (int(code) != 0) {                                                  \
      fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, int(code)); \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

enum How { PLAIN, FIRST, LAST };
enum What { READ, WRITE, COPY };
constexpr int THREADS = 1024, UNROLL = 4, BINS = 512, STEP = 32;  // cycles of a bin
constexpr size_t MIB = 1 << 20;

template <int H>
__device__ float4 get(const float4* p) {
  float4 v;
  if (H == FIRST)
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                 "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  else if (H == LAST)
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0;\n"
                 "ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], p; }"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  else
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}

template <int H>
__device__ void put(float4* p, float4 v) {
  if (H == FIRST)
    asm volatile("{ .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0;\n"
                 "st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, p; }"
                 ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
  else *p = v;
}

__device__ void count(unsigned* bins, long long cycles) {
  atomicAdd(&bins[min((long long)BINS - 1, cycles / STEP)], 1u);
}

// Reads *count* float4 over and over; each warp waits for UNROLL of its loads and counts how long.
template <int H>
__global__ void __launch_bounds__(THREADS, 2) reader(const float4* a, size_t count_, int passes, unsigned* out) {
  __shared__ unsigned bins[BINS];
  for (int i = threadIdx.x; i < BINS; i += THREADS) bins[i] = 0;
  __syncthreads();
  const size_t step = size_t(gridDim.x) * THREADS;
  float sum = 0;
  for (int pass = 0; pass < passes; ++pass)
    for (size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x; i + (UNROLL - 1) * step < count_; i += UNROLL * step) {
      long long begin = clock64();
      float4 x[UNROLL];
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) x[j] = get<H>(a + i + j * step);
#pragma unroll
      for (int j = 0; j < UNROLL; ++j)
        asm volatile("add.f32 %0, %0, %1;" : "+f"(sum) : "f"(x[j].x + x[j].y + x[j].z + x[j].w));
      long long end = clock64();
      if (threadIdx.x % 32 == 0) count(bins, end - begin + (sum == 1e30f));
    }
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += THREADS) if (bins[i]) atomicAdd(&out[i], bins[i]);
}

// Each line of *a* names another one, by chance.
__global__ void link(unsigned* a, unsigned lines) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < lines; i += size_t(gridDim.x) * blockDim.x)
    a[i * 32] = unsigned((i * 2654435761ull + 12345) % lines);
}

// Loads that wait for each other, by lane 0 of each warp of one workgroup.
__global__ void chase(const unsigned* a, unsigned lines, int loads, unsigned* out) {
  __shared__ unsigned bins[BINS];
  __shared__ volatile unsigned there[32];
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    unsigned at = unsigned((threadIdx.x / 32 * 7919ull + clock64()) % lines);
    for (int i = 0; i < loads; ++i) {
      long long begin = clock64();
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(a + size_t(at) * 32) : "memory");
      there[threadIdx.x / 32] = at;  // waits for it
      long long end = clock64();
      if (i > loads / 4) count(bins, end - begin);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) if (bins[i]) atomicAdd(&out[i], bins[i]);
}

template <int W, int H>
__global__ void __launch_bounds__(THREADS, 2) stream(const float4* a, float4* c, size_t count_, int passes) {
  const size_t step = size_t(gridDim.x) * THREADS;
  float sum = 0;
  for (int pass = 0; pass < passes; ++pass)
    for (size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x; i + (UNROLL - 1) * step < count_; i += UNROLL * step) {
      float4 x[UNROLL] = {};
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) if (W != WRITE) x[j] = get<H>(a + i + j * step);
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) {
        if (W != READ) put<H>(c + i + j * step, x[j]);
        else sum += x[j].x + x[j].y + x[j].z + x[j].w;
      }
    }
  if (W == READ && sum == 1e30f) c[0].x = sum;
}

__global__ void wait_ns(long long ns, double* rate) {
  long long start, now, from = clock64();
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < ns);
  *rate = double(clock64() - from) / double(now - start);  // cycles of a ns
}

cudaStream_t one, two;
float4 *small, *large, *copied;
unsigned *bins, *far, *near_;
double* rate;
using Launch = std::function<void()>;
constexpr int WHOLE = 200 * 1024;  // of shared memory: a unit to itself

template <typename K>
int alone(K kernel, bool own) {
  if (own) CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, WHOLE));
  return own ? WHOLE : 0;
}
template <int H>
Launch reads(size_t mib, int units) {
  return [=] {
    int shared = alone(reader<H>, units < 132);
    reader<H><<<units, THREADS, shared, one>>>(small, mib * MIB / 16, int(2080 / mib * units / 132), bins);
  };
}
Launch chases(const unsigned* a, size_t bytes, int warps, int loads) {
  return [=] {
    int shared = alone(chase, true);
    chase<<<1, 32 * warps, shared, one>>>(a, unsigned(bytes / 128), loads, bins);
  };
}
template <int W, int H>
Launch streams(int units, int passes = 1) {
  return [=] {
    int shared = alone(stream<W, H>, units < 132);
    stream<W, H><<<units, THREADS, shared, two>>>(large, copied, 1024 * MIB / 16, passes);
  };
}
Launch engine() {
  return [=] { for (int i = 0; i < 4; ++i) CHECK(cudaMemcpyAsync(copied, large, 256 * MIB, cudaMemcpyDeviceToDevice, two)); };
}

void run(const std::string& kind, const std::string& first_name, const std::string& second_name, Launch first, Launch second) {
  std::vector<float> times[2];
  std::vector<double> counted(BINS, 0.0);
  double cycles = 0;
  for (int turn = 0; turn < 6; ++turn) {  // the first warms up
    if (first) first();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemset(bins, 0, BINS * sizeof(unsigned)));
    cudaEvent_t gate, begin, end[2];
    for (auto* e : {&gate, &begin, &end[0], &end[1]}) CHECK(cudaEventCreate(e));
    wait_ns<<<1, 1, 0, one>>>(200000, rate);
    CHECK(cudaEventRecord(gate, one));
    CHECK(cudaStreamWaitEvent(two, gate, 0));
    if (kind == "chase" && second) {  // it begins within the stream beside it
      second();
      CHECK(cudaEventRecord(end[1], two));
    }
    if (first) first();
    CHECK(cudaEventRecord(end[0], one));
    if (kind != "chase" && second) {
      second();
      CHECK(cudaEventRecord(end[1], two));
    }
    if (!second) CHECK(cudaEventRecord(end[1], two));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; ++i) {
      float ms;
      CHECK(cudaEventElapsedTime(&ms, gate, end[i]));
      if (turn) times[i].push_back(1e3f * ms);
    }
    std::vector<unsigned> now(BINS);
    CHECK(cudaMemcpy(now.data(), bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    if (turn) for (int i = 0; i < BINS; ++i) counted[i] += now[i];
    CHECK(cudaMemcpy(&cycles, rate, sizeof(double), cudaMemcpyDeviceToHost));
  }
  for (auto& each : times) std::sort(each.begin(), each.end());
  double all = 0, mean = 0, part = 0;
  for (int i = 0; i < BINS; ++i) all += counted[i], mean += counted[i] * (i + 0.5) * STEP / cycles;
  std::vector<double> ends;
  for (double want : {0.05, 0.5, 0.9, 0.99}) {
    part = 0;
    int i = 0;
    for (; i < BINS - 1 && part + counted[i] < want * all; ++i) part += counted[i];
    ends.push_back((i + 0.5) * STEP / cycles);
  }
  printf("%s,%s,%s,%.1f,%.1f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f\n", kind.c_str(), first_name.c_str(), second_name.c_str(),
         times[0][2], second ? times[1][2] : 0.0f, all / 5, all ? mean / all : 0, ends[0], ends[1], ends[2], ends[3]);
  if (kind == "chase" || kind == "reader") {
    printf("bins,%s,%s", first_name.c_str(), second_name.c_str());
    for (int i = 0; i < BINS; ++i) if (counted[i]) printf(",%d:%.0f", int((i + 0.5) * STEP / cycles), counted[i] / 5);
    printf("\n");
  }
  fflush(stdout);
}

int main() {
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&small, 64 * MIB));
  CHECK(cudaMalloc(&large, 1024 * MIB));
  CHECK(cudaMalloc(&copied, 1024 * MIB));
  CHECK(cudaMalloc(&far, 4096 * MIB));
  CHECK(cudaMalloc(&bins, BINS * sizeof(unsigned)));
  CHECK(cudaMalloc(&rate, sizeof(double)));
  CHECK(cudaMemset(small, 0, 64 * MIB));
  CHECK(cudaMemset(large, 0, 1024 * MIB));
  CHECK(cudaMalloc(&near_, 64 << 10));
  link<<<1320, 256>>>(far, unsigned(4096 * MIB / 128));
  link<<<1, 256>>>(near_, (64 << 10) / 128);
  printf("kind,first,second,first_us,second_us,waits,mean_ns,p5_ns,p50_ns,p90_ns,p99_ns\n");
  for (int units : {132, 66}) {
    struct Beside { const char* name; Launch launch; };
    std::vector<Beside> beside = {
        {"", nullptr},
        {"copy", streams<COPY, PLAIN>(units)}, {"copy first", streams<COPY, FIRST>(units)},
        {"read", streams<READ, PLAIN>(units, 2)}, {"read first", streams<READ, FIRST>(units, 2)},
        {"write", streams<WRITE, PLAIN>(units, 2)}, {"write first", streams<WRITE, FIRST>(units, 2)}};
    auto u = std::to_string(units);
    for (auto& each : beside) {
      std::string second = each.launch ? std::string(each.name) + " by " + u : "";
      for (size_t mib : {8, 16, 24, 32}) {
        auto m = std::to_string(mib) + " MiB by " + u;
        run("reader", m, second, reads<PLAIN>(mib, units), each.launch);
        if (each.launch) run("reader", m + " leaves last", second, reads<LAST>(mib, units), each.launch);
      }
      if (each.launch) run("stream", "", second, nullptr, each.launch);
    }
  }
  for (int set = 0; set < 2; ++set) {
    std::string how = set ? " set aside" : "";
    if (set) {
      int most = 0;
      CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
      CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size_t(most)));
    }
    struct Beside { const char* name; Launch launch; };
    std::vector<Beside> beside = {
        {"", nullptr},
        {"copy by 66", streams<COPY, PLAIN>(66, 2)}, {"copy first by 66", streams<COPY, FIRST>(66, 2)},
        {"copy by 16", streams<COPY, PLAIN>(16, 1)}, {"copy by 4", streams<COPY, PLAIN>(4, 1)},
        {"read by 66", streams<READ, PLAIN>(66, 4)}, {"read first by 66", streams<READ, FIRST>(66, 4)},
        {"write by 66", streams<WRITE, PLAIN>(66, 4)}, {"write first by 66", streams<WRITE, FIRST>(66, 4)},
        {"write by 16", streams<WRITE, PLAIN>(16, 1)}, {"write by 4", streams<WRITE, PLAIN>(4, 1)},
        {"engine", engine()}};
    for (auto& each : beside) {
      auto second = each.launch ? std::string(each.name) + how : how;
      run("chase", "in L2 64 KiB", second, chases(near_, 64 << 10, 32, 1200), each.launch);
      run("chase", "in memory 4 GiB", second, chases(far, 4096 * MIB, 8, 600), each.launch);
      if (each.launch) run("stream", "", second, nullptr, each.launch);
    }
  }
  return 0;
}
