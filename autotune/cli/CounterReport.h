// The simulator's counters beside the least that any kernel must do for the same attention.
#pragma once

#include "autotune/cli/Describe.h"
#include "autotune/cli/profile/LaunchProfile.h"

namespace tessera::cli {

/// The least possible: every input and output byte once, one exponent per visible score, the products of visible
/// scores.
struct LeastWork {
  double readBytes = 0;    ///< of q, k and v, once
  double writtenBytes = 0; ///< of O and LSE
  double exponents = 0;    ///< one per visible score
  double flops = 0;        ///< 2 (d_qk + d_v) per visible score
  double tileFlops = 0;    ///< the same for all scores of the tiles that the schedule visits; 0: no schedule given
};
/// With a schedule, also what its tiles make of the flops.
LeastWork leastWork(const ResolvedProblem &problem, const Schedule *schedule = nullptr);
Json leastJson(const LeastWork &least);

/// A counter with the least that it can be.
struct CounterRow {
  std::string name;
  double measured = 0;
  std::optional<double> least;

  std::optional<double> ratio() const; ///< measured / least; nothing where least is absent or 0
};
std::vector<CounterRow> counterRows(const Json &counters, const LeastWork &least);

/// The counters with the least work, without the instructions.
Json counterJson(const Json &counters, const LeastWork &least);
/// Counters, pipes and loops as tables on stdout.
void printCounters(const Json &counters, const profile::LaunchProfile &profile, const LeastWork &least);

} // namespace tessera::cli
