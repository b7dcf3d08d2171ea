// Trials with few and with all fields.
#include "tests/unit/log/Trials.h"

#include <limits>

namespace tessera::tune::test {

Trial measured(unsigned tileKv, double milliseconds) {
  Trial trial;
  trial.task.problem = {1, 8, 8, 512, 512};
  trial.device = "NVIDIA A100-SXM4-80GB";
  trial.target = "sm_80";
  trial.schedule = defaultSchedule(trial.task.spec, *Target::parse(trial.target));
  trial.isDefault = trial.schedule.tileKv == tileKv;
  trial.schedule.tileKv = tileKv;
  trial.status = TrialStatus::Measured;
  trial.verification = Verification{.right = true, .error = 0.5, .bound = 1, .against = "f64", .complaint = ""};
  Measurement measurement;
  measurement.milliseconds = measurement.lowMs = measurement.highMs = milliseconds;
  measurement.repeats = 10;
  measurement.method = "graph replay, cold L2";
  trial.measurement = measurement;
  trial.build = "build";
  trial.assembler = "nvJitLink 13.0";
  trial.driverVersion = 13000;
  trial.time = 1000;
  return trial;
}

Trial everything() {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Trial trial = measured(32, 0.1 + 0.2);
  trial.task.spec.mask = Mask::causal(Align::BottomRight);
  trial.task.spec.softcap = 30.0f;
  trial.task.problem = {2, 12, 3, 1, 517};
  trial.schedule.lazyThreshold = 0.1f;
  trial.device = "NVIDIA \"A100\" \\ (Tessera simulator)";
  trial.reason = "two\nlines, a \t tab, and Gr\xc3\xb6\xc3\x9f"
                 "e";
  trial.sameAs = Schedule().text();
  trial.isDefault = true;
  trial.compileMs = 1e-300;
  trial.footprint = {255, 4294967295u, UINT64_MAX, 256, Basis::Image};
  trial.cubinDigest = "00ff";
  trial.before = Prediction{};
  trial.after = Prediction{infinite,
                           {{"tensor", 1.0 / 3}, {"exponent", -infinite}, {"", -0.0}},
                           "tensor",
                           2,
                           1.5,
                           5e-324,
                           1.7976931348623157e308,
                           Basis::Simulated,
                           Basis::Measured};
  trial.verification = Verification{false, infinite, 0.1, "f64 at 1x4x257x300", "row 3 is off"};
  trial.measurement->lowMs = 1.0 / 7;
  trial.measurement->repeats = UINT32_MAX;
  trial.measurement->modelled = trial.measurement->stoppedEarly = trial.measurement->throttled = true;
  trial.measurement->clockMHz = 1410.5;
  trial.driverVersion = -1;
  trial.elapsedSeconds = 12.75;
  trial.time = INT64_MAX;
  return trial;
}

std::string lineOf(const Trial &trial) { return trialJson(trial).dump() + "\n"; }

std::string textOf(const Trial &trial) { return trialJson(trial).dump(2); }

} // namespace tessera::tune::test
