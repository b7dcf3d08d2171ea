// The mathematical library on n inputs: every line of Math.inc, and the fast functions of singles.
extern "C" __global__ void singles(const float *xs, const float *ys, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = xs[i], y = ys[i];
#define S(name, value, ulp)                                                                                  \
  out[i] = (value);                                                                                                    \
  out += n;
#define D(name, value, ulp)
#include "tests/unit/simulator/cuda/Math.inc"
#undef S
#undef D
}

extern "C" __global__ void doubles(const double *xs, const double *ys, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double x = xs[i], y = ys[i];
#define S(name, value, ulp)
#define D(name, value, ulp)                                                                                  \
  out[i] = (value);                                                                                                    \
  out += n;
#include "tests/unit/simulator/cuda/Math.inc"
}

extern "C" __global__ void fast(const float *xs, const float *ys, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = xs[i], y = ys[i];
  float results[] = {__expf(x), __logf(y), __log2f(y), __sinf(x), __cosf(x), __powf(y, x), __fdividef(x, y), rsqrtf(y), __exp10f(x)};
  for (int k = 0; k < 9; ++k)
    out[k * n + i] = results[k];
}
