// mma.sync.m8n8k4 of f16: four products of 8 × 8 × 4, one per quad pair (lanes 4p … 4p + 3 and 4p + 16 … 4p + 19).
#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Tiles.h"
#include "runtime/simulator/numerics/MatrixSum.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

/// Lane of pair p: `upper` for the quad from 16 on, l for the lane within the quad.
unsigned laneOf(unsigned pair, bool upper, unsigned l) { return 4 * pair + (upper ? 16 : 0) + l; }

struct Place {
  unsigned lane, element;
};

/// A row-major, or B column-major: a lane holds a row (column) of 4. Otherwise it holds 4 rows (columns) of one k.
Place ofA(unsigned pair, unsigned m, unsigned k, bool row) {
  return row ? Place{laneOf(pair, m >= 4, m % 4), k} : Place{laneOf(pair, m >= 4, k), m % 4};
}
/// f16: a lane holds a row of 8. f32: pairs of columns from two rows.
Place ofC(unsigned pair, unsigned m, unsigned n, bool half) {
  if (half)
    return {laneOf(pair, m >= 4, m % 4), n};
  return {laneOf(pair, m >= 4, (n & 2) | (m & 1)), (n & 4) | (m & 2) | (n & 1)};
}

uint16_t &halfAt(Warp &w, const uint32_t *regs, Place p) {
  return w.reg<uint16_t>(regs[p.element / 2])[2 * p.lane + p.element % 2];
}
float &singleAt(Warp &w, const uint32_t *regs, Place p) { return w.reg<float>(regs[p.element])[p.lane]; }

template <bool ARow, bool BRow> const Op *mmaQuads(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  bool cHalf = op.type3 == Type::F16, dHalf = op.type2 == Type::F16;
  const uint32_t *a = op.ext + op.extResults, *b = a + 2, *c = b + 2, *d = op.ext;
  auto undefined = [&](const uint32_t *regs, Place p, bool half) {
    return w.undef(regs[half ? p.element / 2 : p.element]).lanes >> p.lane & 1;
  };
  uint64_t lost[4] = {};
  Row sums[4][8];
  uint64_t state = freedom(w);
  for (unsigned pair = 0; pair < 4; ++pair) {
    Left<4> left;
    Right<4> right;
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned k = 0; k < 4; ++k) {
        left.a[i][k] = halfToFloat(halfAt(w, a, ofA(pair, i, k, ARow)));
        right.b[k][i] = halfToFloat(halfAt(w, b, ofA(pair, i, k, !BRow)));
      }
      for (unsigned n = 0; n < 8; ++n) {
        Place p = ofC(pair, i, n, cHalf);
        sums[pair][i][n] = cHalf ? halfToFloat(halfAt(w, c, p)) : singleAt(w, c, p);
      }
    }
    switch (w.block->launch->options->mma) {
    case MmaMode::Exact:
      sumWide(left, right, sums[pair]);
      break;
    case MmaMode::Hardware:
      sumAsHardware(left, right, sums[pair], matrixModel(80, MmaElement::F16, 4, false), cHalf && dHalf,
                    {.special = true, .tame = false});
      break;
    case MmaMode::Stress:
      sumFreely(left, right, sums[pair], state, cHalf && dHalf);
      break;
    }
    if (!w.checks)
      continue;
    uint32_t rows = 0, columns = 0;
    for (unsigned i = 0; i < 8; ++i)
      for (unsigned k = 0; k < 4; ++k) {
        rows |= undefined(a, ofA(pair, i, k, ARow), true) << i;
        columns |= undefined(b, ofA(pair, i, k, !BRow), true) << i;
      }
    for (unsigned m = 0; m < 8; ++m)
      for (unsigned n = 0; n < 8; ++n)
        lost[pair] |= uint64_t((rows >> m & 1) | (columns >> n & 1) | undefined(c, ofC(pair, m, n, cHalf), cHalf))
                      << (8 * m + n);
  }
  if (w.checks)
    for (unsigned i = 0; i < op.extResults; ++i)
      w.undef(d[i]) = {};
  for (unsigned pair = 0; pair < 4; ++pair)
    for (unsigned m = 0; m < 8; ++m) {
      HalfRow halves = halfBits(roundToHalf(sums[pair][m]));
      FloatRow singles = roundToFloat(sums[pair][m]);
      for (unsigned n = 0; n < 8; ++n) {
        Place p = ofC(pair, m, n, dHalf);
        if (dHalf)
          halfAt(w, d, p) = halves[n];
        else
          singleAt(w, d, p) = singles[n];
        if (lost[pair] >> (8 * m + n) & 1) {
          Undefined &u = w.undef(d[dHalf ? p.element / 2 : p.element]);
          u.lanes |= 1u << p.lane;
          u.computed |= 1u << p.lane;
        }
      }
    }
  return &op + 1;
}

} // namespace

Handler selectMatrixQuads(const Op &op) {
  bool aColumn = op.flags & Trans, bRow = op.flags & High;
  if (aColumn)
    return bRow ? mmaQuads<false, true> : mmaQuads<false, false>;
  return bRow ? mmaQuads<true, true> : mmaQuads<true, false>;
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
