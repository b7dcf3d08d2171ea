// Measurement and Verification: what is found out about one kernel on one device.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::tune {

struct Measurement {
  double milliseconds = 0;      ///< median
  double lowMs = 0, highMs = 0; ///< quartiles; the same as the median where modelled
  uint32_t repeats = 0;         ///< launches that count
  bool modelled = false;        ///< by the cost model on the simulator's counts; no time was measured
  bool stoppedEarly = false;    ///< clearly slower than the best so far
  bool throttled = false;       ///< the clock fell during it
  double clockMHz = 0;          ///< SM clock during it; 0: not known
  std::string method{};         ///< "graph replay, cold L2", "events, cold L2", "modelled"

  double spread() const { return milliseconds > 0 ? (highMs - lowMs) / milliseconds : 0; }
};

struct Verification {
  bool right = false;
  double error = 0, bound = 0; ///< of the worst comparison; infinite for a NaN or Inf where a number should be
  std::string against;         ///< what it was compared with: "f64 at 1x4x257x300; naive kernel at 1x32x8192x8192"
  std::string complaint;       ///< empty when right
};

/// How much work a measurement may take.
struct Effort {
  uint32_t minRepeats = 3, maxRepeats = 50;
  double wantedSpread = 0.01;    ///< stop when the quartiles are this near, relative to the median
  double mostMilliseconds = 500; ///< of launches, together
  double stopAboveMs = 0;        ///< stop early once the median is surely above this; 0: never
};

} // namespace tessera::tune
