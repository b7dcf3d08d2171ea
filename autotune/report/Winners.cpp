// Tables over all tasks: winners, wrong answers, refusals.
#include "autotune/report/Html.h"
#include "autotune/report/Tables.h"
#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune::report {

namespace {

std::vector<std::string_view> fields(std::string_view text) {
  std::vector<std::string_view> list;
  text.remove_prefix(std::min(text.find(':') + 1, text.size())); // the version
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    list.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

/// "kv64 w4 → kv96 w8": the fields in which two schedules differ.
std::string difference(const Schedule &from, const Schedule &to) {
  const std::string fromText = from.text(), toText = to.text();
  const std::vector<std::string_view> a = fields(fromText), b = fields(toText);
  const auto only = [](const auto &list, const auto &other) {
    std::string text;
    for (const std::string_view field : list)
      if (std::find(other.begin(), other.end(), field) == other.end())
        text += fmt::format("{}{}", text.empty() ? "" : " ", field);
    return text.empty() ? std::string("·") : text;
  };
  return only(a, b) + " → " + only(b, a);
}

std::string gainCell(const TaskOutcome &outcome) {
  const std::optional<double> gain = gainOf(outcome);
  return gain ? ratio(*gain) : outcome.choice && !outcome.choice->byDefault ? "default has no time" : "–";
}

std::string winnerNote(const TaskOutcome &outcome, bool replayed) {
  const Choice &choice = *outcome.choice;
  std::vector<std::string> notes;
  if (choice.byDefault && choice.byDefault->schedule == choice.winner.schedule)
    notes.push_back("the default itself");
  else if (choice.byDefault)
    notes.push_back("against the default: " + difference(choice.byDefault->schedule, choice.winner.schedule));
  if (choice.tied)
    notes.push_back("tied within the margin; the fixed order decided");
  if (const std::optional<Measurement> &found = choice.winner.measurement) {
    std::string how = found->method;
    if (!found->modelled && found->repeats > 0)
      how += fmt::format("{}{}, spread {} %", how.empty() ? "" : ", ", counted(found->repeats, "launch", "launches"),
                         number(found->spread() * 100, 2));
    if (found->throttled)
      how += ", the clock fell during it";
    if (!how.empty())
      notes.push_back(how);
  }
  if (!choice.winner.verification)
    notes.push_back("not verified");
  if (!outcome.complete)
    notes.push_back(replayed ? "the logs do not say that all that was planned was tried" : "of an unfinished plan");
  std::string text;
  for (const std::string &note : notes)
    text += (text.empty() ? "" : "; ") + note;
  return escape(text);
}

} // namespace

std::string anchor(size_t task) { return fmt::format("task-{}", task + 1); }

std::string winnersTable(const SearchOutcome &outcome, Times times, bool replayed) {
  Table table("Winners", {{"Attention and shape"},
                          {"Winner"},
                          {fmt::format("{}, ms", times.words()), Table::Number},
                          {"TFLOP/s", Table::Number},
                          {"Over default", Table::Number},
                          {"How it was chosen"}});
  for (size_t i = 0; i < outcome.tasks.size(); ++i) {
    const TaskOutcome &task = outcome.tasks[i];
    const std::string what = fmt::format("<a href=\"#{}\">{}</a><br/>{}", anchor(i), escape(specWords(task.task.spec)),
                                         escape(shapeWords(outcome, task)));
    if (!task.choice) {
      table.row({what, "none", "–", "–", "–", task.trials.empty() ? "not begun" : "no candidate got a time"}, "dim");
      continue;
    }
    const std::optional<double> time = timeOf(task.choice->winner);
    const std::optional<double> reached = time ? teraflops(task.choice->winner, *time) : std::nullopt;
    table.row({what, code(task.choice->winner.schedule.text()), timeCell(task.choice->winner, times),
               reached ? number(*reached) : "–", gainCell(task), winnerNote(task, replayed)});
  }
  return table.html();
}

std::string wrongTable(const SearchOutcome &outcome) {
  Table table("Wrong answers", {{"Attention and shape"},
                                {"Schedule"},
                                {"Error", Table::Number},
                                {"Bound", Table::Number},
                                {"Compared with"},
                                {"What is wrong"}});
  for (size_t i = 0; i < outcome.tasks.size(); ++i)
    for (const Trial &trial : outcome.tasks[i].trials) {
      if (!isWrong(trial))
        continue;
      const Verification found = trial.verification.value_or(Verification{});
      const bool compared = trial.verification.has_value();
      table.row({fmt::format("<a href=\"#{}\">{}</a><br/>{}", anchor(i), escape(specWords(trial.task.spec)),
                             escape(shapeWords(outcome, outcome.tasks[i]))),
                 code(trial.schedule.text()), compared ? number(found.error, 2) : "–",
                 compared ? number(found.bound, 2) : "–", escape(found.against),
                 escape(found.complaint.empty() ? trial.reason : found.complaint)});
    }
  return table.empty() ? std::string() : table.html();
}

std::string refusalsTable(const SearchOutcome &outcome) {
  std::map<std::pair<std::string, std::string>, size_t> refused;
  for (const TaskOutcome &task : outcome.tasks) {
    for (const auto &[reason, number] : task.refused)
      refused[{"before the compile", reason}] += number;
    for (const Trial &trial : task.trials)
      if (isRefused(trial))
        ++refused[{std::string(statusWords(trial.status)),
                   trial.status == TrialStatus::Duplicate ? "the same machine code as another" : trial.reason}];
  }
  Table table("Refusals of all tasks", {{"Stage"}, {"Reason"}, {"Schedules", Table::Number}});
  for (const auto &[what, number] : byNumber(refused))
    table.row({escape(what.first), escape(what.second), count(number)});
  return table.empty() ? std::string() : table.html();
}

} // namespace tessera::tune::report
