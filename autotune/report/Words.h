// Words: tasks, statuses and numbers as people read them, whatever the locale.
#pragma once

#include "autotune/search/Search.h"
#include "autotune/space/Words.h"

#include <optional>
#include <string>
#include <string_view>

namespace tessera::tune::report {

/// What times are: those of a task, or of all tasks together.
struct Times {
  enum Kind : uint8_t { Measured, Modelled, Both };
  Kind kind = Measured;

  std::string_view words() const {
    return kind == Both ? "time" : kind == Modelled ? "modelled time" : "measured time";
  }
};
/// As the trials say that have a time; where there is none, `without`.
Times timesOf(const TaskOutcome &task, Times::Kind without);
Times timesOf(const SearchOutcome &outcome, Times::Kind without);

/// "2,048 queries and keys, 32 heads on 8"; batch where it is not 1.
std::string shapeWords(const Problem &problem);
/// The same of a task, with the device where the run has several (logs of several machines).
std::string shapeWords(const SearchOutcome &outcome, const TaskOutcome &task);
/// One word or two for a table: "measured", "not timed", "wrong answer".
std::string_view statusWords(TrialStatus status);

/// With thousands separators.
std::string count(uint64_t value);
std::string counted(uint64_t value, std::string_view one, std::string_view many);
/// About `digits` significant digits, no exponent for what people meet; "∞" and "–" for infinity and NaN.
std::string number(double value, int digits = 4);
/// "1.37×"
std::string ratio(double value);
/// "41 s", "3 min 20 s"; number and unit stay on one line.
std::string duration(double seconds);
/// "48 KB", "163.5 KB": of 1024 bytes.
std::string kilobytes(uint64_t bytes);

/// Milliseconds that may be compared: of a trial that was measured or modelled, be it that it was dropped after that;
/// absent for all others.
std::optional<double> timeOf(const Trial &trial);
/// The prediction that knows most: on the compiled kernel, else by the schedule alone; null where there is none.
const Prediction *bestPrediction(const Trial &trial);
/// What the kernel reaches in this time; absent where the useful operations are not known.
std::optional<double> teraflops(const Trial &trial, double milliseconds);
bool isWrong(const Trial &trial);
/// Neither timed nor ready to be.
bool isRefused(const Trial &trial);
/// The trial that was chosen; others of the same schedule are not.
bool isWinner(const TaskOutcome &outcome, const Trial &trial);
/// The default's time over the winner's. Absent where the default has no time.
std::optional<double> gainOf(const TaskOutcome &outcome);

} // namespace tessera::tune::report
