// Model: predicted time of a schedule on a GPU, every term shown. It ranks; it is never a measurement.
#pragma once

#include "autotune/model/Gpu.h"
#include "autotune/model/Work.h"

#include <string>
#include <vector>

namespace tessera::tune {

/// One line of the prediction. The time that this alone would take; terms overlap, so they do not add up.
struct Term {
  std::string name; ///< tensor, exponent, fma, alu, issue, shared, fill, l2, memory, latency, tail, launch
  double milliseconds = 0;
};

struct Prediction {
  double milliseconds = 0;
  std::vector<Term> terms{}; ///< in a fixed order, all of them always
  std::string bound{};       ///< the term that rules
  unsigned blocksPerSm = 0;
  double waves = 0;                  ///< blocks over resident blocks of the whole GPU
  double memoryBytes = 0, flops = 0; ///< of device memory, and useful ones of visible scores: for the roofline
  Basis work = Basis::Estimated, footprint = Basis::Estimated;

  /// For people: one term a line.
  std::string text() const;
};

/// Deterministic, thread-safe, microseconds per call. A footprint that no SM can hold gives infinity.
Prediction predict(const Gpu &gpu, const Task &task, const Schedule &schedule, const Footprint &footprint,
                   const BlockWork &work);
/// From estimates alone.
Prediction predict(const Gpu &gpu, const Task &task, const Schedule &schedule);

/// Indices of the space's schedules, best first; ties by preference(). Those that are expected to spill come after all
/// others, since a search passes over what spills.
std::vector<size_t> rank(const Gpu &gpu, const Task &task, std::span<const Schedule> schedules, const Target &target);

} // namespace tessera::tune
