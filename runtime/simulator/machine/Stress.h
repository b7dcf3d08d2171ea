// Stress: results of approximate instructions moved within the manual's bounds.
#pragma once

#include "runtime/simulator/machine/Warp.h"

namespace tessera::sim::machine {

/// Moves the f32 results of `op` in `lanes` by a number of units in the last place that its documented error allows,
/// drawn from Options::seed. Zeros, infinities, NaNs and results of exactly 1 stay.
void perturb(Warp &warp, const Op &op, uint32_t lanes);

} // namespace tessera::sim::machine
