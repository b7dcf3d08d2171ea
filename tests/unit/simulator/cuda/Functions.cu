// Functions that the host computes too, conversions of floats, a tiled product and printf.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define FN __device__ __noinline__
#include "tests/unit/simulator/cuda/Functions.inc"


extern "C" __global__ void functions(unsigned *u, long long *l, float *f, double *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  u[3 * i] = mixIntegers(i * 77u, i * 1234567u + 99, i & 3);
  u[3 * i + 1] = fibonacci(i % 11);
  u[3 * i + 2] = localArrays(i);
  l[i] = mixLong(i * 1234567891011ll - 5, ~(long long)i * 987654321ll);
  f[i] = floats(i * 0.37f - 20, i * 0.11f);
  d[2 * i] = doubles(i * 0.37 - 20, i * 0.11);
  d[2 * i + 1] = structs(i);
}

// Every conversion of one float, and arithmetic on the halves of its bits.
extern "C" __global__ void conversions(const float *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = in[i];
  unsigned *o = out + 12 * i;
  o[0] = __half_as_ushort(__float2half_rn(x));
  o[1] = __half_as_ushort(__float2half_rz(x));
  o[2] = __half_as_ushort(__float2half_ru(x));
  o[3] = __half_as_ushort(__float2half_rd(x));
  o[4] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
  o[5] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
  o[6] = __float2int_rn(x);
  o[7] = __float2uint_rz(x);
  o[8] = __float_as_uint(__half2float(__ushort_as_half((unsigned short)(__float_as_uint(x) >> 16))));
  unsigned short a = (unsigned short)__float_as_uint(x), b = (unsigned short)(__float_as_uint(x) >> 16);
  o[9] = __half_as_ushort(__hadd(__ushort_as_half(a), __ushort_as_half(b)));
  o[10] = __half_as_ushort(__hmul(__ushort_as_half(a), __ushort_as_half(b)));
  o[11] = __bfloat16_as_ushort(__float2bfloat16_ru(x));
}

// A tiled product with double-buffered asynchronous copies, warp reductions and atomics.
extern "C" __global__ void product(const float *a, const float *b, float *c, int n, unsigned *histogram, float *largest) {
  __shared__ float as[2][16][16], bs[2][16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  auto fetch = [&](int tile, int stage) {
    __pipeline_memcpy_async(&as[stage][y][x], &a[row * n + tile * 16 + x], 4);
    __pipeline_memcpy_async(&bs[stage][y][x], &b[(tile * 16 + y) * n + column], 4);
    __pipeline_commit();
  };
  fetch(0, 0);
  float sum = 0;
  for (int tile = 0; tile < n / 16; ++tile) {
    if (tile + 1 < n / 16)
      fetch(tile + 1, (tile + 1) & 1);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += as[tile & 1][y][k] * bs[tile & 1][k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
  atomicAdd(&histogram[(int)sum & 7], 1u);
  float most = sum;
  for (int offset = 16; offset; offset >>= 1)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  if ((threadIdx.y * 16 + threadIdx.x) % 32 == 0)
    atomicMax((int *)largest, __float_as_int(most)); // sums are positive
}

extern "C" __global__ void prints(int n) {
  if (threadIdx.x == 3)
    printf("n is %d, half of it %.2f, %s\n", n, n * 0.5, "done");
}
