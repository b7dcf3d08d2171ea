// Stopwatch: how long a process has been at something, and whether that is too long.
#pragma once

#include <chrono>
#include <string>

namespace tessera::tune {

/// A machine that is slow, shared, throttled or suspended is no fault of what is timed on it: what counts is the time
/// for which the process had a processor, and time in which nobody looked counts for nothing.
class Stopwatch {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// Processor time in seconds that the process has used so far, here and below.
  void start(Time now, double cpuSeconds);
  void see(Time now, double cpuSeconds);
  /// So much of the time since the start passed with nobody there.
  void skip(Time::duration away);

  /// Seconds, by processor time; of a process with several threads not more than have passed.
  double spent() const;
  /// Empty, or in what way it takes too long: it has spent `limit`, has done nothing for several times that (or for
  /// `most`, where that is less), or has waited for a processor so long that there is no hope. "60.0 s of processor
  /// time".
  std::string late(double limit, double most) const;

private:
  Time start_{}, now_{};
  Time since_{}, busy_{}; ///< the start, and when processor time was last seen to grow; later by what was skipped
  double cpuBefore_ = 0, cpu_ = 0;
};

} // namespace tessera::tune
