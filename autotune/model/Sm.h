// Sm: how long one SM takes for a step of the loop and for a whole block, while several blocks share it.
//
// A step of an SM that holds R blocks keeps every unit busy for R times what one block asks of it. The units overlap,
// as far as there are warps to fill them:
//
//   step(R) = |R u|_p + (rest + latency) / R
//
// u: clocks of the units for one block; |.|_p near the largest, more where two are nearly equal and get in each other's
// way. rest: what a warp does while its own matrix work waits (its softmax, or the other way round), once per block:
// the warps of a scheduler that belong to one block fill in for each other within a step, but meet at its barriers;
// blocks do not wait for each other, so R blocks hide all but one part in R of it.
#pragma once

#include "autotune/model/Gpu.h"
#include "autotune/model/Work.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::tune {

/// What of an SM a kernel keeps busy; the last is its part of the L2.
enum Unit { Tensor, Exponent, Fma, Alu, Issue, Shared, Fill, L2, unitCount };
constexpr std::array<std::string_view, unitCount> unitNames = {"tensor", "exponent", "fma",  "alu",
                                                               "issue",  "shared",   "fill", "l2"};
using Clocks = std::array<double, unitCount>;

/// One kernel on one SM. Clocks; counts of resident blocks may be fractions.
class Sm {
public:
  Sm(const Gpu &gpu, const Task &task, const Schedule &schedule, const BlockWork &work);

  /// Of one block alone, unit by unit: per KV tile, and once.
  const Clocks &step() const { return step_; }
  const Clocks &fixed() const { return fixed_; }

  /// While so many blocks each do one step.
  double stepClocks(double resident) const;
  /// While so many blocks each do all of their work, with so many steps each.
  double blockClocks(double resident, double steps) const;
  /// The same with all latencies hidden.
  double busyClocks(double resident, double steps) const;

private:
  double overlapped(const Clocks &clocks, double blocks) const;
  /// Warps of different blocks on one scheduler: they hide each other's waits.
  double hiding(double resident) const { return std::max(resident * share_, 1.0); }

  const Gpu &gpu_;
  Clocks step_, fixed_;
  double share_ = 1;                          ///< of a block's warps over the schedulers, at most 1
  double exposedStep_ = 0, exposedFixed_ = 0; ///< clocks that one block alone cannot hide
  double chainStep_ = 0;                      ///< clocks of a step of a warp that is alone on its scheduler
  double loadAhead_ = 0, loadClocks_ = 0;     ///< steps that a copy has, and clocks that it takes
};

} // namespace tessera::tune
