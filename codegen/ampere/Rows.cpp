// Reductions along rows, values per row, and the mask.
#include "codegen/KernelEmitter.h"

#include <cmath>
#include <limits>

using namespace mlir;
namespace tessera::codegen {

// The four lanes of a row hold different columns: two exchanges make the max of all.
void KernelEmitter::emitRowMax(attn::RowMaxOp op) {
  Fragment fragment = fragmentOf(op.getScores());
  Registers &scores = values_[op.getScores()];
  Registers out;
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned half = 0; half < 2; ++half) {
      Value largest = op.getInit() ? registerOf(op.getInit(), Fragment::row(rb, half)) : Value();
      for (unsigned cb = 0; cb < fragment.columnBlocks; ++cb)
        for (unsigned e = 2 * half; e < 2 * half + 2; ++e) {
          Value score = scores[fragment.accumulator(rb, cb, e)];
          largest = largest ? fmax(largest, score) : score;
        }
      for (unsigned lanes : {1, 2})
        largest = fmax(largest, shuffleXor(largest, lanes));
      out.push_back(largest);
    }
  values_[op.getResult()] = std::move(out);
}

// Adds the columns of blocks [first, first + count) to the sums so far, which start at init.
void KernelEmitter::emitRowSum(attn::RowSumOp op, unsigned first, unsigned count) {
  Fragment fragment = fragmentOf(op.getValues());
  Registers &values = values_[op.getValues()], &sums = values_[op.getResult()];
  if (sums.empty())
    for (unsigned row = 0; row < fragment.rows(); ++row)
      sums.push_back(registerOf(op.getInit(), row));
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb) {
    Value &upper = sums[Fragment::row(rb, 0)], &lower = sums[Fragment::row(rb, 1)];
    if (op.getMma()) { // columns of ones: every column of the product is the row sum
      Type element = cast<RankedTensorType>(op.getValues().getType()).getElementType();
      Value ones = i32(element.isBF16() ? 0x3F803F80 : 0x3C003C00);
      for (unsigned k = first; k < first + count; k += 2) {
        Value a[] = {values[fragment.pair(rb, k, 0)], values[fragment.pair(rb, k, 1)],
                     values[fragment.pair(rb, k + 1, 0)], values[fragment.pair(rb, k + 1, 1)]};
        Registers c = mma(a, {ones, ones}, {upper, upper, lower, lower}, element);
        upper = c[0];
        lower = c[2];
      }
    } else {
      for (unsigned cb = first; cb < first + count; ++cb)
        for (unsigned e = 0; e < 4; ++e) {
          Value &sum = e < 2 ? upper : lower;
          sum = fadd(sum, values[fragment.accumulator(rb, cb, e)]);
        }
    }
  }
}

void KernelEmitter::emitExpandRows(attn::ExpandRowsOp op) {
  Fragment fragment = fragmentOf(op.getResult());
  Registers out(fragment.blocks() * 4);
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned cb = 0; cb < fragment.columnBlocks; ++cb)
      for (unsigned e = 0; e < 4; ++e)
        out[fragment.accumulator(rb, cb, e)] = registerOf(op.getRows(), Fragment::row(rb, e >> 1));
  values_[op.getResult()] = std::move(out);
}

void KernelEmitter::emitCompleteRows(attn::CompleteRowsOp op) {
  Registers out;
  for (unsigned row = 0; row < fragmentOf(op.getRows()).rows(); ++row) {
    Value sum = registerOf(op.getRows(), row);
    for (unsigned lanes : {1, 2})
      sum = fadd(sum, shuffleXor(sum, lanes));
    out.push_back(sum);
  }
  values_[op.getResult()] = std::move(out);
}

// Key column + c is visible to query row i iff c <= last(i) and c >= first(i), both relative to the tile and to this
// lane's first column, so that every comparison is with a constant. Positions are 64-bit until they are clamped to the
// tile (N13).
void KernelEmitter::emitMaskScores(attn::MaskScoresOp op) {
  FreshThread fresh(*this);
  Fragment fragment = fragmentOf(op.getScores());
  unsigned columns = fragment.columnBlocks * 8;
  Registers &scores = values_[op.getScores()];
  Value column = values_[op.getCol()][0];
  Value keys = widen(parameter("seqlen_kv")), queries = widen(parameter("seqlen_q"));
  auto band = op.getBand();
  Value shift = band && band->getAlign() == attn::BandAlign::BottomRight ? sub(keys, queries) : i64(0);
  Value ownRow = add(values_[op.getRow()][0], widen(add(mul(warp(), i32(fragment.rowBlocks * 16)), laneRow())));
  Value firstColumn = shl(lanePair(), 1);
  Value hidden = f32(-std::numeric_limits<float>::infinity());
  auto clamp = [&](Value position, int64_t low, int64_t high) {
    Value relative = sub(position, column);
    relative = LLVM::SMinOp::create(b_, LLVM::SMaxOp::create(b_, relative, i64(low)), i64(high));
    return sub(narrow(relative), firstColumn);
  };
  // A bound beyond any pair of positions is the same as one at 2^33.
  auto bound = [](int64_t keysAway) { return std::min<int64_t>(keysAway, int64_t(1) << 33); };

  Registers out(scores.size());
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned half = 0; half < 2; ++half) {
      Value position = add(add(ownRow, i64(rb * 16 + half * 8)), shift);
      Value last = sub(keys, i64(1)), first;
      if (band && band->getRight())
        last = LLVM::SMinOp::create(b_, last, add(position, i64(bound(*band->getRight()))));
      last = clamp(last, -1, columns);
      if (band && band->getLeft())
        first = clamp(sub(position, i64(bound(*band->getLeft()))), 0, columns);
      for (unsigned cb = 0; cb < fragment.columnBlocks; ++cb)
        for (unsigned e = 0; e < 2; ++e) {
          unsigned at = fragment.accumulator(rb, cb, 2 * half + e);
          Value outside = compare(LLVM::ICmpPredicate::slt, last, i32(cb * 8 + e));
          if (first)
            outside = orI(outside, compare(LLVM::ICmpPredicate::sgt, first, i32(cb * 8 + e)));
          out[at] = select(outside, hidden, scores[at]);
        }
    }
  values_[op.getResult()] = std::move(out);
}

} // namespace tessera::codegen
