// Where query, key and value tiles stand in a block's shared memory (Ampere family): the one place that decides it.
#pragma once

#include "runtime/spec/Schedule.h"

namespace tessera {

/// Byte offsets from the start of dynamic shared memory and the sizes they follow from. Tiles are rows of padded dims;
/// swizzling permutes 16-byte chunks within a row and changes no size.
///
///   query   tileQ rows of dPad elements, and at least 128 bytes a row (the output tile is staged here)
///   key     stages x tileKv rows of dPad elements
///   value   stages x tileKv rows of dvPad elements
struct SharedLayout {
  unsigned dPad = 0;       ///< head dim rounded up to one k-step of the MMA: 16 (16-bit), 8 (f32)
  unsigned dvPad = 0;      ///< value dim, rounded likewise
  uint64_t query = 0;      ///< offset of the query tile
  uint64_t key = 0;        ///< offset of stage 0 of K
  uint64_t value = 0;      ///< offset of stage 0 of V
  uint64_t keyStage = 0;   ///< bytes of one stage of K
  uint64_t valueStage = 0; ///< bytes of one stage of V
  uint64_t total = 0;      ///< bytes of dynamic shared memory of one block

  static SharedLayout of(const Schedule &schedule, const AttentionSpec &spec);
};

/// Registers of one thread that the main loop holds at once (an estimate; see the source for its terms).
unsigned estimatedRegisters(const Schedule &schedule, const AttentionSpec &spec);

} // namespace tessera
