// RecordLines: tuning records as JSON Lines, one record a line.
#pragma once

#include "runtime/spec/TuningRecord.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct RecordLines {
  std::vector<TuningRecord> records; ///< in the order of the lines
  std::vector<std::string> damaged;  ///< "line 3: why" for every line that holds none
};

/// Reads untrusted text. Each line is {"spec": TEXT, "device": NAME, "target": "sm_80", "problem": {"batch", "heads",
/// "kv_heads", "seqlen_q", "seqlen_kv"}, "schedule": TEXT}; further keys are passed over, empty lines too. A damaged
/// line costs nothing but itself: a log that a crash cut short stays of use.
RecordLines readRecordLines(std::string_view text);

/// One record as its line has it.
nlohmann::ordered_json recordJson(const TuningRecord &record);

/// The line of one record, with its newline.
std::string recordLine(const TuningRecord &record);

} // namespace tessera::cli
