// What no tuner can have found out, whoever says that it did.
#include "autotune/log/Trial.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr size_t kMostName = 256;
constexpr double kLeastMs = 1e-6, kMostMs = 1e9; ///< a nanosecond; eleven days

Status refuse(std::string why) { return Status(Code::File, std::move(why)); }

Status plausible(const Measurement &m, const std::string &device) {
  if (m.modelled != isSimulatedDevice(device))
    return refuse(fmt::format("a {} time of '{}', which is {} simulator", m.modelled ? "modelled" : "measured", device,
                              m.modelled ? "no" : "a"));
  for (double ms : {m.lowMs, m.milliseconds, m.highMs})
    if (!(ms >= kLeastMs && ms <= kMostMs))
      return refuse(fmt::format("a time of {} ms; times are {} to {} ms", ms, kLeastMs, kMostMs));
  if (!(m.lowMs <= m.milliseconds && m.milliseconds <= m.highMs))
    return refuse(fmt::format("a median of {} ms that is not between its quartiles, {} and {} ms", m.milliseconds,
                              m.lowMs, m.highMs));
  if (!m.modelled && m.repeats == 0)
    return refuse("a measured time of no launches");
  return {};
}

/// None (0), what cannot run (infinite, or not a number), or a time.
Status plausible(const Prediction &prediction) {
  const double ms = prediction.milliseconds;
  if (std::isfinite(ms) && ms != 0 && !(ms >= kLeastMs && ms <= kMostMs))
    return refuse(fmt::format("a predicted time of {} ms; times are {} to {} ms", ms, kLeastMs, kMostMs));
  return {};
}

} // namespace

Status plausible(const Trial &trial) {
  // What a driver says fits on a line; this goes into records, which engines compare devices by.
  if (trial.device.size() > kMostName ||
      std::ranges::any_of(trial.device, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    return refuse("a device's name that no driver gives");
  for (const std::optional<Prediction> *prediction : {&trial.before, &trial.after})
    if (*prediction)
      if (Status status = plausible(**prediction); !status)
        return status;
  if (trial.measurement)
    if (Status status = plausible(*trial.measurement, trial.device); !status)
      return status;
  if (trial.status != TrialStatus::Measured)
    return {};
  if (!trial.measurement)
    return refuse("'status' is 'measured', and there is no measurement");
  if (const Result<Target> target = Target::parse(trial.target)) // of an unknown target nothing can be said, nor chosen
    if (const Status status = trial.schedule.legal(trial.task.spec, *target); !status)
      return refuse(fmt::format("'status' is 'measured', and the schedule {} is not legal for {}: {}",
                                trial.schedule.text(), trial.target, status.message()));
  return {};
}

} // namespace tessera::tune
