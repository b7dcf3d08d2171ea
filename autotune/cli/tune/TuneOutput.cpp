// Tables and JSON of `tessera tune`.
#include "autotune/cli/tune/TuneOutput.h"

#include "autotune/cli/Columns.h"
#include "autotune/cli/Print.h"
#include "autotune/report/Words.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tessera::cli {
namespace {

using tune::report::Times;

/// Statuses as people read them: a time may be modelled.
std::string statusText(tune::TrialStatus status) {
  return status == tune::TrialStatus::Measured    ? "timed"
         : status == tune::TrialStatus::Predicted ? "dropped early"
         : status == tune::TrialStatus::Spills    ? "with spills"
                                                  : std::string(tune::name(status));
}

Json measurementJson(const tune::Trial &trial) {
  Json json;
  json["schedule"] = trial.schedule.text();
  if (trial.measurement) {
    json["ms"] = number(trial.measurement->milliseconds);
    json["low_ms"] = number(trial.measurement->lowMs);
    json["high_ms"] = number(trial.measurement->highMs);
    json["modelled"] = trial.measurement->modelled;
    json["method"] = trial.measurement->method;
    json["throttled"] = trial.measurement->throttled;
  }
  return json;
}

/// The candidates that ended otherwise than by their time: "4 crashed, 1 timed out".
std::string passedOver(const tune::SearchOutcome &outcome) {
  std::map<tune::TrialStatus, size_t> counts;
  for (const tune::TaskOutcome &task : outcome.tasks)
    for (const tune::Trial &trial : task.trials)
      if (trial.status != tune::TrialStatus::Measured && trial.status != tune::TrialStatus::Predicted)
        ++counts[trial.status];
  std::vector<std::string> parts;
  for (const auto &[status, count] : counts)
    parts.push_back(fmt::format("{} {}", count, statusText(status)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool severalDevices(const tune::SearchOutcome &outcome) {
  return std::ranges::any_of(outcome.tasks, [&](const tune::TaskOutcome &task) {
    return !task.trials.empty() && !outcome.tasks.front().trials.empty() &&
           task.trials.front().device != outcome.tasks.front().trials.front().device;
  });
}

Json outcomeJson(const tune::TaskOutcome &task) {
  Json json;
  json["spec"] = task.task.spec.text();
  json["shape"] = tune::shapeJson(task.task.problem);
  json["device"] = task.trials.empty() ? Json(nullptr) : Json(task.trials.front().device);
  json["space"] = {{"combinations", task.combinations}, {"legal", task.legal}, {"refused", task.refused}};
  json["compiled"] = task.compiled;
  json["from_log"] = task.fromLog;
  json["timed"] = task.measured;
  json["complete"] = task.complete;
  json["seconds"] = number(task.seconds);
  json["winner"] = task.choice ? measurementJson(task.choice->winner) : Json(nullptr);
  json["default"] = task.choice && task.choice->byDefault ? measurementJson(*task.choice->byDefault) : Json(nullptr);
  json["gain"] = task.choice ? number(task.choice->gain()) : Json(nullptr);
  json["tied"] = task.choice && task.choice->tied;
  std::map<std::string, size_t> byStatus;
  for (const tune::Trial &trial : task.trials)
    ++byStatus[std::string(tune::name(trial.status))];
  json["trials"] = byStatus;
  return json;
}

std::string completeText(const tune::Completeness &completeness) {
  if (completeness.parts == 1)
    return completeness.complete() ? "yes" : "no";
  return fmt::format("{} of {} parts", completeness.done, completeness.parts);
}

std::string gainText(const tune::Choice &choice) {
  if (!choice.byDefault)
    return "-";
  return choice.winner.schedule == choice.byDefault->schedule ? "it is the default"
                                                              : fmt::format("{:.2f}x", choice.gain());
}

} // namespace

std::string shapeText(const Problem &problem) {
  const std::string heads = problem.heads == problem.kvHeads ? fmt::format("{}", problem.heads)
                                                             : fmt::format("{}/{}", problem.heads, problem.kvHeads);
  return problem.seqlenQ == problem.seqlenKv
             ? fmt::format("{} x {} heads, {}", problem.batch, heads, problem.seqlenQ)
             : fmt::format("{} x {} heads, {} x {}", problem.batch, heads, problem.seqlenQ, problem.seqlenKv);
}

std::string timeText(double milliseconds) { return fmt::format("{:.4g} ms", milliseconds); }

Json predictionJson(const tune::Prediction &prediction) {
  Json json;
  json["ms"] = number(prediction.milliseconds);
  json["bound"] = prediction.bound;
  json["blocks_per_sm"] = prediction.blocksPerSm;
  json["waves"] = number(prediction.waves);
  for (const tune::Term &term : prediction.terms)
    json["terms_ms"][term.name] = number(term.milliseconds);
  return json;
}

std::string progressText(const tune::SearchEvent &event, const std::vector<tune::Task> &tasks,
                         const std::string &bestSoFar, double secondsSince) {
  std::string text = fmt::format("{}/{}", event.task + 1, event.tasks);
  if (event.task < tasks.size())
    text += fmt::format(" ({})", shapeText(tasks[event.task].problem));
  text += fmt::format(": compiled {} of {}, timed {}", event.compiled, event.toCompile, event.measured);
  if (!bestSoFar.empty())
    text += ", best " + bestSoFar;
  if (const double left = event.etaSeconds.value_or(0) - secondsSince; left >= 0.5)
    text += fmt::format(", about {:.0f} s left", left);
  return text;
}

void printOutcome(const TuneReport &report, const CommonFlags &common) {
  const tune::SearchOutcome &outcome = *report.outcome;
  const Times::Kind without = report.modelled ? Times::Modelled : Times::Measured;
  const Times::Kind times = tune::report::timesOf(outcome, without).kind;
  if (common.json) {
    Json json;
    json["device"] = report.device;
    json["gpu"] = report.gpu.empty() ? Json(nullptr) : Json(report.gpu);
    json["modelled"] = times == Times::Both ? Json(nullptr) : Json(times == Times::Modelled);
    json["tasks"] = Json::array();
    for (const tune::TaskOutcome &task : outcome.tasks) {
      json["tasks"].push_back(outcomeJson(task));
      json["tasks"].back()["modelled"] = tune::report::timesOf(task, without).kind != Times::Measured;
    }
    json["interrupted"] = outcome.interrupted;
    json["out_of_budget"] = outcome.outOfBudget;
    json["seconds"] = number(report.seconds);
    json["log"] = report.log.empty() ? Json(nullptr) : Json(report.log);
    json["report"] = report.html.empty() ? Json(nullptr) : Json(report.html);
    json["recorded"] = report.recorded;
    json["recorded_in"] = report.recordedIn.empty() ? Json(nullptr) : Json(report.recordedIn);
    json["why_not_recorded"] = report.recordedIn.empty() ? Json(report.whyNotRecorded) : Json(nullptr);
    json["notes"] = report.notes;
    json["warnings"] = outcome.warnings;
    return printJson(json);
  }
  Table head;
  head.row("device", report.device);
  for (const std::string &note : report.notes)
    head.row("note", note);
  if (times == Times::Modelled)
    head.row("times", report.gpu.empty() ? "modelled: no time was measured"
                                         : fmt::format("modelled for {}: no time was measured", report.gpu));
  else if (times == Times::Both)
    head.row("times", "of simulated devices modelled, of others measured");
  head.print();
  show("\n");
  const bool devices = severalDevices(outcome);
  Columns columns({{"attention"},
                   {devices ? "shape and device" : "shape"},
                   {"schedule"},
                   {times == Times::Modelled ? "modelled" : "time", Columns::Right},
                   {"gain", Columns::Right},
                   {"compiled", Columns::Right},
                   {"of legal", Columns::Right}});
  for (const tune::TaskOutcome &task : outcome.tasks) {
    const auto &choice = task.choice;
    columns.row(
        {tune::specWords(task.task.spec),
         shapeText(task.task.problem) + (devices && !task.trials.empty() ? ", " + task.trials.front().device : ""),
         choice ? choice->winner.schedule.text() : "none",
         choice ? timeText(choice->winner.measurement->milliseconds) +
                      (times == Times::Both && choice->winner.measurement->modelled ? " (modelled)" : "")
                : "-",
         choice ? gainText(*choice) : "-", fmt::format("{}", task.compiled), fmt::format("{}", task.legal)});
  }
  columns.print();
  show("\n");
  Table foot;
  if (outcome.interrupted)
    foot.row("interrupted",
             std::ranges::any_of(outcome.tasks, [](const tune::TaskOutcome &task) { return task.choice.has_value(); })
                 ? report.log.empty() ? "the best so far is kept" : "the best so far is kept; the same command goes on"
                 : "before anything was timed");
  if (outcome.outOfBudget)
    foot.row("budget", "used up before everything was tried");
  if (const auto open = std::ranges::count(outcome.tasks, false, &tune::TaskOutcome::complete);
      report.replayed && open > 0)
    foot.row("incomplete", fmt::format("{} of {}: the logs do not say that all that was planned was tried", open,
                                       counted(outcome.tasks.size(), "task")));
  if (const std::string others = passedOver(outcome); !others.empty())
    foot.row("passed over", others);
  if (!report.log.empty())
    foot.row("log", report.log);
  if (!report.html.empty())
    foot.row("report", report.html);
  if (!report.recordedIn.empty())
    foot.row("recorded",
             fmt::format("{} in {}: engines choose by it", counted(report.recorded, "winner"), report.recordedIn));
  else
    foot.row("not recorded", report.whyNotRecorded);
  foot.row("took", fmt::format("{:.1f} s", report.seconds));
  foot.print();
}

void printStatus(const tune::TrialLines &lines, const std::vector<LogTask> &tasks, const CommonFlags &common) {
  std::map<tune::TrialStatus, size_t> byStatus;
  for (const tune::Trial &trial : lines.trials)
    ++byStatus[trial.status];
  if (common.json) {
    Json json;
    json["trials"] = lines.trials.size();
    json["by_status"] = Json::object();
    for (const auto &[status, count] : byStatus)
      json["by_status"][std::string(tune::name(status))] = count;
    json["damaged_lines"] = lines.damaged;
    json["tasks"] = Json::array();
    for (const LogTask &task : tasks) {
      const auto &choice = task.choice;
      Json one;
      one["spec"] = task.task.spec.text();
      one["shape"] = tune::shapeJson(task.task.problem);
      one["device"] = task.device;
      one["complete"] = task.completeness.complete();
      one["parts"] = {{"done", task.completeness.done}, {"of", task.completeness.parts}};
      one["trials"] = task.trials.size();
      one["timed"] = task.timed;
      one["refused"] = choice ? choice->refused : 0;
      one["winner"] = choice ? measurementJson(choice->winner) : Json(nullptr);
      one["gain"] = choice ? number(choice->gain()) : Json(nullptr);
      json["tasks"].push_back(std::move(one));
    }
    return printJson(json);
  }
  std::vector<std::string> counts;
  for (const auto &[status, count] : byStatus)
    counts.push_back(fmt::format("{} {}", count, statusText(status)));
  show("{}{}{}\n\n", counted(lines.trials.size(), "trial"), counts.empty() ? "" : ": ", fmt::join(counts, ", "));
  Columns columns({{"attention"},
                   {"shape"},
                   {"device"},
                   {"best so far"},
                   {"time", Columns::Right},
                   {"gain", Columns::Right},
                   {"timed", Columns::Right},
                   {"complete"}});
  for (const LogTask &task : tasks) {
    const auto &choice = task.choice;
    columns.row({tune::specWords(task.task.spec), shapeText(task.task.problem), task.device,
                 choice ? choice->winner.schedule.text() : "none",
                 choice ? timeText(choice->winner.measurement->milliseconds) +
                              (choice->winner.measurement->modelled ? " (modelled)" : "")
                        : "-",
                 choice ? gainText(*choice) : "-", fmt::format("{}", task.timed), completeText(task.completeness)});
  }
  columns.print();
}

void printShapeChoice(const ShapeChoice &choice, const CommonFlags &common) {
  if (common.json) {
    Json json;
    json["spec"] = choice.task.spec.text();
    json["shape"] = tune::shapeJson(choice.task.problem);
    json["device"] = choice.device;
    json["target"] = choice.target;
    json["schedule"] = choice.schedule.text();
    json["provenance"] = choice.provenance;
    json["reason"] = choice.reason;
    json["source"] = choice.source;
    json["trial"] = choice.trial ? Json(tune::trialJson(*choice.trial)) : Json(nullptr);
    json["prediction"] = predictionJson(choice.prediction);
    return printJson(json);
  }
  Table table;
  table.row("attention", fmt::format("{}, {}", tune::specWords(choice.task.spec), shapeText(choice.task.problem)));
  table.row("device", choice.device);
  table.row("schedule", choice.schedule.text());
  table.row("because", choice.reason);
  table.row("source", choice.source);
  if (choice.trial && choice.trial->measurement)
    table.row(choice.trial->measurement->modelled ? "modelled" : "measured",
              fmt::format("{} for {}", timeText(choice.trial->measurement->milliseconds),
                          shapeText(choice.trial->task.problem)));
  table.row("predicted",
            fmt::format("{}, bound by {}; {} blocks on an SM, {:.2f} waves", timeText(choice.prediction.milliseconds),
                        choice.prediction.bound, choice.prediction.blocksPerSm, choice.prediction.waves));
  for (const tune::Term &term : choice.prediction.terms)
    table.row("  " + term.name, timeText(term.milliseconds));
  table.print();
}

} // namespace tessera::cli
