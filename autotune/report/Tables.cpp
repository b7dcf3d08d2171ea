// Tables of one task: its trials, its refusals, the terms of the predictions; and the model's constants.
#include "autotune/report/Tables.h"

#include "autotune/report/Html.h"
#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune::report {

namespace {

std::string predicted(const std::optional<Prediction> &prediction) {
  return prediction ? number(prediction->milliseconds) : "–";
}

std::string checked(const Trial &trial) {
  if (!trial.verification)
    return "–";
  const Verification &found = *trial.verification;
  return fmt::format("{}{} of {}", found.right ? "" : "<b>WRONG</b> ", number(found.error, 2), number(found.bound, 2));
}

std::string notes(const Trial &trial) {
  std::string text = trial.reason;
  const auto add = [&](std::string_view note) { text += fmt::format("{}{}", text.empty() ? "" : "; ", note); };
  if (!trial.sameAs.empty())
    add("same machine code as " + trial.sameAs);
  if (trial.verification && !trial.verification->complaint.empty() && trial.verification->complaint != trial.reason)
    add(trial.verification->complaint);
  if (trial.measurement && trial.measurement->stoppedEarly)
    add("stopped early: surely slower");
  if (trial.measurement && trial.measurement->throttled)
    add("the clock fell");
  return escape(text);
}

/// Best time, then best prediction, then the rest; equal ones by their text.
std::vector<const Trial *> inOrder(const TaskOutcome &outcome) {
  struct Key {
    int group;
    double value;
    std::string text;
    const Trial *trial;
    auto operator<=>(const Key &) const = default; // equal ones as they stand in the outcome
  };
  std::vector<Key> keys;
  for (const Trial &trial : outcome.trials) {
    const std::optional<double> time = timeOf(trial);
    const Prediction *prediction = bestPrediction(trial);
    const bool predicted = prediction && !std::isnan(prediction->milliseconds);
    const int group = time ? 0 : trial.status == TrialStatus::Predicted ? 1 : 2 + int(trial.status);
    keys.push_back({group,
                    time        ? *time
                    : predicted ? prediction->milliseconds
                                : HUGE_VAL,
                    trial.schedule.text(), &trial});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<const Trial *> trials;
  for (const Key &key : keys)
    trials.push_back(key.trial);
  return trials;
}

std::string bar(double share, std::string_view htmlClass) {
  return fmt::format("<span class=\"bar\"><span class=\"{}\" style=\"width:{:.1f}%\"></span></span>", htmlClass,
                     std::clamp(share, 0.0, 1.0) * 100);
}

} // namespace

std::string timeCell(const Trial &trial, Times times) {
  const std::optional<double> time = timeOf(trial);
  if (!time)
    return "–";
  return number(*time) + (times.kind != Times::Both     ? ""
                          : trial.measurement->modelled ? " <i>modelled</i>"
                                                        : " <i>measured</i>");
}

std::string trialsTable(const TaskOutcome &outcome, Times times) {
  Table table("Trials", {{"Schedule"},
                         {"Status"},
                         {"Registers", Table::Number},
                         {"Spilled, bytes", Table::Number},
                         {"Shared", Table::Number},
                         {"Predicted, ms", Table::Number},
                         {"After compile, ms", Table::Number},
                         {fmt::format("{}, ms", times.words()), Table::Number},
                         {"Spread", Table::Number},
                         {"Error of bound", Table::Number},
                         {"Note"}});
  for (const Trial *trial : inOrder(outcome)) {
    const bool winner = isWinner(outcome, *trial);
    const std::optional<Footprint> &footprint = trial->footprint;
    const bool spread = timeOf(*trial) && !trial->measurement->modelled;
    std::string schedule = code(trial->schedule.text());
    if (winner || trial->isDefault)
      schedule += fmt::format(" <b>{}</b>", winner && trial->isDefault ? "winner, default"
                                            : winner                   ? "winner"
                                                                       : "default");
    table.row({schedule, escape(statusWords(trial->status)), footprint ? count(footprint->registers) : "–",
               footprint ? count(footprint->spillBytes) : "–", footprint ? kilobytes(footprint->sharedBytes) : "–",
               predicted(trial->before), predicted(trial->after), timeCell(*trial, times),
               spread ? number(trial->measurement->spread() * 100, 2) + " %" : "–", checked(*trial), notes(*trial)},
              isWrong(*trial) ? "bad"
              : winner        ? "best"
                              : "");
  }
  return table.html();
}

std::string refusedTables(const TaskOutcome &outcome) {
  Table before("Refused before any compile", {{"Refused before any compile, by reason"}, {"Schedules", Table::Number}});
  for (const auto &[reason, number] : byNumber(outcome.refused))
    before.row({escape(reason), count(number)});
  Table after("Refused later", {{"Refused later"}, {"Status"}, {"Reason"}});
  for (const Trial *trial : inOrder(outcome))
    if (isRefused(*trial))
      after.row({code(trial->schedule.text()), escape(statusWords(trial->status)), notes(*trial)});
  if (before.empty() && after.empty())
    return "<p class=\"none\">Nothing was refused.</p>\n";
  return (before.empty() ? "" : before.html()) + (after.empty() ? "" : after.html());
}

std::string termsTable(const TaskOutcome &outcome) {
  if (!outcome.choice)
    return {};
  const Prediction *winner = bestPrediction(outcome.choice->winner);
  const Prediction *byDefault = outcome.choice->byDefault ? bestPrediction(*outcome.choice->byDefault) : nullptr;
  if (!winner)
    return {};
  double longest = winner->milliseconds;
  for (const Prediction *prediction : {winner, byDefault})
    for (size_t i = 0; prediction && i < prediction->terms.size(); ++i)
      longest = std::max(longest, prediction->terms[i].milliseconds);
  const auto show = [&](const Prediction *prediction, std::string_view name, std::string_view htmlClass) {
    if (prediction)
      for (const Term &term : prediction->terms)
        if (term.name == name)
          return fmt::format("{}<span class=\"value\">{}{}</span>",
                             bar(longest > 0 ? term.milliseconds / longest : 0, htmlClass),
                             number(term.milliseconds, 3), prediction->bound == name ? " <b>rules</b>" : "");
    return std::string("–");
  };
  Table table("Terms of the predictions", {{"Term"}, {"Winner, ms"}, {"Default, ms"}});
  for (const Term &term : winner->terms)
    table.row({escape(term.name), show(winner, term.name, "winner"), show(byDefault, term.name, "default")});
  const auto total = [](const Prediction *prediction) {
    return prediction
               ? fmt::format("<b>{}</b> <span class=\"extent\">{}, {} waves</span>", number(prediction->milliseconds),
                             counted(prediction->blocksPerSm, "block per SM", "blocks per SM"),
                             number(prediction->waves, 3))
               : std::string("–");
  };
  table.row({"<b>predicted</b>", total(winner), total(byDefault)}, "total");
  return "<h4>Where the predicted time goes</h4>\n<p class=\"soft\">Each term is the time that it alone would take. "
         "Terms "
         "overlap, so they do not add up.</p>\n" +
         fmt::format("<div class=\"terms\">{}</div>\n", table.html());
}

std::string gpuTable(const Gpu &gpu) {
  const std::pair<std::string_view, const Figure &> figures[] = {
      {"SMs", gpu.sms},
      {"clock, MHz", gpu.clockMHz},
      {"device memory, GB/s", gpu.memoryGBps},
      {"L2, bytes", gpu.l2Bytes},
      {"shared memory per SM, bytes", gpu.sharedBytesPerSm},
      {"registers per SM", gpu.registersPerSm},
      {"warps per SM", gpu.warpsPerSm},
      {"blocks per SM", gpu.blocksPerSm},
      {"matrix FMA per SM and clock, 16-bit", gpu.mma16},
      {"matrix FMA per SM and clock, tf32", gpu.mmaTf32},
      {"f32 FMA per SM and clock", gpu.fma},
      {"ALU per SM and clock", gpu.alu},
      {"exponents per SM and clock", gpu.mufu},
      {"shared memory, bytes per SM and clock", gpu.sharedBytes},
      {"fill, bytes per SM and clock", gpu.fillBytes},
      {"L2, bytes per SM and clock", gpu.l2BytesPerClock},
      {"launch, µs", gpu.launchMicroseconds},
  };
  Table table("The GPU as the model knows it", {{"Figure"}, {"Value", Table::Number}, {"From"}});
  for (const auto &[name, figure] : figures)
    table.row({escape(name),
               figure.value == std::floor(figure.value) && figure.value >= 0 && figure.value < 1e15
                   ? count(uint64_t(figure.value))
                   : number(figure.value),
               escape(figure.origin)});
  return table.html();
}

} // namespace tessera::tune::report
