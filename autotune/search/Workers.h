// Workers: the Workshop made of child processes, each of which can be killed without harm to the search.
#pragma once

#include "autotune/search/Workshop.h"
#include "runtime/cache/CacheOptions.h"

#include <memory>
#include <string_view>
#include <vector>

namespace tessera::tune {

struct WorkerOptions {
  std::vector<std::string> command; ///< argv of a process that serves requests: {"/proc/self/exe", "worker"}
  unsigned jobs = 0;                ///< processes; 0: as many as usableProcessors()
  std::string device;               ///< "sim:a100": opened by the processes that predict, verify and measure
  /// A compile is killed after `slowestSeconds`, or after `patience` times the median of two or more that have ended
  /// until then, whichever is less, but not before `leastSeconds`. What comes from the cache does not count. Seconds
  /// are those of a Stopwatch: of processor time, so that a machine that is slow or was suspended is not blamed on the
  /// candidate.
  double slowestSeconds = 60, patience = 20, leastSeconds = 2;
  double slowestRunSeconds = 300; ///< the same for the other requests
  CacheOptions cache;
  std::string compilerLibrary; ///< as EngineOptions::compilerLibrary
};

/// Workers start when they are first needed, die with the object and with the thread that calls it, and are replaced
/// when they crash or hang. A request whose worker was killed from outside is asked once more before it is Killed. The
/// workshop is Broken when no worker can be run, or one did not come up three times in a row. On simulated devices all
/// of them verify, measure and predict, on a GPU one does. InvalidArgument where the options are wrong.
Result<std::unique_ptr<Workshop>> makeWorkers(const WorkerOptions &options);

/// Serves requests from `in` on `out` until `in` ends: the whole of `tessera worker`. The exit code. Standard output,
/// where that is `out`, is led to standard error, so that nothing but answers goes there.
int serve(int in, int out);

} // namespace tessera::tune
