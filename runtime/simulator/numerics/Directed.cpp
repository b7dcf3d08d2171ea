// Directed rounding through the host's rounding mode; this file is compiled with -frounding-math.
#include "runtime/simulator/numerics/Directed.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace tessera::sim::numerics {

namespace {

/// Sets the host's rounding for one expression.
class HostRounding {
public:
  explicit HostRounding(Rounding rounding) : before_(fegetround()) {
    int mode = rounding == Rounding::RZ || rounding == Rounding::RZI   ? FE_TOWARDZERO
               : rounding == Rounding::RM || rounding == Rounding::RMI ? FE_DOWNWARD
               : rounding == Rounding::RP || rounding == Rounding::RPI ? FE_UPWARD
                                                                       : FE_TONEAREST;
    fesetround(mode);
  }
  ~HostRounding() { fesetround(before_); }

private:
  int before_;
};

} // namespace

float add(float a, float b, Rounding rounding) {
  HostRounding host(rounding);
  return a + b;
}
float mul(float a, float b, Rounding rounding) {
  HostRounding host(rounding);
  return a * b;
}
float fma(float a, float b, float c, Rounding rounding) {
  HostRounding host(rounding);
  return std::fma(a, b, c);
}
float div(float a, float b, Rounding rounding) {
  HostRounding host(rounding);
  return a / b;
}
float sqrt(float a, Rounding rounding) {
  HostRounding host(rounding);
  return std::sqrt(a);
}
double add(double a, double b, Rounding rounding) {
  HostRounding host(rounding);
  return a + b;
}
double mul(double a, double b, Rounding rounding) {
  HostRounding host(rounding);
  return a * b;
}
double fma(double a, double b, double c, Rounding rounding) {
  HostRounding host(rounding);
  return std::fma(a, b, c);
}
double div(double a, double b, Rounding rounding) {
  HostRounding host(rounding);
  return a / b;
}
double sqrt(double a, Rounding rounding) {
  HostRounding host(rounding);
  return std::sqrt(a);
}
float narrow(double a, Rounding rounding) {
  HostRounding host(rounding);
  return static_cast<float>(a);
}
float fromInteger(int64_t a, Rounding rounding, float) {
  HostRounding host(rounding);
  return static_cast<float>(a);
}
float fromInteger(uint64_t a, Rounding rounding, float) {
  HostRounding host(rounding);
  return static_cast<float>(a);
}
double fromInteger(int64_t a, Rounding rounding, double) {
  HostRounding host(rounding);
  return static_cast<double>(a);
}
double fromInteger(uint64_t a, Rounding rounding, double) {
  HostRounding host(rounding);
  return static_cast<double>(a);
}

float sine(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
float cosine(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
float log2(float x) { return static_cast<float>(std::log2(static_cast<double>(x))); }
float tanh(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
double tanh(double x) { return std::tanh(x); }
double rsqrt(double x) { return 1.0 / std::sqrt(x); }

double fmaOdd(double a, double b, double c) {
  double p = a * b; // exact: at most 48 significant bits
  double s = p + c;
  if (!std::isfinite(s))
    return s;
  double t = s - p, error = (p - (s - t)) + (c - t); // TwoSum
  auto bits = std::bit_cast<uint64_t>(s);
  if (error != 0 && !(bits & 1)) {
    bool away = (error > 0) == (s > 0);
    bits += away ? 1 : -uint64_t(1);
    if (!away) // truncated toward zero: the neighbour nearer to zero is odd
      return std::bit_cast<double>(bits);
  }
  return std::bit_cast<double>(bits);
}

} // namespace tessera::sim::numerics
