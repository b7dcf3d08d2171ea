// Tables: what a run found, in rows: winners, wrong answers, every trial, every refusal, and where a prediction's time
// goes.
#pragma once

#include "autotune/report/Words.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tune::report {

/// The name of a place inside a task's details, so that a link to it opens them: "task-3".
std::string anchor(size_t task);

/// What was counted, the most frequent first.
template <typename What> std::vector<std::pair<What, size_t>> byNumber(const std::map<What, size_t> &counts) {
  std::vector<std::pair<What, size_t>> list(counts.begin(), counts.end());
  std::sort(list.begin(), list.end(),
            [](const auto &a, const auto &b) { return std::pair(b.second, a.first) < std::pair(a.second, b.first); });
  return list;
}

/// A trial's time in milliseconds, with a word where times of both kinds are together; HTML.
std::string timeCell(const Trial &trial, Times times);

/// `replayed`: from logs, which tell what was tried and perhaps not what was planned.
std::string winnersTable(const SearchOutcome &outcome, Times times, bool replayed);
std::string wrongTable(const SearchOutcome &outcome);
/// Refusals of all tasks together: by the stage, the reason and how often.
std::string refusalsTable(const SearchOutcome &outcome);

/// The best first, then those without a time by their prediction.
std::string trialsTable(const TaskOutcome &outcome, Times times);
/// Refusals of this task: before any compile by class with their number, later ones one a row.
std::string refusedTables(const TaskOutcome &outcome);
/// The prediction of the winner and of the default, term by term; empty where there is none.
std::string termsTable(const TaskOutcome &outcome);

/// The constants of the model for this GPU, each with where it came from.
std::string gpuTable(const Gpu &gpu);

} // namespace tessera::tune::report
