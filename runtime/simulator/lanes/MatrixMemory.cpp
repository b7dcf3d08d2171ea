// ldmatrix, stmatrix and movmatrix.
#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Locate.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

using machine::Intent;
using machine::Place;

// ldmatrix and stmatrix. A matrix is 8 rows of 16 bytes; register j of all lanes is matrix j, row by row:
//   lane 4·g + q holds row g, columns 2q and 2q + 1.
void transpose(const uint16_t *in, uint16_t *out) {
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 8; ++c)
      out[c * 8 + r] = in[r * 8 + c];
}

/// A generic address must be one of shared memory.
bool areShared(Warp &w, const Op &op, const Lanes &lanes) {
  uint32_t elsewhere = w.active & ~lanesIn(w, lanes, Space::Shared);
  if (!elsewhere)
    return true;
  auto lane = static_cast<unsigned>(std::countr_zero(elsewhere));
  machine::Evidence e;
  e.kind = FindingKind::OutOfBounds;
  e.fatal = true;
  e.lane = lane;
  e.hasAddress = true;
  e.address = lanes.address[lane];
  e.bytes = 16;
  e.space = ptx::toString(spaceOf(lanes, lane));
  e.object = "not shared memory";
  e.message = "a row of a matrix outside shared memory";
  machine::report(w, op, std::move(e));
  return false;
}

/// Addresses of the rows in lanes.data[0 .. 8·matrices); false after a fatal report.
bool locateRows(Warp &w, const Op &op, Intent intent, Lanes &lanes) {
  if (!machine::checkConverged(w, op))
    return false;
  uint32_t used = op.vector == 4 ? allLanes : (1u << (8 * op.vector)) - 1, saved = w.active;
  w.active = used;
  bool ok = locate(w, op, 16, intent, lanes) && areShared(w, op, lanes);
  if (ok && w.counting)
    machine::countShared(w, op, lanes.address, used, 16, w.block->counters.ldmatrix);
  if (ok && w.checks && w.block->races)
    machine::recordAccess(w, op, Space::Shared, lanes.address, used, 16, intent);
  w.active = saved;
  return ok;
}

template <bool Transposed> const Op *ldmatrix(Warp &w, const Op &op) {
  Lanes lanes;
  if (!locateRows(w, op, Intent::Load, lanes))
    return nullptr;
  if (w.checks) {
    for (unsigned j = 0; j < op.vector; ++j) {
      Undefined u;
      for (unsigned r = 0; r < 8; ++r) {
        unsigned from = 8 * j + r;
        uint64_t s[2];
        std::memcpy(s, lanes.shadow[from], 16);
        if (!((s[0] ^ 0x0101010101010101) | (s[1] ^ 0x0101010101010101)))
          continue;
        uint32_t undefined[8] = {}, computed[8] = {};
        machine::loadShadow(w, op, from,
                            {lanes.data[from], lanes.shadow[from], spaceOf(lanes, from), lanes.address[from]}, 16, 2, 8,
                            undefined, computed);
        for (unsigned c = 0; c < 8; ++c) {
          unsigned lane = Transposed ? 4 * c + r / 2 : 4 * r + c / 2;
          u.lanes |= uint32_t(undefined[c] != 0) << lane;
          u.computed |= uint32_t(computed[c] != 0) << lane;
        }
      }
      w.undef(op.ext[j]) = u;
    }
  }
  for (unsigned j = 0; j < op.vector; ++j) {
    auto *d = w.reg<std::byte>(op.ext[j]);
    if constexpr (Transposed) {
      uint16_t in[64], out[64];
      for (unsigned r = 0; r < 8; ++r)
        std::memcpy(in + 8 * r, lanes.data[8 * j + r], 16);
      transpose(in, out);
      std::memcpy(d, out, 128);
    } else {
      for (unsigned r = 0; r < 8; ++r)
        std::memcpy(d + 16 * r, lanes.data[8 * j + r], 16);
    }
  }
  return &op + 1;
}

template <bool Transposed> const Op *stmatrix(Warp &w, const Op &op) {
  Lanes lanes;
  if (!locateRows(w, op, Intent::Store, lanes))
    return nullptr;
  for (unsigned j = 0; j < op.vector; ++j) {
    uint16_t in[64], out[64];
    std::memcpy(in, w.reg<std::byte>(op.ext[j]), 128);
    if (Transposed)
      transpose(in, out);
    for (unsigned r = 0; r < 8; ++r) {
      unsigned to = 8 * j + r;
      std::memcpy(lanes.data[to], (Transposed ? out : in) + 8 * r, 16);
      if (!w.checks || !lanes.shadow[to])
        continue;
      const Undefined &u = w.undef(op.ext[j]);
      for (unsigned c = 0; c < 8; ++c) {
        unsigned lane = Transposed ? 4 * c + r / 2 : 4 * r + c / 2;
        Place where{lanes.data[to] + 2 * c, lanes.shadow[to] + 2 * c, spaceOf(lanes, to), lanes.address[to] + 2 * c};
        machine::storeShadow(w, op, to, where, 2, u.lanes >> lane & 1, u.computed >> lane & 1);
      }
    }
  }
  return &op + 1;
}

const Op *movmatrix(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  uint16_t in[64], out[64];
  std::memcpy(in, w.reg<std::byte>(op.a), 128);
  transpose(in, out);
  std::memcpy(w.reg<std::byte>(op.dst), out, 128);
  if (w.checks) {
    Undefined u = w.undef(op.a), r;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (u.lanes >> lane & 1)
        for (unsigned k = 0; k < 2; ++k) {
          unsigned row = lane / 4, column = lane % 4 * 2 + k;
          r.lanes |= 1u << (4 * column + row / 2);
          r.computed |= (u.computed >> lane & 1) << (4 * column + row / 2);
        }
    w.undef(op.dst) = r;
  }
  return &op + 1;
}

} // namespace

Handler selectMatrixMemory(const Op &op) {
  switch (op.code) {
  case Opcode::Ldmatrix:
    return op.flags & Trans ? ldmatrix<true> : ldmatrix<false>;
  case Opcode::Stmatrix:
    return op.flags & Trans ? stmatrix<true> : stmatrix<false>;
  case Opcode::Movmatrix:
    return movmatrix;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
