// What a run would do, as tables and JSON: the space, the candidates, and what becomes of each.
#include "autotune/cli/Columns.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/tune/TuneOutput.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::cli {
namespace {

constexpr size_t kShown = 10;

using tune::Step;

/// In JSON.
std::string_view name(Step step, bool bundled) {
  switch (step) {
  case Step::Compile:
    return bundled ? "bundle" : "compile";
  case Step::Shared:
    return "shared";
  case Step::Logged:
    return "log";
  case Step::Beyond:
    return "beyond_trials";
  }
  return "compile";
}

/// What is done with a candidate, for people.
std::string_view words(Step step, bool bundled) {
  switch (step) {
  case Step::Compile:
    return bundled ? "timed" : "compiled";
  case Step::Shared:
    return bundled ? "timed" : "compiled before";
  case Step::Logged:
    return "in the log";
  case Step::Beyond:
    return "left out";
  }
  return {};
}

size_t count(const tune::Plan &plan, Step step) { return size_t(std::ranges::count(plan.steps, step)); }

/// "5 would be compiled, 2 stand in the log".
std::string forecast(const PlanReport &report, const tune::Plan &plan) {
  const size_t fresh = count(plan, Step::Compile), shared = count(plan, Step::Shared);
  std::string text = report.bundled ? fmt::format("{} of the bundle would be timed", fresh + shared)
                                    : fmt::format("{} would be compiled", fresh);
  if (shared > 0 && !report.bundled)
    text += fmt::format(", {} with the kernel of an earlier shape", shared);
  if (const size_t logged = count(plan, Step::Logged))
    text += fmt::format(", {} {} in the log", logged, logged == 1 ? "stands" : "stand");
  if (const size_t beyond = count(plan, Step::Beyond))
    text += fmt::format(", {} {} left out by --trials", beyond, beyond == 1 ? "is" : "are");
  return text + (report.timed && fresh + shared > 0 ? "; all this as far as --budget reaches" : "");
}

Json planJson(const PlanReport &report, const tune::Plan &plan) {
  Json one;
  one["spec"] = plan.task.spec.text();
  one["shape"] = tune::shapeJson(plan.task.problem);
  one["space"] = {
      {"combinations", plan.space.combinations}, {"legal", plan.space.legal.size()}, {"refused", plan.space.refused}};
  Json &would = one["would"];
  for (const Step step : {Step::Compile, Step::Shared, Step::Logged, Step::Beyond})
    would[std::string(name(step, report.bundled))] = count(plan, step);
  one["candidates"] = Json::array();
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    const auto &[schedule, prediction] = plan.candidates[i];
    Json candidate = predictionJson(prediction);
    candidate["schedule"] = schedule.text();
    candidate["would"] = name(plan.steps[i], report.bundled);
    one["candidates"].push_back(std::move(candidate));
  }
  return one;
}

void showPlan(const PlanReport &report, const tune::Plan &plan) {
  show("{}, {} on {}\n", tune::specWords(plan.task.spec), shapeText(plan.task.problem), report.device);
  show("  {} of {} combinations are legal; {}\n", plan.space.legal.size(), plan.space.combinations,
       forecast(report, plan));
  for (const auto &[reason, count] : plan.space.refused)
    show("  not {}: {}\n", count, reason);
  show("\n");
  Columns columns({{"", Columns::Right},
                   {"schedule"},
                   {"predicted", Columns::Right},
                   {"bound by"},
                   {"blocks/SM", Columns::Right},
                   {"would be"}});
  for (size_t i = 0; i < std::min(kShown, plan.candidates.size()); ++i) {
    const auto &[schedule, prediction] = plan.candidates[i];
    columns.row({fmt::format("{}", i + 1), schedule.text(), timeText(prediction.milliseconds), prediction.bound,
                 fmt::format("{}", prediction.blocksPerSm), std::string(words(plan.steps[i], report.bundled))});
  }
  columns.print();
  if (plan.candidates.size() > kShown)
    show("and {} more (--json has them all)\n", plan.candidates.size() - kShown);
  show("\n");
}

void showKnobs(const PlanReport &report) {
  show("knobs (--knob NAME=V,V):\n");
  Columns knobs({{"name"}, {"values"}, {"meaning"}});
  for (const tune::Knob &knob : tune::Knob::all()) {
    std::vector<std::string> values; // over all tasks
    for (const tune::Plan &plan : report.plans)
      for (const std::string &value : knob.values(plan.task, report.target))
        if (std::ranges::find(values, value) == values.end())
          values.push_back(value);
    knobs.row({std::string(knob.name), fmt::format("{}", fmt::join(values, ",")), std::string(knob.meaning)});
  }
  knobs.print();
}

} // namespace

void printPlans(const PlanReport &report, const CommonFlags &common) {
  if (common.json) {
    Json json;
    json["device"] = report.device;
    json["gpu"] = report.gpu;
    for (const tune::Plan &plan : report.plans)
      json["tasks"].push_back(planJson(report, plan));
    return printJson(json);
  }
  for (const tune::Plan &plan : report.plans)
    showPlan(report, plan);
  showKnobs(report);
}

} // namespace tessera::cli
