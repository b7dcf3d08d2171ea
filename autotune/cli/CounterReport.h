// The simulator's counters beside the least that any kernel must do for the same attention.
#pragma once

#include "autotune/cli/Describe.h"

#include <nlohmann/json.hpp>

namespace tessera::cli {

/// The least possible: every input and output byte once, one exponent per visible score, the products of visible
/// scores.
struct LeastWork {
  double readBytes = 0;    ///< of q, k and v, once
  double writtenBytes = 0; ///< of O and LSE
  double exponents = 0;    ///< one per visible score
  double flops = 0;        ///< 2 (d_qk + d_v) per visible score
};
LeastWork leastWork(const ResolvedProblem &problem);

Json counterJson(const nlohmann::json &counters, const ResolvedProblem &problem);
void printCounters(const nlohmann::json &counters, const ResolvedProblem &problem);

} // namespace tessera::cli
