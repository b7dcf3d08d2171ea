// The page as a whole: nothing is left out, nothing breaks out, and what is bad stands first.
#include "tests/unit/report/SampleOutcome.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

using namespace tessera;
using namespace tessera::tune;

namespace {

std::string report(const SearchOutcome &outcome, bool modelled) { return reportHtml(sampleInput(outcome, modelled)); }

/// The text of the page without tags, as a reader sees it.
std::string textOf(const std::string &html) { return std::regex_replace(html, std::regex("<[^>]*>"), ""); }

/// Empty if each element that is opened is closed, in the right order; else the first that is not.
std::string unbalanced(const std::string &html) {
  static const std::regex tag("<(/?)([a-z][a-z0-9]*)([^>]*)>");
  std::vector<std::string> open;
  for (auto it = std::sregex_iterator(html.begin(), html.end(), tag); it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[2], rest = (*it)[3];
    if ((*it)[1].length() == 0) {
      if (rest.empty() || rest.back() != '/')
        open.push_back(name);
      continue;
    }
    if (open.empty() || open.back() != name)
      return (open.empty() ? "nothing" : open.back()) + " is closed by " + name;
    open.pop_back();
  }
  return open.empty() ? "" : open.back() + " stays open";
}

TEST(Report, ShowsEveryTrialAndEveryRefusal) {
  const SearchOutcome outcome = sampleOutcome(7, 48, false);
  const std::string html = report(outcome, false), text = textOf(html);
  for (const TaskOutcome &task : outcome.tasks) {
    for (const Trial &trial : task.trials)
      EXPECT_NE(text.find(trial.schedule.text()), std::string::npos) << trial.schedule.text();
    for (const auto &[reason, number] : task.refused) {
      EXPECT_NE(html.find("<td>" + reason + "</td>"), std::string::npos) << reason;
    }
  }
  size_t rows = 0;
  for (size_t at = html.find("<tr"); at != std::string::npos; at = html.find("<tr", at + 1))
    ++rows;
  size_t trials = 0;
  for (const TaskOutcome &task : outcome.tasks)
    trials += task.trials.size();
  EXPECT_GT(rows, trials);
}

TEST(Report, SaysHowEachStatusEnded) {
  const std::string html = report(sampleOutcome(1, 16, false), false);
  for (const char *words : {"timed", "dropped early", "duplicate", "spills", "compiler refused", "crashed", "timed out",
                            "launch failed", "wrong answer"})
    EXPECT_NE(html.find(std::string("<td>") + words + "</td>"), std::string::npos) << words;
}

TEST(Report, WrongAnswersStandBeforeEverythingElse) {
  const std::string html = report(sampleOutcome(2, 16, false), false);
  const size_t alarm = html.find("class=\"alarm\"");
  ASSERT_NE(alarm, std::string::npos);
  EXPECT_NE(html.find("2 candidates gave a wrong answer"), std::string::npos);
  EXPECT_NE(html.find("rows of the last query tile", alarm), std::string::npos);
  for (const char *later : {"class=\"warnings\"", "class=\"cards\"", "<h2>Winners", "Gain over the default"})
    EXPECT_LT(alarm, html.find(later)) << later;
  EXPECT_EQ(report(sampleOutcome(2, 7, false), false).find("class=\"alarm\""), std::string::npos);
}

TEST(Report, AWrongVerificationIsLoudWhateverTheStatus) {
  SearchOutcome outcome = sampleOutcome(1, 2, false);
  outcome.tasks[0].trials[1].verification = Verification{false, 1, 0.1, "f64", "half of the rows"};
  EXPECT_NE(report(outcome, false).find("1 candidate gave a wrong answer"), std::string::npos);
}

TEST(Report, ModelledTimesAreCalledModelledAndNothingElse) {
  const std::string modelled = report(sampleOutcome(2, 16, true), true),
                    measured = report(sampleOutcome(2, 16, false), false);
  EXPECT_NE(modelled.find("Modelled, not measured."), std::string::npos);
  EXPECT_EQ(modelled.find("measured time"), std::string::npos);
  EXPECT_EQ(measured.find("odelled, not"), std::string::npos);
  EXPECT_EQ(measured.find("modelled time"), std::string::npos);
}

TEST(Report, AModelledTimeAmongMeasuredOnesIsMarked) {
  SearchOutcome outcome = sampleOutcome(1, 4, false);
  outcome.tasks[0].trials[1].measurement->modelled = true;
  EXPECT_NE(report(outcome, false).find("<i>modelled</i>"), std::string::npos);
}

TEST(Report, MeasuredAndModelledTasksTogetherAreToldApart) {
  SearchOutcome outcome = sampleOutcome(1, 16, true);
  outcome.tasks.push_back(sampleOutcome(2, 16, false).tasks[1]);
  for (const bool modelled : {false, true}) { // whatever else is known: the trials say it
    const std::string html = report(outcome, modelled);
    EXPECT_EQ(html.find("No time was measured"), std::string::npos) << "one was";
    EXPECT_NE(html.find("Some times are modelled, not measured."), std::string::npos);
    const size_t winners = html.find("<h2>Winners"), rest = html.find("<h2>Task by task");
    const std::string table = html.substr(winners, rest - winners);
    EXPECT_NE(table.find("<i>modelled</i>"), std::string::npos);
    EXPECT_NE(table.find("<i>measured</i>"), std::string::npos);
    // Each task by itself has times of one kind.
    const size_t second = html.find("id=\"task-2\"");
    EXPECT_NE(html.substr(rest, second - rest).find("modelled time, ms"), std::string::npos);
    EXPECT_EQ(html.substr(rest, second - rest).find("measured time"), std::string::npos);
    EXPECT_NE(html.substr(second).find("measured time, ms"), std::string::npos);
    EXPECT_EQ(html.substr(second).find("modelled time"), std::string::npos);
  }
}

TEST(Report, OfLogsItTellsWhatTheySayWasFinished) {
  SearchOutcome outcome = sampleOutcome(1, 16, false);
  ReportInput input = sampleInput(outcome, false);
  input.replayed = true;
  const std::string whole = reportHtml(input);
  EXPECT_NE(whole.find("<b>1</b><span>task finished"), std::string::npos);
  for (const char *what : {"by this run", "unfinished", "do not say"})
    EXPECT_EQ(whole.find(what), std::string::npos) << what;
  outcome.tasks[0].complete = false;
  const std::string part = reportHtml(input);
  EXPECT_NE(part.find("<b>0 of 1</b><span>task finished"), std::string::npos);
  EXPECT_NE(part.find("the logs do not say that all that was planned was tried"), std::string::npos);
  EXPECT_EQ(part.find("The plan was not carried out"), std::string::npos) << "which nobody knows";
}

TEST(Report, SameInputGivesTheSameBytes) {
  EXPECT_EQ(report(sampleOutcome(7, 48, true), true), report(sampleOutcome(7, 48, true), true));
}

TEST(Report, ElementsAreClosedInOrder) {
  EXPECT_EQ(unbalanced("<p><b>x</p></b>"), "b is closed by p");
  for (const size_t trials : {0, 1, 16, 48})
    EXPECT_EQ(unbalanced(report(sampleOutcome(7, trials, false), false)), "") << trials;
}

TEST(Report, TextsCannotBreakOutOfTheirPlace) {
  SearchOutcome outcome = sampleOutcome(2, 16, false);
  const std::string evil = "</td></style>\"'><script>alert(1)</script><img src=x onerror=alert(1)>\x01\xff";
  outcome.warnings.push_back(evil);
  for (TaskOutcome &task : outcome.tasks) {
    task.refused[evil] = 3;
    for (Trial &trial : task.trials) {
      trial.reason = trial.sameAs = evil;
      if (trial.verification)
        trial.verification->against = trial.verification->complaint = evil;
      if (trial.measurement)
        trial.measurement->method = evil;
      for (std::optional<Prediction> *prediction : {&trial.before, &trial.after})
        if (*prediction)
          (*prediction)->terms[0].name = (*prediction)->bound = evil;
    }
    task.choice->winner = task.trials[0];
  }
  ReportInput input = sampleInput(outcome, false);
  input.title = input.device = input.driver = input.toolchain = evil;
  input.gpu.name = input.gpu.sms.origin = "<script>";
  const std::string html = reportHtml(input);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_EQ(html.find('\xff'), std::string::npos);
  EXPECT_EQ(unbalanced(html), "");
}

TEST(Report, FetchesNothing) {
  const std::string html = report(sampleOutcome(3, 16, false), false);
  for (const char *what : {"http:", "https:", "url(", "@import", "<script", " src="})
    EXPECT_EQ(html.find(what), std::string::npos) << what;
}

TEST(Report, TellsWhatThereIsNot) {
  EXPECT_NE(report({}, false).find("There was no task."), std::string::npos);
  ReportInput none = sampleInput({}, false);
  none.outcome = nullptr;
  EXPECT_NE(reportHtml(none).find("There was no task."), std::string::npos);

  const SearchOutcome outcome = sampleOutcome(6, 16, false); // see SampleOutcome.h for which lacks what
  const std::string html = report(outcome, false);
  EXPECT_NE(html.find("not begun"), std::string::npos);
  EXPECT_NE(html.find("no candidate got a time"), std::string::npos);
  EXPECT_NE(html.find("default has no time"), std::string::npos);
  EXPECT_NE(html.find("No candidate was tried."), std::string::npos);
  EXPECT_NE(html.find("The budget was used up"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, NamesTheDeviceWhereLogsOfSeveralAreTogether) {
  SearchOutcome outcome = sampleOutcome(2, 4, false);
  EXPECT_EQ(report(outcome, false).find("queries and keys, 32 heads on 8, "), std::string::npos);
  for (Trial &trial : outcome.tasks[1].trials)
    trial.device = "NVIDIA H200 <2>";
  EXPECT_NE(report(outcome, false).find("queries and keys, 32 heads on 8, NVIDIA H200 &lt;2&gt;"), std::string::npos);
}

TEST(Report, OfTrialsOfOneScheduleTheChosenOneIsTheWinner) {
  SearchOutcome outcome = sampleOutcome(1, 4, false);
  const auto winners = [&] {
    const std::string html = report(outcome, false);
    size_t number = 0;
    for (size_t at = html.find("<b>winner</b>"); at != std::string::npos; at = html.find("<b>winner</b>", at + 1))
      ++number;
    return number;
  };
  EXPECT_EQ(winners(), 1u);
  Trial again = outcome.tasks[0].choice->winner;
  again.measurement->milliseconds *= 1.1;
  outcome.tasks[0].trials.push_back(again);
  EXPECT_EQ(winners(), 1u);
}

TEST(Report, WhatIsNotKnownOfALogIsLeftOut) {
  SearchOutcome outcome = sampleOutcome(1, 4, false);
  outcome.tasks[0].combinations = outcome.tasks[0].legal = 0;
  outcome.tasks[0].seconds = 0;
  ReportInput input = sampleInput(outcome, false);
  input.gpu = Gpu{};
  const std::string html = reportHtml(input);
  for (const char *what : {"legal schedule", "model of", "The GPU as the model", "spent"})
    EXPECT_EQ(html.find(what), std::string::npos) << what;
}

TEST(Report, InfinityAndNanAreTexts) {
  SearchOutcome outcome = sampleOutcome(1, 4, false);
  Trial &trial = outcome.tasks[0].trials[1];
  trial.before->milliseconds = HUGE_VAL;
  trial.after->milliseconds = std::nan("");
  trial.elapsedSeconds = std::nan("");
  trial.measurement->milliseconds = 0;
  outcome.tasks[0].choice->winner = trial;
  const std::string html = report(outcome, false);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
  EXPECT_NE(html.find("∞"), std::string::npos);
  for (const double strange : {1e308, 5e-324}) { // finite, and no less strange to an axis
    outcome = sampleOutcome(1, 4, false);
    outcome.tasks[0].trials[1].before->milliseconds = strange;
    const std::string page = report(outcome, false);
    EXPECT_EQ(page.find("nan"), std::string::npos) << strange;
    EXPECT_EQ(page.find("inf"), std::string::npos) << strange;
  }
}

TEST(Report, ALargeRunStaysUnderThreeMegabytes) {
  EXPECT_LT(report(sampleOutcome(48, 60, false), false).size(), 3'000'000u);
}

} // namespace
