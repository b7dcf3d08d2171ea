// Trial: everything that was found out about one candidate of one task on one device, as one line of a tuning log.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/model/Model.h"
#include "runtime/spec/TuningRecord.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tessera::tune {

enum class TrialStatus : uint8_t {
  Measured,  ///< right, and timed: the only ones that may win
  Predicted, ///< compiled, and dropped by an earlier round before it was verified; may carry that round's measurement
  Duplicate, ///< the same machine code as `sameAs`
  Spills,    ///< spills registers, and was dropped for it
  Failed,    ///< the compiler refused it, with the reason
  Crashed,   ///< its compile or its run ended the process
  TimedOut,  ///< its compile or its run took too long and was killed
  Faulted,   ///< the launch failed on the device
  Wrong,     ///< gave a wrong answer
  Killed,    ///< its process was ended from outside, twice: nothing is known of it
};
std::string_view name(TrialStatus status); ///< measured, predicted, duplicate, ..., timed out, ...

struct Trial {
  Task task;
  Schedule schedule;
  std::string device; ///< the driver's name of the GPU; a simulator's has its suffix
  std::string target; ///< "sm_80"
  TrialStatus status = TrialStatus::Failed;
  std::string reason; ///< for people; empty for measured and predicted
  std::string sameAs; ///< schedule text; Duplicate only
  bool isDefault = false;
  std::optional<double> compileMs;
  std::optional<Footprint> footprint; ///< of the image
  std::string cubinDigest;            ///< BLAKE2b-256 in hexadecimal; empty without a cubin
  std::optional<Prediction> before;   ///< by the schedule alone
  std::optional<Prediction> after;    ///< on the compiled kernel's counts
  std::optional<Verification> verification;
  std::optional<Measurement> measurement;
  std::string build;         ///< of the compiler library
  std::string assembler;     ///< "nvJitLink 13.0"
  int driverVersion = 0;     ///< 13000
  double elapsedSeconds = 0; ///< since the run began; for the convergence plot
  int64_t time = 0;          ///< seconds since 1970 when it was logged; 0: not yet, TrialLog::append sets it

  TuningRecord record() const { return {task.spec, device, target, task.problem, schedule}; }
};

/// One JSON object, {"kind": "trial", "version": 1, "spec", "shape", "device", "target", "schedule", "status", ...}:
/// its doubles are exact, with "inf", "-inf" and "nan" as texts; what is empty or absent is left out. Texts for people
/// are cut at 4 KiB, so that a line stays one.
nlohmann::ordered_json trialJson(const Trial &trial);
/// Its inverse. Unknown keys are passed over. File where it is no trial, one of a newer version, or one whose spec,
/// shape, schedule or target is none.
Result<Trial> trialFromJson(const nlohmann::ordered_json &json);

/// File with the reason where it is nothing that a tuner can have found out: a modelled time of a GPU or a measured one
/// of a simulator, a time that is none (less than a nanosecond, more than days, not between its quartiles, of no
/// launches; a predicted one likewise), or one of a schedule that is not legal.
Status plausible(const Trial &trial);

/// {"batch", "heads", "kv_heads", "seqlen_q", "seqlen_kv"}: a trial's "shape".
nlohmann::ordered_json shapeJson(const Problem &problem);

} // namespace tessera::tune
