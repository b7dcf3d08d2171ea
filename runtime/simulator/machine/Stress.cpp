// Perturbs approximations, so that code that relies on their bits is found out.
#include "runtime/simulator/machine/Stress.h"

#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/numerics/Formats.h"

#include <algorithm>
#include <cmath>

namespace tessera::sim::machine {

using program::Opcode;
using ptx::Type;
using namespace numerics;

namespace {

bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }
bool isBfloat(Type t) { return t == Type::BF16 || t == Type::BF16x2; }

double exactValue(const Op &op, double x, double y) {
  switch (op.code) {
  case Opcode::FEx2:
    return std::exp2(x);
  case Opcode::FLg2:
    return std::log2(x);
  case Opcode::FRcp:
    return 1.0 / x;
  case Opcode::FRsqrt:
    return 1.0 / std::sqrt(x);
  case Opcode::FSqrt:
    return std::sqrt(x);
  case Opcode::FDiv:
    return x / y;
  case Opcode::FSin:
    return std::sin(x);
  case Opcode::FCos:
    return std::cos(x);
  default:
    return std::tanh(x);
  }
}

/// Distance of the f32 numbers around `value`.
double unit(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23); }

/// Largest absolute error that the manual allows (PTX ISA, floating-point instructions; ptx-semantics.md, 2.8).
double boundOf(const Op &op, double x, double exact) {
  double magnitude = std::fabs(exact);
  if (isBfloat(op.type))
    return op.code == Opcode::FTanh ? 0x1p-8 : 0x1p-7 * magnitude;
  if (op.type != Type::F32)
    return op.code == Opcode::FTanh ? std::exp2(-10.987) : std::exp2(-9.9) * magnitude;
  constexpr double pi = 3.14159265358979323846;
  switch (op.code) {
  case Opcode::FEx2:
  case Opcode::FDiv:
    return 2 * unit(exact);
  case Opcode::FRcp:
    return unit(exact);
  case Opcode::FLg2:
    return x > 0.5 && x < 2 ? 0x1p-22 : 0x1p-22 * magnitude;
  case Opcode::FRsqrt:
    return std::exp2(-22.9) * magnitude;
  case Opcode::FSqrt:
    return 0x1p-23 * magnitude;
  case Opcode::FSin:
  case Opcode::FCos:
    return std::fabs(x) <= 2 * pi ? std::exp2(-20.5) : std::fabs(x) <= 100 * pi ? std::exp2(-14.7) : 0;
  default:
    return 0x1p-11 * magnitude;
  }
}

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double valueOf(Type type, uint64_t bits) {
  return type == Type::F32 ? floatOf(static_cast<uint32_t>(bits))
         : isBfloat(type)  ? bfloatToFloat(static_cast<uint16_t>(bits))
                           : halfToFloat(static_cast<uint16_t>(bits));
}

uint32_t bitsOf(Type type, double value) {
  if (type == Type::F32)
    return numerics::bitsOf(static_cast<float>(value));
  return doubleToFormat(value, isBfloat(type) ? formatBfloat : formatHalf, Direction::Nearest, false);
}

/// One number: `result` is the correctly rounded one.
uint32_t moved(const Op &op, uint32_t result, uint64_t a, uint64_t b, uint64_t draw) {
  double x = valueOf(op.type, a), y = valueOf(op.type, b), now = valueOf(op.type, result);
  double exact = exactValue(op, x, y), bound = boundOf(op, x, exact);
  bool settled = now == 0 || !std::isfinite(now) || !std::isfinite(exact) || (op.code == Opcode::FEx2 && x == 0);
  if (settled || bound == 0)
    return result;
  // Rounding may carry a candidate over the bound: then one nearer to the exact value is taken.
  double shift = (static_cast<double>(draw >> 11) * 0x1p-52 - 1) * bound;
  for (int attempt = 0; attempt < 4; ++attempt, shift /= 2) {
    uint32_t candidate = bitsOf(op.type, exact + shift);
    double value = valueOf(op.type, candidate);
    bool subnormal = op.type == Type::F32 && (op.flags & program::Ftz) && std::fabs(value) < 0x1p-126;
    if (std::isfinite(value) && !subnormal && std::fabs(value - exact) <= bound)
      return candidate;
  }
  return result;
}

} // namespace

bool approximates(const Op &op) {
  return (op.flags & (program::Approx | program::Full)) && op.type != Type::F64 && op.code >= Opcode::FDiv &&
         op.code <= Opcode::FTanh;
}

ApproximateSources sourcesOf(Warp &w, const Op &op) {
  ApproximateSources sources;
  bool narrow = ptx::sizeOf(op.type) == 2;
  for (unsigned i = 0; i < warpSize; ++i) {
    sources.a[i] = narrow ? w.reg<uint16_t>(op.a)[i] : w.reg<uint32_t>(op.a)[i];
    sources.b[i] = narrow ? w.reg<uint16_t>(op.b)[i] : w.reg<uint32_t>(op.b)[i];
  }
  return sources;
}

void perturb(Warp &w, const Op &op, uint32_t lanes, const ApproximateSources &sources) {
  uint64_t state =
      mix(w.block->launch->options->seed + (w.block->linear << 32) + (uint64_t(w.index) << 56) + w.instructions);
  bool pair = isPair(op.type), narrow = ptx::sizeOf(op.type) == 2;
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t draw = mix(state + lane);
    if (narrow) {
      uint16_t &d = w.reg<uint16_t>(op.dst)[lane];
      d = static_cast<uint16_t>(moved(op, d, sources.a[lane], sources.b[lane], draw));
      continue;
    }
    uint32_t &d = w.reg<uint32_t>(op.dst)[lane];
    if (!pair) {
      d = moved(op, d, sources.a[lane], sources.b[lane], draw);
      continue;
    }
    uint32_t low = moved(op, d & 0xffff, sources.a[lane] & 0xffff, 0, draw),
             high = moved(op, d >> 16, sources.a[lane] >> 16, 0, mix(draw));
    d = low | high << 16;
  }
}

} // namespace tessera::sim::machine
