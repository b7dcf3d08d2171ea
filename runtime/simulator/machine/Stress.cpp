// Perturbs approximations, so that code that relies on their bits is found out.
#include "runtime/simulator/machine/Stress.h"

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

using program::Opcode;

namespace {

/// Units in the last place that design/ptx-semantics.md, 2.8, allows beside the correctly rounded result.
int32_t unitsAllowed(const Op &op) {
  switch (op.code) {
  case Opcode::FEx2:
  case Opcode::FDiv:
    return 1; // 2, of which the rounding may have used one
  case Opcode::FTanh:
    return 1 << 11; // relative 2^-11
  case Opcode::FRcp:
  case Opcode::FRsqrt:
  case Opcode::FSqrt:
  case Opcode::FLg2:
    return 1;
  default:
    return 0;
  }
}

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

void perturb(Warp &w, const Op &op, uint32_t lanes) {
  int32_t units = unitsAllowed(op);
  if (!units || op.type != ptx::Type::F32)
    return;
  uint64_t state =
      mix(w.block->launch->options->seed + (w.block->linear << 32) + (uint64_t(w.index) << 56) + w.instructions);
  auto *d = w.reg<uint32_t>(op.dst);
  for (uint32_t m = lanes; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    uint32_t field = d[lane] >> 23 & 255;
    if (field < 2 || field > 253 || (d[lane] & 0x7fffffff) == 0x3f800000)
      continue;
    auto range = uint64_t(2) * static_cast<uint64_t>(units) + 1;
    auto moved = static_cast<int32_t>(mix(state + static_cast<uint64_t>(lane)) % range) - units;
    d[lane] = static_cast<uint32_t>(static_cast<int32_t>(d[lane]) + moved);
  }
}

} // namespace tessera::sim::machine
