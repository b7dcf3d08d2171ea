// The page: what went wrong first, then the results of all tasks, then each task in detail.
#include "autotune/report/Report.h"

#include "autotune/report/Charts.h"
#include "autotune/report/Html.h"
#include "autotune/report/Style.h"
#include "autotune/report/Summary.h"
#include "autotune/report/Tables.h"
#include "autotune/report/Words.h"

#include <fmt/format.h>

namespace tessera::tune {

using namespace report;

namespace {

std::string head(const ReportInput &input) {
  // Nothing may be fetched, whatever stands in the page.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n"
      "<title>Tuning of {} for {}</title>\n<style>\n{}</style></head>\n",
      input.outcome ? counted(input.outcome->tasks.size(), "attention", "attentions") : "nothing", escape(input.device),
      style);
}

std::string header(const ReportInput &input, Times times) {
  std::string html =
      fmt::format("<header><h1>Tuning for {}</h1>\n<p>{}</p>\n", escape(input.device), code(input.title));
  std::string facts;
  for (const auto &[what, value] : {std::pair<std::string_view, std::string>{"model of ", std::string(input.gpu.name)},
                                    {"", input.driver},
                                    {"", input.toolchain}})
    if (!value.empty())
      facts += fmt::format("{}{}{}", facts.empty() ? "" : " · ", what, escape(value));
  if (!facts.empty())
    html += tagged("p", "soft", facts) + "\n";
  if (times.kind == Times::Modelled)
    html +=
        "<p class=\"banner\" role=\"note\"><b>Modelled, not measured.</b> Every time in this report is the model's, on "
        "counts from the simulator. No time was measured.</p>\n";
  if (times.kind == Times::Both)
    html += "<p class=\"banner\" role=\"note\"><b>Some times are modelled, not measured.</b> Those of simulated "
            "devices are the model's, on counts from the simulator; each says which it is.</p>\n";
  return html + "</header>\n";
}

std::string details(const ReportInput &input, size_t index, Times::Kind without) {
  const SearchOutcome &outcome = *input.outcome;
  const TaskOutcome &task = outcome.tasks[index];
  const Times times = timesOf(task, without);
  const std::optional<double> gain = gainOf(task);
  std::string html = fmt::format(
      "<details class=\"task\"{}><summary><h3>{}</h3><span>{}</span><span>{}</span></summary>\n",
      index == 0 ? " open=\"open\"" : "", escape(specWords(task.task.spec)), escape(shapeWords(outcome, task)),
      gain          ? ratio(*gain) + " over the default"
      : task.choice ? "no time of the default"
                    : "no winner");
  html += fmt::format("<p class=\"soft\" id=\"{}\">", anchor(index));
  if (task.combinations > 0)
    html += fmt::format("{} of {}; ", counted(task.legal, "legal schedule", "legal schedules"),
                        counted(task.combinations, "combination", "combinations"));
  html += input.replayed
              ? fmt::format("{} compiled and {} timed, as the logs say.{}</p>\n", count(task.compiled),
                            count(task.measured),
                            task.complete ? "" : " <b>They do not say that all that was planned was tried.</b>")
              : fmt::format("{} compiled, {} from the log, {} timed by this run, in {}.{}</p>\n", count(task.compiled),
                            count(task.fromLog), count(task.measured), duration(task.seconds),
                            task.complete ? "" : " <b>The plan was not carried out to its end.</b>");
  if (task.trials.empty()) {
    html += "<p class=\"none\">No candidate was tried.</p>\n";
  } else {
    html += legend();
    html += "<div class=\"charts\">\n" + rooflineChart(input.gpu, task, times) + predictionChart(task, times) +
            convergenceChart(task, times) + "</div>\n";
    html += termsTable(task);
    html += fmt::format("<h4>{}</h4>\n", counted(task.trials.size(), "trial", "trials"));
    html += trialsTable(task, times);
  }
  return html + "<h4>Refusals</h4>\n" + refusedTables(task) + "</details>\n";
}

} // namespace

std::string reportHtml(const ReportInput &input) {
  static const SearchOutcome nothing;
  const SearchOutcome &outcome = input.outcome ? *input.outcome : nothing;
  const Times::Kind without = input.modelled ? Times::Modelled : Times::Measured;
  const Times times = timesOf(outcome, without);
  std::string html = head(input) + "<body><main>\n" + header(input, times) + troubles(outcome);
  if (outcome.tasks.empty())
    return html + "<p class=\"none\">There was no task.</p>\n</main></body></html>\n";
  html += cards(outcome, input.replayed);
  html +=
      "<section><h2>Winners</h2>\n" + winnersTable(outcome, times, input.replayed) + "</section>\n" + gains(outcome);
  html += "<section><h2>Task by task</h2>\n";
  for (size_t i = 0; i < outcome.tasks.size(); ++i)
    html += details(input, i, without);
  html += "</section>\n<section><h2>For the record</h2>\n";
  if (const std::string refusals = refusalsTable(outcome); !refusals.empty())
    html += folded("Refusals of all tasks together", refusals);
  if (input.gpu.sms > 0)
    html += folded("The GPU as the model knows it", gpuTable(input.gpu));
  return html + "</section>\n</main></body></html>\n";
}

} // namespace tessera::tune
