// Charts: each candidate with a time is drawn, under the right roof; the rank correlation is Spearman's.
#include "autotune/report/Charts.h"

#include "tests/unit/report/SampleOutcome.h"

#include <gtest/gtest.h>

#include <string>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::report;

namespace {

size_t occurrences(const std::string &text, std::string_view what) {
  size_t number = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++number;
  return number;
}

TEST(RankCorrelation, IsSpearmansWithMeanRanksForTies) {
  using Pairs = std::vector<std::pair<double, double>>;
  EXPECT_FALSE(rankCorrelation(Pairs{{1, 2}, {3, 4}}));
  EXPECT_FALSE(rankCorrelation(Pairs{{1, 2}, {1, 4}, {1, 5}})) << "one side all the same";
  EXPECT_DOUBLE_EQ(*rankCorrelation(Pairs{{1, 1}, {2, 8}, {3, 900}}), 1);
  EXPECT_DOUBLE_EQ(*rankCorrelation(Pairs{{1, 9}, {2, 8}, {3, 7}}), -1);
  // Ranks 0 1 2 3 against 0 1.5 1.5 3: covariance 4.5, variances 5 and 4.5.
  EXPECT_NEAR(*rankCorrelation(Pairs{{1, 1}, {2, 5}, {3, 5}, {4, 9}}), 4.5 / std::sqrt(5 * 4.5), 1e-12);
}

TEST(Roofline, RoofIsTheMatrixRateOfTheInputs) {
  const Gpu gpu = sampleGpu();
  AttentionSpec spec;
  EXPECT_NEAR(tensorRoof(gpu, spec).teraflops, 311.9, 0.1);
  spec.dtype = DType::F32;
  EXPECT_NEAR(tensorRoof(gpu, spec).teraflops, 155.9, 0.1);
  spec.precision = Precision::Precise;
  EXPECT_NEAR(tensorRoof(gpu, spec).teraflops, 52.0, 0.1);
}

TEST(Roofline, MarksEachCandidateThatHasATimeAndCountsTheOthers) {
  const SearchOutcome outcome = sampleOutcome(1, 16, false);
  const std::string html = rooflineChart(sampleGpu(), outcome.tasks[0], {Times::Measured});
  EXPECT_EQ(occurrences(html, "<title>"), 10u);
  EXPECT_EQ(occurrences(html, "class=\"winner\""), 1u);
  EXPECT_EQ(occurrences(html, "class=\"default\""), 1u);
  EXPECT_EQ(occurrences(html, "class=\"wrong\""), 1u);
  EXPECT_EQ(occurrences(html, "class=\"line tensor\""), 1u);
  EXPECT_EQ(occurrences(html, "class=\"line memory\""), 1u);
  EXPECT_NE(html.find("6 trials are not drawn"), std::string::npos);
}

TEST(Roofline, DrawsWithoutRoofsWhereTheGpuIsNotKnown) {
  const SearchOutcome outcome = sampleOutcome(1, 16, false);
  const std::string html = rooflineChart(Gpu{}, outcome.tasks[0], {Times::Measured});
  EXPECT_EQ(occurrences(html, "class=\"line"), 0u);
  EXPECT_EQ(occurrences(html, "<title>"), 10u);
}

TEST(Predicted, OnlyMeasuredOnesAreComparedAndTheCorrelationIsPrinted) {
  const SearchOutcome outcome = sampleOutcome(1, 16, false);
  const std::string html = predictionChart(outcome.tasks[0], {Times::Measured});
  EXPECT_EQ(occurrences(html, "<title>"), outcome.tasks[0].measured);
  EXPECT_NE(html.find("(7 candidates)"), std::string::npos);
}

TEST(Charts, SayInWordsWhenThereIsNothingToDraw) {
  TaskOutcome empty;
  for (const std::string &html :
       {rooflineChart(sampleGpu(), empty, {Times::Measured}), predictionChart(empty, {Times::Measured}),
        convergenceChart(empty, {Times::Measured})}) {
    EXPECT_EQ(html.find("<svg"), std::string::npos);
    EXPECT_NE(html.find("class=\"none\""), std::string::npos);
  }
}

TEST(Convergence, TheLineEndsAtTheLeastTime) {
  const SearchOutcome outcome = sampleOutcome(1, 48, true);
  const std::string html = convergenceChart(outcome.tasks[0], {Times::Modelled});
  EXPECT_EQ(occurrences(html, "class=\"line best\""), 1u);
  EXPECT_NE(html.find("modelled time, ms"), std::string::npos);
  EXPECT_NE(html.find("The least time was found after"), std::string::npos);
}

} // namespace
