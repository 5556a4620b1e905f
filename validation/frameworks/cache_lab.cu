// Kernels with the loop nests of c3sim/cachelab/nests.py, for one GPU under a profiler.
//
//     nvcc -O3 -arch=sm_90 -o cache_lab cache_lab.cu
//     ncu --replay-mode application --cache-control none --clock-control none -k regex:^lab_ \
//         --csv --page raw --metrics ... ./cache_lab CASES     one line a launch, in order
//
// Each line of CASES: name, kernel, load (plain, cg, cs), and its numbers. It runs twice: cold, behind
// a read of 512 MiB, and at once again; five times if its name begins with often. Without a profiler it
// prints the time of the last. A marked product runs once, without a profiler, and prints a line for each
// workgroup: when it began, had gone a quarter, half, three quarters of K, ended (ns); its unit.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t e = (call);                                                      \
    if (e != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum Load { PLAIN, CG, CS };

template <int L, typename T>
__device__ T get(const T* p) {
  if (L == CG) return __ldcg(p);
  if (L == CS) return __ldcs(p);
  return *p;
}

// 1024 elements a workgroup; backward reads three tensors.
template <int L, int READS>
__global__ void lab_activation(const float4* a, float4* y, long n4) {
  long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= n4) return;
  float4 s = get<L>(a + i);
  for (int r = 1; r < READS; r++) {
    float4 t = get<L>(a + r * n4 + i);
    s.x += t.x; s.y += t.y; s.z += t.z; s.w += t.w;
  }
  y[i] = make_float4(fmaxf(s.x, 0), fmaxf(s.y, 0), fmaxf(s.z, 0), fmaxf(s.w, 0));
}

__device__ float reduce(float v, float* shared, int threads) {
  shared[threadIdx.x] = v;
  __syncthreads();
  for (int s = threads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
    __syncthreads();
  }
  float r = shared[0];
  __syncthreads();
  return r;
}

// A workgroup a row of c elements: three passes.
template <int L>
__global__ void lab_softmax(const float* x, float* y, int c) {
  __shared__ float shared[256];
  const float* row = x + (long)blockIdx.x * c;
  float m = 0, sum = 0;
  for (int i = threadIdx.x; i < c; i += 256) m += fabsf(get<L>(row + i));
  m = reduce(m, shared, 256);
  for (int i = threadIdx.x; i < c; i += 256) sum += __expf(get<L>(row + i) - m);
  sum = reduce(sum, shared, 256);
  for (int i = threadIdx.x; i < c; i += 256)
    y[(long)blockIdx.x * c + i] = __expf(get<L>(row + i) - m) / sum;
}

// A workgroup a channel of n images of plane elements: sums, then all again.
template <int L>
__global__ void lab_batch_norm(const float* x, float* y, int n, int c, int plane) {
  __shared__ float shared[1024];
  float sum = 0;
  for (int i = 0; i < n; i++) {
    const float* p = x + ((long)i * c + blockIdx.x) * plane;
    for (int j = threadIdx.x; j < plane; j += 1024) sum += get<L>(p + j);
  }
  sum = reduce(sum, shared, 1024);
  for (int i = 0; i < n; i++) {
    long at = ((long)i * c + blockIdx.x) * plane;
    for (int j = threadIdx.x; j < plane; j += 1024) y[at + j] = get<L>(x + at + j) - sum;
  }
}

// 256 pixels a workgroup, sliding over channels, window 5.
template <int L>
__global__ void lab_lrn(const float* x, float* y, float* scale, int c, int plane, int pieces) {
  int image = blockIdx.x / pieces, pixel = blockIdx.x % pieces * 256 + threadIdx.x;
  if (pixel >= plane) return;
  long base = (long)image * c * plane + pixel;
  float s = get<L>(x + base) + get<L>(x + base + plane);
  for (int k = 0; k < c; k++) {
    float in = k + 2 < c ? get<L>(x + base + (long)(k + 2) * plane) : 0;
    float out = k - 3 >= 0 ? get<L>(x + base + (long)(k - 3) * plane) : 0;
    s += in * in - out * out;
    y[base + (long)k * plane] = in * rsqrtf(fabsf(s) + 1);
    scale[base + (long)k * plane] = s;
  }
}

// 256 results a workgroup, window 3, stride 2.
template <int L>
__global__ void lab_pooling(const float* x, float* y, int h, int w, int oh, int ow, long pooled) {
  long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= pooled) return;
  long image = i / (oh * ow);
  int row = i / ow % oh, column = i % ow;
  float m = -1e30f;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      m = fmaxf(m, get<L>(x + (image * h + row * 2 + a) * w + column * 2 + b));
  y[i] = m;
}

template <int L>
__global__ void lab_pooling_backward(const float* x, const float* y, const float* dy, float* dx,
                                     int h, int w, int oh, int ow, long size) {
  long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= size) return;
  long image = i / (h * w);
  int row = i / w % h, column = i % w;
  float own = get<L>(x + i), s = 0;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      int r = row / 2 - a, c = column / 2 - b;
      if (r < 0 || r >= oh || row - 2 * r >= 3 || c < 0 || c >= ow || column - 2 * c >= 3) continue;
      long at = (image * oh + r) * ow + c;
      float result = get<L>(y + at), gradient = get<L>(dy + at);
      s += result == own ? gradient : 0.5f * gradient;
    }
  dx[i] = s;
}

// C[m, n] = A[m, k] B, tiles of 64 x 64, slices of 32; ROWS: B is [k, n], else [n, k].
template <int L, bool ROWS>
__global__ void lab_product(const float* A, const float* B, float* C, int m, int n, int k) {
  __shared__ float a[32][65], b[32][65];
  int columns = n / 64, i = blockIdx.x / columns * 64, j = blockIdx.x % columns * 64;
  int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  float c[4][4] = {};
  for (int part = 0; part < k; part += 32) {
    for (int e = threadIdx.x; e < 2048; e += 256) {
      a[e % 32][e / 32] = get<L>(A + (long)(i + e / 32) * k + part + e % 32);
      if (ROWS) b[e / 64][e % 64] = get<L>(B + (long)(part + e / 64) * n + j + e % 64);
      else b[e % 32][e / 32] = get<L>(B + (long)(j + e / 32) * k + part + e % 32);
    }
    __syncthreads();
    for (int z = 0; z < 32; z++)
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) c[p][q] += a[z][ty + 16 * p] * b[z][tx + 16 * q];
    __syncthreads();
  }
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) C[(long)(i + ty + 16 * p) * n + j + tx + 16 * q] = c[p][q];
}

// 1024 elements a workgroup, once.
template <int L>
__global__ void lab_read(const float4* a, float4* y, long n4) {
  long i = blockIdx.x * 256L + threadIdx.x;
  if (i >= n4) return;
  float4 s = get<L>(a + i);
  if (s.x + s.y + s.z + s.w == 1e30f) y[0] = s;
}

// The same addresses by the same units each time: one workgroup of 1024 threads on each.
template <int L>
__global__ void lab_read_fixed(const float4* a, float4* y, long n4) {
  float4 s = make_float4(0, 0, 0, 0);
  const long step = gridDim.x * 1024L;
  for (long i = blockIdx.x * 1024L + threadIdx.x; i < n4; i += step) {
    float4 t = get<L>(a + i);
    s.x += t.x; s.y += t.y; s.z += t.z; s.w += t.w;
  }
  if (s.x + s.y + s.z + s.w == 1e30f) y[0] = s;
}

__global__ void lab_fill(float4* y, long n4) {
  long i = blockIdx.x * 256L + threadIdx.x;
  if (i < n4) y[i] = make_float4(1, 1, 1, 1);
}

// lab_product, and when each workgroup begins, has gone a quarter of K, ..., ends; and its unit.
template <int L, bool ROWS>
__global__ void marked_product(const float* A, const float* B, float* C, int m, int n, int k, long long* marks) {
  __shared__ float a[32][65], b[32][65];
  int columns = n / 64, i = blockIdx.x / columns * 64, j = blockIdx.x % columns * 64;
  int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  float c[4][4] = {};
  long long now;
  int unit;
  for (int part = 0; part < k; part += 32) {
    if (threadIdx.x == 0 && part * 4 % k < 128) {
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
      marks[blockIdx.x * 6L + part * 4L / k] = now;
    }
    for (int e = threadIdx.x; e < 2048; e += 256) {
      a[e % 32][e / 32] = get<L>(A + (long)(i + e / 32) * k + part + e % 32);
      if (ROWS) b[e / 64][e % 64] = get<L>(B + (long)(part + e / 64) * n + j + e % 64);
      else b[e % 32][e / 32] = get<L>(B + (long)(j + e / 32) * k + part + e % 32);
    }
    __syncthreads();
    for (int z = 0; z < 32; z++)
      for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) c[p][q] += a[z][ty + 16 * p] * b[z][tx + 16 * q];
    __syncthreads();
  }
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) C[(long)(i + ty + 16 * p) * n + j + tx + 16 * q] = c[p][q];
  if (threadIdx.x == 0) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    asm volatile("mov.u32 %0, %smid;" : "=r"(unit));
    marks[blockIdx.x * 6L + 4] = now;
    marks[blockIdx.x * 6L + 5] = unit;
  }
}

__global__ void other(const float4* x, float* y, long n4) {
  float s = 0;
  for (long i = blockIdx.x * 256L + threadIdx.x; i < n4; i += gridDim.x * 256L) s += x[i].x;
  if (s == 12345.0f) *y = s;
}

template <int L>
void launch(const std::string& kind, const std::vector<long>& v, float* d) {
  if (kind == "activation" || kind == "activation-backward") {
    long n4 = v[0] / 4, blocks = (n4 + 255) / 256;
    float4* a = (float4*)d;
    if (kind == "activation") lab_activation<L, 1><<<blocks, 256>>>(a, a + n4, n4);
    else lab_activation<L, 3><<<blocks, 256>>>(a, a + 3 * n4, n4);
  } else if (kind == "read") {
    long n4 = v[0] / 4;
    lab_read<L><<<(n4 + 255) / 256, 256>>>((float4*)d, (float4*)d + n4, n4);
  } else if (kind == "read-fixed") {
    lab_read_fixed<L><<<132, 1024>>>((float4*)d, (float4*)d + v[0] / 4, v[0] / 4);
  } else if (kind == "fill") {
    lab_fill<<<(v[0] / 4 + 255) / 256, 256>>>((float4*)d, v[0] / 4);
  } else if (kind == "marked") {
    long m = v[0], n = v[1], k = v[2], groups = m / 64 * (n / 64);
    float *b = d + m * k, *c = b + n * k;
    long long* marks;
    CHECK(cudaMalloc(&marks, groups * 48));
    marked_product<L, true><<<groups, 256>>>(d, b, c, m, n, k, marks);
    std::vector<long long> kept(groups * 6);
    CHECK(cudaMemcpy(kept.data(), marks, groups * 48, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(marks));
    long long first = kept[0];
    for (long i = 0; i < groups; i++) first = std::min(first, kept[6 * i]);
    for (long i = 0; i < groups; i++) {
      printf("mark,%ldx%ldx%ld,%ld", m, n, k, i);
      for (int j = 0; j < 5; j++) printf(",%lld", kept[6 * i + j] - first);
      printf(",%lld\n", kept[6 * i + 5]);
    }
  } else if (kind == "softmax") {
    lab_softmax<L><<<v[0], 256>>>(d, d + v[0] * v[1], v[1]);
  } else if (kind == "batch_norm") {
    lab_batch_norm<L><<<v[1], 1024>>>(d, d + v[0] * v[1] * v[2], v[0], v[1], v[2]);
  } else if (kind == "lrn") {
    long size = v[0] * v[1] * v[2], pieces = (v[2] + 255) / 256;
    lab_lrn<L><<<v[0] * pieces, 256>>>(d, d + size, d + 2 * size, v[1], v[2], pieces);
  } else if (kind == "pooling" || kind == "pooling-backward") {
    long h = v[1], w = v[2], oh = (h - 3) / 2 + 1, ow = (w - 3) / 2 + 1;
    long size = v[0] * h * w, pooled = v[0] * oh * ow;
    float* y = d + (size + 1023) / 1024 * 1024;
    float* dy = y + (pooled + 1023) / 1024 * 1024;
    float* dx = dy + (pooled + 1023) / 1024 * 1024;
    if (kind == "pooling") lab_pooling<L><<<(pooled + 255) / 256, 256>>>(d, y, h, w, oh, ow, pooled);
    else lab_pooling_backward<L><<<(size + 255) / 256, 256>>>(d, y, dy, dx, h, w, oh, ow, size);
  } else if (kind == "product" || kind == "product-transposed") {
    long m = v[0], n = v[1], k = v[2];
    float *b = d + m * k, *c = b + n * k;
    if (kind == "product") lab_product<L, true><<<m / 64 * (n / 64), 256>>>(d, b, c, m, n, k);
    else lab_product<L, false><<<m / 64 * (n / 64), 256>>>(d, b, c, m, n, k);
  } else {
    fprintf(stderr, "unknown kernel %s\n", kind.c_str());
    exit(2);
  }
  CHECK(cudaGetLastError());
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: cache_lab CASES\n"), 2;
  FILE* file = fopen(argv[1], "r");
  if (!file) return fprintf(stderr, "cannot read %s\n", argv[1]), 2;
  float *data, *flush;
  const long flushed = 512L << 20;
  CHECK(cudaMalloc(&data, 4L << 30));
  CHECK(cudaMalloc(&flush, flushed));
  CHECK(cudaMemset(data, 0, 4L << 30));
  CHECK(cudaMemset(flush, 0, flushed));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  char line[512];
  while (fgets(line, sizeof line, file)) {
    std::vector<std::string> words;
    for (char* word = strtok(line, " \t\n"); word; word = strtok(nullptr, " \t\n")) words.push_back(word);
    if (words.size() < 4 || words[0][0] == '#') continue;
    std::vector<long> v;
    for (size_t i = 3; i < words.size(); i++) v.push_back(atol(words[i].c_str()));
    other<<<1056, 256>>>((float4*)flush, flush, flushed / 16);
    int turns = words[1] == "marked" ? 1 : strncmp(words[0].c_str(), "often", 5) ? 2 : 5;
    for (int turn = 0; turn < turns; turn++) {
      CHECK(cudaEventRecord(begin));
      if (words[2] == "cg") launch<CG>(words[1], v, data);
      else if (words[2] == "cs") launch<CS>(words[1], v, data);
      else launch<PLAIN>(words[1], v, data);
      CHECK(cudaEventRecord(end));
      CHECK(cudaDeviceSynchronize());
    }
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("%s %.2f us\n", words[0].c_str(), ms * 1e3);
  }
}
