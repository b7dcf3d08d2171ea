// Charts: what the trials of one task look like: under the GPU's roofs, against the prediction, and over time.
#pragma once

#include "autotune/report/Words.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace tessera::tune::report {

/// The GPU's limit for the matrix operations of this attention, in TFLOP/s, with words for it; 0 where the GPU's row
/// does not say.
struct Roof {
  double teraflops = 0;
  std::string words;
};
Roof tensorRoof(const Gpu &gpu, const AttentionSpec &spec);

/// What the marks of all charts mean.
std::string legend();

/// Figures with captions; a sentence instead of a drawing where there is nothing to draw. `times` says what the times
/// are.
std::string rooflineChart(const Gpu &gpu, const TaskOutcome &outcome, Times times);
std::string predictionChart(const TaskOutcome &outcome, Times times);
std::string convergenceChart(const TaskOutcome &outcome, Times times);

/// Spearman's rank correlation, equal values with their mean rank: -1 to 1. Absent for fewer than three pairs, or where
/// one side is all the same.
std::optional<double> rankCorrelation(std::span<const std::pair<double, double>> pairs);

} // namespace tessera::tune::report
