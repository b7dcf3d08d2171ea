// RecordLines: tuning records as JSON Lines, one record a line.
#pragma once

#include "runtime/spec/TuningRecord.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct RecordLines {
  std::vector<TuningRecord> records; ///< in the order of the lines
  std::vector<std::string> damaged;  ///< "line 3: why" for those that hold none, see readLines()
  /// Of those that are damaged, the ones that may be records all the same to another version of Tessera, without line
  /// ends: JSON objects with the fields of a record, of which only what the texts mean is not known here, or not legal.
  std::vector<std::string> foreign;
  std::vector<std::string> lost; ///< the others of the damaged ones, as there
};

/// Reads untrusted text. Each line is {"spec": TEXT, "device": NAME, "target": "sm_80", "problem": {"batch", "heads",
/// "kv_heads", "seqlen_q", "seqlen_kv"}, "schedule": TEXT}; further keys are passed over, blank lines too. A trial of a
/// tuning log is no record, nor is a schedule that is not legal (any more). A damaged line costs nothing but itself: a
/// log that a crash cut short stays of use.
RecordLines readRecordLines(std::string_view text);

/// The line of one record, with its newline.
std::string recordLine(const TuningRecord &record);

} // namespace tessera
