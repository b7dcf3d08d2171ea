// Stress: results of approximate instructions moved within the manual's bounds.
#pragma once

#include "runtime/simulator/machine/Warp.h"

namespace tessera::sim::machine {

/// The sources of an approximate instruction, as raw bits per lane; its result may replace them.
struct ApproximateSources {
  uint64_t a[warpSize], b[warpSize];
};

/// True for the instructions whose error the manual bounds: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh with .approx,
/// div with .approx or .full, of f32, f16, bf16 and pairs. The .f64 seeds have no stated bound and are left alone.
bool approximates(const Op &op);
ApproximateSources sourcesOf(Warp &warp, const Op &op);

/// Replaces the results of `op` in `lanes` by numbers within the bound around the exact value, drawn from
/// Options::seed. Zeros, infinities, NaNs and ex2 of zero stay: the manual gives those to the bit.
void perturb(Warp &warp, const Op &op, uint32_t lanes, const ApproximateSources &sources);

} // namespace tessera::sim::machine
