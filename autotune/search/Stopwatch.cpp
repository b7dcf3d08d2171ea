// The three ways to be late.
#include "autotune/search/Stopwatch.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr double kIdle = 5;      ///< times the limit without any processor time: it sleeps, and not over a slow disk
constexpr double kHopeless = 10; ///< times the greatest limit, by the clock on the wall

double seconds(Stopwatch::Time::duration duration) { return std::chrono::duration<double>(duration).count(); }

} // namespace

void Stopwatch::start(Time now, double cpuSeconds) {
  start_ = now_ = since_ = busy_ = now;
  cpuBefore_ = cpu_ = cpuSeconds;
}

void Stopwatch::see(Time now, double cpuSeconds) {
  now_ = now;
  if (cpuSeconds > cpu_) {
    cpu_ = cpuSeconds;
    busy_ = now;
  }
}

void Stopwatch::skip(Time::duration away) {
  since_ += away;
  busy_ += away;
}

double Stopwatch::spent() const { return std::min(cpu_ - cpuBefore_, seconds(now_ - start_)); }

std::string Stopwatch::late(double limit, double most) const {
  const double idle = std::min(kIdle * limit, most), wall = seconds(now_ - since_);
  if (spent() >= limit)
    return fmt::format("{:.1f} s of processor time", limit);
  if (seconds(now_ - busy_) >= idle)
    return fmt::format("{:.1f} s in which it did nothing", idle);
  if (wall >= kHopeless * most)
    return fmt::format("{:.1f} s, for {:.1f} of which it had a processor", wall, spent());
  return {};
}

} // namespace tessera::tune
