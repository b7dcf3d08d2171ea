// Shared memory layout and register estimate of the Ampere family.
#include "runtime/spec/SharedLayout.h"

#include <algorithm>

namespace tessera {

SharedLayout SharedLayout::of(const Schedule &schedule, const AttentionSpec &spec) {
  const unsigned step = spec.dtype == DType::F32 ? 8 : 16;
  const uint64_t element = byteSize(spec.dtype);
  SharedLayout layout;
  layout.dPad = (spec.headDim + step - 1) / step * step;
  layout.dvPad = (spec.valueDim + step - 1) / step * step;
  layout.keyStage = uint64_t(schedule.tileKv) * layout.dPad * element;
  layout.valueStage = uint64_t(schedule.tileKv) * layout.dvPad * element;
  layout.query = 0;
  layout.key = uint64_t(schedule.tileQ) * std::max<uint64_t>(layout.dPad * element, 128);
  layout.value = layout.key + schedule.stages * layout.keyStage;
  layout.total = layout.value + schedule.stages * layout.valueStage;
  return layout;
}

// The fragments of one thread, in 32-bit registers: the f32 output accumulators and the f32 scores; the probabilities
// are packed in place, pair by pair, so they never come on top of the scores; row max and row sum (an mma accumulator
// holds each sum twice); Q's fragments where they stay. On top: addresses, loop state and the operand fragments in
// flight, 40 as measured on the loops that do not spill (128x64 with 4 warps at d 128 has 128 + 64 + 8 + 40). tf32
// operands are twice as wide, and a precise operand has two parts. A persistent block carries the number of its query
// tile through the loop; packed rows and head groups cost instructions around it, but no register in it.
unsigned estimatedRegisters(const Schedule &schedule, const AttentionSpec &spec) {
  const SharedLayout layout = SharedLayout::of(schedule, spec);
  const unsigned threads = 32 * schedule.warps;
  const bool wide = spec.dtype == DType::F32;
  const unsigned accumulators = schedule.tileQ * layout.dvPad / threads;
  const unsigned scores = schedule.tileQ * schedule.tileKv / threads;
  const unsigned query =
      schedule.queryInRegisters ? schedule.tileQ * layout.dPad * byteSize(spec.dtype) / (4 * threads) : 0;
  const unsigned rowState = schedule.tileQ / (16 * schedule.warps) * (schedule.rowSum == RowSum::Mma ? 6 : 4);
  const unsigned rest = !wide ? 40 : spec.precision == Precision::Precise ? 72 : 56;
  return accumulators + scores + query + rowState + schedule.persistent + rest;
}

} // namespace tessera
