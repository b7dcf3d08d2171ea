// Every line of Float.inc on n inputs: floats[line * n + i] and so on, each kind of result in its own array.
extern "C" __global__ void floats(const float *singles, const double *doubles, const unsigned long long *words, float *f,
                                  double *d, unsigned long long *u, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float a = singles[3 * i], b = singles[3 * i + 1], c = singles[3 * i + 2];
  double x = doubles[3 * i], y = doubles[3 * i + 1], z = doubles[3 * i + 2];
  unsigned long long l = words[i];
  long long m = (long long)l;
  unsigned w = (unsigned)(l >> 9);
  int s = (int)w;
#define F(name, value)                                                                                                 \
  f[i] = (value);                                                                                                      \
  f += n;
#define D(name, value)                                                                                                 \
  d[i] = (value);                                                                                                      \
  d += n;
#define I(name, value)                                                                                                 \
  u[i] = (unsigned long long)(value);                                                                                  \
  u += n;
#include "tests/unit/simulator/cuda/Float.inc"
}
