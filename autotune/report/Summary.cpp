// The first part of the page.
#include "autotune/report/Summary.h"

#include "autotune/report/Html.h"
#include "autotune/report/Tables.h"
#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune::report {

namespace {

struct Totals {
  size_t finished = 0, legal = 0, tried = 0, compiled = 0, fromLog = 0, timed = 0, wrong = 0;
  double seconds = 0;
  double bestGain = 0, logOfGains = 0;
  size_t gains = 0;
};

Totals totalsOf(const SearchOutcome &outcome) {
  Totals totals;
  for (const TaskOutcome &task : outcome.tasks) {
    totals.finished += task.complete;
    totals.legal += task.legal;
    totals.compiled += task.compiled;
    totals.fromLog += task.fromLog;
    totals.tried += task.trials.size();
    totals.timed +=
        size_t(std::ranges::count_if(task.trials, [](const Trial &trial) { return timeOf(trial).has_value(); }));
    totals.wrong += size_t(std::count_if(task.trials.begin(), task.trials.end(), isWrong));
    totals.seconds += task.seconds;
    if (const std::optional<double> gain = gainOf(task)) {
      totals.bestGain = std::max(totals.bestGain, *gain);
      totals.logOfGains += std::log(*gain);
      ++totals.gains;
    }
  }
  return totals;
}

std::string card(std::string_view value, std::string_view what) {
  return fmt::format("<li><b>{}</b><span>{}</span></li>\n", escape(value), escape(what));
}

} // namespace

std::string troubles(const SearchOutcome &outcome) {
  std::string html;
  const size_t wrong = totalsOf(outcome).wrong;
  if (wrong > 0)
    html += fmt::format(
        "<section class=\"alarm\" role=\"alert\" id=\"wrong\"><h2>{} gave a wrong answer</h2>\n<p>None of "
        "them can win. A wrong answer is a defect of the compiler: please report it with this table.</p>\n{}"
        "</section>\n",
        counted(wrong, "candidate", "candidates"), wrongTable(outcome));
  std::string notes;
  if (outcome.interrupted)
    notes += "<li>The run was interrupted: what follows is the best so far.</li>\n";
  if (outcome.outOfBudget)
    notes += "<li>The budget was used up before the plan was carried out.</li>\n";
  for (const std::string &warning : outcome.warnings)
    notes += fmt::format("<li>{}</li>\n", escape(warning));
  return notes.empty()
             ? html
             : html + fmt::format("<section class=\"warnings\"><h2>Warnings</h2><ul>{}</ul></section>\n", notes);
}

std::string cards(const SearchOutcome &outcome, bool replayed) {
  const Totals totals = totalsOf(outcome);
  std::string html = "<ul class=\"cards\">\n";
  html += card(totals.finished == outcome.tasks.size() ? count(outcome.tasks.size())
                                                       : fmt::format("{} of {}", totals.finished, outcome.tasks.size()),
               outcome.tasks.size() == 1 ? "task finished" : "tasks finished");
  html += card(count(totals.tried),
               totals.legal == 0
                   ? std::string("candidates tried")
                   : fmt::format("candidates tried, {} % of {} legal schedules",
                                 number(100 * double(totals.tried) / double(totals.legal), 2), count(totals.legal)));
  html += card(count(totals.compiled), totals.fromLog > 0 && !replayed
                                           ? fmt::format("compiled; {} from the log", count(totals.fromLog))
                                           : "compiled");
  html += card(count(totals.timed), "with a time");
  html += totals.gains > 0
              ? card(ratio(totals.bestGain), fmt::format("best gain over the default; geometric mean {}",
                                                         ratio(std::exp(totals.logOfGains / double(totals.gains)))))
              : card("–", "gain over the default: no task has both times");
  html += card(count(totals.wrong), totals.wrong == 1 ? "wrong answer" : "wrong answers");
  if (totals.seconds > 0)
    html += card(duration(totals.seconds), "spent");
  return html + "</ul>\n";
}

std::string gains(const SearchOutcome &outcome) {
  double longest = 0;
  for (const TaskOutcome &task : outcome.tasks)
    longest = std::max(longest, gainOf(task).value_or(1) - 1);
  std::string rows;
  for (size_t i = 0; i < outcome.tasks.size(); ++i) {
    const TaskOutcome &task = outcome.tasks[i];
    const std::optional<double> gain = gainOf(task);
    const double share = gain && longest > 0 ? std::max(0.0, (*gain - 1) / longest) : 0;
    rows += fmt::format("<li><a href=\"#{}\">{}<span>{}</span></a><span class=\"bar\" aria-hidden=\"true\"><span "
                        "class=\"winner\" style=\"width:{:.1f}%\"></span></span><b>{}</b></li>\n",
                        anchor(i), escape(specWords(task.task.spec)), escape(shapeWords(outcome, task)), share * 100,
                        gain           ? ratio(*gain)
                        : !task.choice ? "no winner"
                                       : "no default");
  }
  return fmt::format("<section><h2>Gain over the default</h2>\n<p class=\"soft\">The default schedule’s time over the "
                     "winner’s. Bars begin at 1×.</p>\n<ol class=\"gains\">\n{}</ol></section>\n",
                     rows);
}

} // namespace tessera::tune::report
