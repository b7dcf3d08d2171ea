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

// Key column + c is visible to query row i iff first(i) <= c <= last(i), both relative to the tile and to this lane's
// first column, so that every comparison is with a constant. Positions are 64-bit until they are clamped to well beyond
// the tile (N13); from there a lane's rows differ by constants.
void KernelEmitter::emitMaskScores(attn::MaskScoresOp op) {
  FreshThread fresh(*this);
  constexpr int64_t beyond = 1 << 20;            // more than the rows and columns of any tile together
  constexpr int64_t farthest = int64_t(1) << 33; // a bound beyond any pair of positions is the same as this one
  Fragment fragment = fragmentOf(op.getScores());
  Registers &scores = values_[op.getScores()];
  Value column = values_[op.getCol()][0];
  Value keys = widen(parameter("seqlen_kv")), queries = widen(parameter("seqlen_q"));
  auto band = op.getBand();
  Value firstColumn = shl(lanePair(), 1);
  auto relative = [&](Value position) {
    Value offset = sub(position, column);
    offset = LLVM::SMinOp::create(b_, LLVM::SMaxOp::create(b_, offset, i64(-beyond)), i64(beyond));
    return sub(narrow(offset), firstColumn);
  };
  Value lastKey = relative(sub(keys, i64(1))), lastOfBand, firstOfBand;
  PackedRow packed;
  if (band) {
    Value own = add(mul(warp(), i32(fragment.rowBlocks * 16)), laneRow()), diagonal;
    if (op.getPacked()) {
      packed = packedRow(add(narrow(values_[op.getRow()][0]), own));
      diagonal = LLVM::ZExtOp::create(b_, i64Type_, packed.position);
    } else {
      diagonal = add(values_[op.getRow()][0], widen(own));
    }
    if (band->getAlign() == attn::BandAlign::BottomRight)
      diagonal = add(diagonal, sub(keys, queries));
    if (band->getRight())
      lastOfBand = relative(add(diagonal, i64(std::min(*band->getRight(), farthest))));
    if (band->getLeft())
      firstOfBand = relative(sub(diagonal, i64(std::min(*band->getLeft(), farthest))));
  }
  Value hidden = f32(-std::numeric_limits<float>::infinity());

  Registers out(scores.size());
  PackedRow at = packed;
  for (unsigned rb = 0; rb < fragment.rowBlocks; ++rb)
    for (unsigned half = 0; half < 2; ++half) {
      Value row = i32(rb * 16 + half * 8); // positions from the lane's first
      if (band && op.getPacked() && rb + half > 0) {
        at = advance(at, 8);
        row = sub(at.position, packed.position);
      }
      Value last = lastOfBand ? LLVM::SMinOp::create(b_, lastKey, add(lastOfBand, row)).getResult() : lastKey;
      Value first = firstOfBand ? add(firstOfBand, row) : Value();
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
