// Matrix products as kernels do them: mma.sync on fragments from global memory, and a pipeline of asynchronous copies into
// swizzled shared memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define MMA(shape, types, c, a, b)                                                                                     \
  asm volatile("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

// Words of four 8-bit or two 16-bit numbers: A is m x k by rows, B is n x k by rows (columns of the product's B), both in
// words; one warp makes a 16 x 8 tile of C.
#define DIRECT(name, shape, types)                                                                                     \
  extern "C" __global__ void name(const unsigned *a, const unsigned *b, float *c, int n, int words) {                  \
    int lane = threadIdx.x, group = lane / 4, quad = lane % 4;                                                         \
    const unsigned *rowA = a + (blockIdx.y * 16 + group) * words, *rowB = b + (blockIdx.x * 8 + group) * words;        \
    float sum[4] = {};                                                                                                 \
    for (int k = 0; k < words; k += 8) {                                                                               \
      unsigned x[4] = {rowA[k + quad], rowA[8 * words + k + quad], rowA[k + quad + 4], rowA[8 * words + k + quad + 4]}; \
      unsigned y[2] = {rowB[k + quad], rowB[k + quad + 4]};                                                            \
      MMA(shape, types, sum, x, y);                                                                                    \
    }                                                                                                                  \
    float *out = c + (blockIdx.y * 16 + group) * n + blockIdx.x * 8 + quad * 2;                                        \
    *(float2 *)out = make_float2(sum[0], sum[1]);                                                                      \
    *(float2 *)(out + 8 * n) = make_float2(sum[2], sum[3]);                                                            \
  }
DIRECT(directHalf, "m16n8k16", "f32.f16.f16.f32")
DIRECT(directBfloat, "m16n8k16", "f32.bf16.bf16.f32")
DIRECT(directTf32, "m16n8k8", "f32.tf32.tf32.f32")
#if __CUDA_ARCH__ >= 890
DIRECT(directE4m3, "m16n8k32", "f32.e4m3.e4m3.f32")
DIRECT(directE5m2, "m16n8k32", "f32.e5m2.e4m3.f32")
#endif

// C = A B of halves: A is m x k, B is k x n, both by rows, whose lengths are multiples of 8; m and n end anywhere else.
// A block of four warps makes a 64 x 64 tile, each warp 32 x 32 of it.
constexpr int tileM = 64, tileN = 64, tileK = 32;

__device__ inline unsigned sharedAddress(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
// 16-byte pieces of rows: of 4 for A, of 8 for B. Pieces are permuted so that neither copies nor ldmatrix meet conflicts.
__device__ inline int placeA(int row, int piece) { return (row * 4 + (piece ^ (row / 2 & 3))) * 8; }
__device__ inline int placeB(int row, int piece) { return (row * 8 + (piece ^ (row & 7))) * 8; }

template <int stages>
__device__ void pipelined(const __half *a, const __half *b, float *c, int m, int n, int k) {
  extern __shared__ __align__(128) __half shared[];
  __half *sharedA = shared, *sharedB = shared + stages * tileM * tileK;
  int t = threadIdx.x, lane = t % 32, warp = t / 32, rowTile = blockIdx.y * tileM, columnTile = blockIdx.x * tileN;
  int tiles = (k + tileK - 1) / tileK;
  auto fetch = [&](int tile) {
    int stage = tile % stages;
    for (int i = t; i < tileM * 4; i += 128) {
      int row = i / 4, piece = i % 4, column = tile * tileK + piece * 8;
      bool inside = rowTile + row < m && column < k;
      const __half *from = inside ? a + (size_t)(rowTile + row) * k + column : a;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(sharedA + stage * tileM * tileK + placeA(row, piece))),
                   "l"(from), "r"(inside ? 16 : 0));
    }
    for (int i = t; i < tileK * 8; i += 128) {
      int row = i / 8, piece = i % 8, column = columnTile + piece * 8, depth = tile * tileK + row;
      bool inside = depth < k && column < n;
      const __half *from = inside ? b + (size_t)depth * n + column : b;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(sharedB + stage * tileK * tileN + placeB(row, piece))),
                   "l"(from), "r"(inside ? 16 : 0));
    }
  };
  for (int tile = 0; tile < stages - 1; ++tile) {
    if (tile < tiles)
      fetch(tile);
    asm volatile("cp.async.commit_group;");
  }
  float sum[2][4][4] = {};
  int warpRow = warp / 2 * 32, warpColumn = warp % 2 * 32;
  for (int tile = 0; tile < tiles; ++tile) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));
    __syncthreads(); // everyone's copies are in, and everyone is done with the stage that is fetched next
    if (tile + stages - 1 < tiles)
      fetch(tile + stages - 1);
    asm volatile("cp.async.commit_group;");
    const __half *stageA = sharedA + tile % stages * tileM * tileK, *stageB = sharedB + tile % stages * tileK * tileN;
    for (int step = 0; step < tileK / 16; ++step) {
      unsigned x[2][4], y[4][2];
      for (int i = 0; i < 2; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                     : "r"(sharedAddress(stageA + placeA(warpRow + i * 16 + lane % 16, step * 2 + lane / 16))));
      for (int j = 0; j < 2; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[2 * j][0]), "=r"(y[2 * j][1]), "=r"(y[2 * j + 1][0]), "=r"(y[2 * j + 1][1])
                     : "r"(sharedAddress(stageB + placeB(step * 16 + lane % 16, warpColumn / 8 + j * 2 + lane / 16))));
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          MMA("m16n8k16", "f32.f16.f16.f32", sum[i][j], x[i], y[j]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e) {
        int row = rowTile + warpRow + i * 16 + lane / 4 + e / 2 * 8, column = columnTile + warpColumn + j * 8 + lane % 4 * 2 + e % 2;
        if (row < m && column < n)
          c[(size_t)row * n + column] = sum[i][j][e];
      }
}

extern "C" __global__ void pipelined2(const __half *a, const __half *b, float *c, int m, int n, int k) { pipelined<2>(a, b, c, m, n, k); }
extern "C" __global__ void pipelined3(const __half *a, const __half *b, float *c, int m, int n, int k) { pipelined<3>(a, b, c, m, n, k); }
extern "C" __global__ void pipelined4(const __half *a, const __half *b, float *c, int m, int n, int k) { pipelined<4>(a, b, c, m, n, k); }

// Split along K: each block adds its part of a 16 x 8 tile atomically.
extern "C" __global__ void splitK(const unsigned *a, const unsigned *b, float *c, int n, int words) {
  int lane = threadIdx.x, group = lane / 4, quad = lane % 4, part = words / gridDim.z;
  const unsigned *rowA = a + (blockIdx.y * 16 + group) * words, *rowB = b + (blockIdx.x * 8 + group) * words;
  float sum[4] = {};
  for (int k = blockIdx.z * part; k < (blockIdx.z + 1) * part; k += 8) {
    unsigned x[4] = {rowA[k + quad], rowA[8 * words + k + quad], rowA[k + quad + 4], rowA[8 * words + k + quad + 4]};
    unsigned y[2] = {rowB[k + quad], rowB[k + quad + 4]};
    MMA("m16n8k16", "f32.f16.f16.f32", sum, x, y);
  }
  float *out = c + (blockIdx.y * 16 + group) * n + blockIdx.x * 8 + quad * 2;
  for (int e = 0; e < 4; ++e)
    atomicAdd(out + e / 2 * 8 * n + e % 2, sum[e]);
}
