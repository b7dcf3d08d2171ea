// Keys of tuning records.
#include "runtime/bundle/RecordKey.h"

#include <fmt/format.h>

namespace tessera::detail {

RecordKey keyOf(const TuningRecord &record) {
  const Problem &problem = record.problem;
  return {record.spec.text(),
          record.target,
          record.device,
          {problem.batch, problem.heads, problem.kvHeads, problem.seqlenQ, problem.seqlenKv}};
}

std::string circumstances(const TuningRecord &record) {
  const Problem &problem = record.problem;
  return fmt::format("{}, batch {}, heads {} on {}, lengths {} and {}", record.device, problem.batch, problem.heads,
                     problem.kvHeads, problem.seqlenQ, problem.seqlenKv);
}

} // namespace tessera::detail
