// explain: which schedule an attention gets, why, and what it costs, before anything is compiled.
#pragma once

#include "runtime/spec/Schedule.h"

#include <string>
#include <vector>

namespace tessera {

struct Explanation {
  AttentionSpec spec;
  Schedule schedule;
  std::string target;
  std::string reason; ///< one sentence
  /// How the schedule was found: by a tuning record (exact, bucket, nearest, family: see RecordMatch), as what a bundle
  /// holds (bundle), as the default, or given by the caller.
  std::string provenance;
  std::vector<std::string>
      rejected; ///< "128x64, 8 warps: needs 131072 bytes of shared memory ...", in the order they were tried
  uint64_t sharedBytes = 0;        ///< per block
  uint64_t sharedLimit = 0;        ///< per block
  unsigned estimatedRegisters = 0; ///< per thread
  unsigned blockThreads = 0;
  unsigned blocksPerSm = 0; ///< that shared memory, estimated registers and warps let reside at once

  /// For people.
  std::string text() const;
};

/// The default schedule of a valid spec. Thread-safe.
Explanation explain(const AttentionSpec &spec, const Target &target);
/// The same for a schedule that the caller gives; a schedule that is not legal says so in `reason`.
Explanation explain(const AttentionSpec &spec, const Target &target, const Schedule &given);

} // namespace tessera
