// Shares of time and compiles, and the medians of what was used.
#include "autotune/search/Budget.h"

#include "autotune/search/Median.h"

#include <algorithm>

namespace tessera::tune {
namespace {

/// Of a task's time; the rest is for the rounds of measurement after the last compile.
constexpr double kShareOfCompiles = 0.7;
constexpr double kGraceSeconds = 4;

std::chrono::steady_clock::duration durationOf(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

} // namespace

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Budget::Budget(const SearchOptions &options, size_t tasks, const std::atomic<bool> &stop)
    : stop_(stop), seconds_(options.seconds), trials_(options.trials), tasksLeft_(tasks) {}

void Budget::beginTask() {
  const size_t tasks = std::max<size_t>(tasksLeft_, 1);
  if (tasksLeft_ > 0)
    --tasksLeft_;
  if (trials_)
    taskTrialsEnd_ = trialsUsed_ + (*trials_ - std::min(trialsUsed_, *trials_) + tasks - 1) / tasks;
  if (!seconds_)
    return;
  const double share = *secondsLeft() / double(tasks);
  const auto after = [now = std::chrono::steady_clock::now()](double seconds) { return now + durationOf(seconds); };
  compilesEnd_ = after(share * kShareOfCompiles);
  taskEnd_ = after(share);
  graceEnd_ = after(share + kGraceSeconds);
}

void Budget::renewGrace() {
  if (graceEnd_)
    graceEnd_ = std::max(*graceEnd_, std::chrono::steady_clock::now() + durationOf(kGraceSeconds));
}

size_t Budget::compilesLeft() const {
  return trials_ ? taskTrialsEnd_ - std::min(trialsUsed_, taskTrialsEnd_) : SIZE_MAX;
}

std::optional<double> Budget::secondsLeft() const {
  if (!seconds_)
    return std::nullopt;
  return std::max(0.0, *seconds_ - elapsed());
}

void Pace::wave(const Wave &wave) {
  Waves &waves = wave.first ? first_ : later_;
  if (wave.compiled > 0)
    waves.compiles.push_back(wave.compileSeconds / double(wave.compiled));
  if (wave.tried > 0)
    waves.rest.push_back(wave.restSeconds / double(wave.tried));
}

std::optional<double> Pace::left(size_t fresh, size_t shared, size_t tasks) const {
  if (first_.rest.empty() && later_.rest.empty())
    return std::nullopt;
  const auto each = [&](std::vector<double> Waves::*part) {
    return medianOf((later_.*part).empty() ? first_.*part : later_.*part);
  };
  return double(fresh) * each(&Waves::compiles) + double(fresh + shared) * each(&Waves::rest) +
         double(tasks) * medianOf(finishes_);
}

} // namespace tessera::tune
