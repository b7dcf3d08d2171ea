// Report: a launch's findings and counters as text and as JSON.
#pragma once

#include "runtime/simulator/Machine.h"

#include <string>

namespace tessera::sim::driver {

/// A launch that is over.
struct FinishedLaunch {
  std::string device;  ///< profile name
  LaunchConfig config; ///< without parameters
  unsigned registers = 0;
  unsigned blocksPerSm = 0;
  double nanoseconds = 0; ///< modelled
  bool counted = false;   ///< counters were on
  LaunchReport report;
};

/// What stderr shows: the launch in one line, then each finding.
std::string readable(const FinishedLaunch &launch);
/// The same for programs.
std::string reportJson(const FinishedLaunch &launch);
/// "{}" when nothing was counted.
std::string countersJson(const FinishedLaunch &launch);

} // namespace tessera::sim::driver
