// The running softmax against adversaries: rows that rise or fall from tile to tile, sinks, rows that start without
// keys.
#include "tests/kernels/Harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::kernels;

namespace {

constexpr float kLn2 = 0.693147181f;

/// Scores in log2 units by key: q is (1, 0, ...), the scale is ln 2, and k's first channel is the score.
KernelCase withScores(DType type, Mask mask, int64_t queries, int64_t keys, std::function<float(int64_t)> score) {
  KernelCase test = caseOf(type, 64, {1, 1, 1, queries, keys}, mask);
  test.spec.scale = kLn2;
  test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    if (role == Role::V)
      return ordinary(role, b, s, h, c);
    return c > 0 ? 0.0f : role == Role::Q ? 1.0f : score(s) + 0.25f * float(s % 4);
  };
  return test;
}

Schedule with(const AttentionSpec &spec, Rescale rescale) {
  Schedule schedule = defaultFor(spec);
  schedule.rescale = rescale;
  schedule.tileKv = 32;
  return schedule;
}

constexpr int64_t kTile = 32, kKeys = 5 * kTile + 9;

class Steps : public testing::TestWithParam<float> {};

TEST_P(Steps, EveryPolicyGivesTheAnswerOnRowsThatRiseAndFall) {
  const float step = GetParam();
  for (DType type : {DType::BF16, DType::F16, DType::F32})
    for (Rescale rescale : {Rescale::Every, Rescale::Lazy, Rescale::Anchored})
      for (float sign : {1.0f, -1.0f})
        for (const Mask &mask : {Mask::full(), Mask::causal(Align::BottomRight)}) {
          if (rescale == Rescale::Anchored && type == DType::F16)
            continue; // refused by Schedule::legal
          KernelCase test =
              withScores(type, mask, 40, kKeys, [=](int64_t s) { return sign * step * float(s / kTile); });
          test.schedule = with(test.spec, rescale);
          expectRight(test);
        }
}

INSTANTIATE_TEST_SUITE_P(Log2PerTile, Steps, testing::Values(1.0f, 8.0f, 8.25f, 20.0f, 90.0f, 130.0f, 200.0f),
                         [](const auto &info) { return fmt::format("By{}Quarters", int(info.param * 4)); });

TEST(Anchored, TheRescueIsTakenExactlyWhenNeeded) {
  for (float step : {1.0f, 20.0f, 90.0f, 130.0f, 200.0f}) {
    uint32_t rescues = 0;
    for (float sign : {1.0f, -1.0f}) { // in one of them the rows rise in the order of the visits
      KernelCase test =
          withScores(DType::BF16, Mask::full(), 300, kKeys, [=](int64_t s) { return sign * step * float(s / kTile); });
      test.schedule = with(test.spec, Rescale::Anchored);
      const auto outcome = expectRight(test);
      ASSERT_TRUE(outcome);
      rescues += outcome->rescues;
    }
    EXPECT_EQ(rescues > 0, step >= 130) << "rows that rise by 2^" << step << " per tile: " << rescues << " rescues";
  }
}

TEST(Anchored, SinksAtEitherEnd) {
  for (float height : {20.0f, 90.0f, 200.0f})
    for (int64_t at : {int64_t(0), kKeys - 1})
      for (Rescale rescale : {Rescale::Lazy, Rescale::Anchored}) {
        KernelCase test =
            withScores(DType::BF16, Mask::full(), 40, kKeys, [=](int64_t s) { return s == at ? height : 0.0f; });
        test.schedule = with(test.spec, rescale);
        expectRight(test);
      }
}

TEST(Anchored, NonFiniteAndHugeInputsReachTheirRowsAsWithTheOnlineLoop) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (float odd : {nan, HUGE_VALF, -HUGE_VALF, 3e38f, -3e38f, 1e19f})
    for (int64_t at : {int64_t(0), int64_t(70), kKeys - 1})
      for (Rescale rescale : {Rescale::Every, Rescale::Lazy, Rescale::Anchored}) {
        KernelCase test = withScores(DType::BF16, Mask::causal(Align::BottomRight), 100, kKeys,
                                     [=](int64_t s) { return s == at ? odd : 0.0f; });
        test.schedule = with(test.spec, rescale);
        const auto outcome = expectRight(test);
        if (testing::Test::HasFailure())
          FAIL() << odd << " at key " << at << " with " << test.schedule->text();
      }
}

TEST(Softmax, RowsOfVeryNegativeAndVeryPositiveScores) {
  for (float level : {-1000.0f, 1000.0f, -60000.0f, 60000.0f, -1e9f, 1e9f})
    for (Rescale rescale : {Rescale::Every, Rescale::Lazy, Rescale::Anchored}) {
      KernelCase test =
          withScores(DType::BF16, Mask::causal(Align::BottomRight), 40, kKeys, [=](int64_t) { return level; });
      test.schedule = with(test.spec, rescale);
      expectRight(test);
    }
}

TEST(Softmax, RowsThatSeeNothingInTheFirstTilesTheyVisit) {
  // Tiles are taller than wide: in the tiles that a query tile visits first, its upper rows see nothing.
  for (Rescale rescale : {Rescale::Every, Rescale::Lazy, Rescale::Anchored})
    for (const Mask &mask : {Mask::causal(Align::TopLeft), Mask::window(10, 3, Align::TopLeft),
                             Mask::window(std::nullopt, 0, Align::BottomRight)}) {
      KernelCase test = withScores(DType::BF16, mask, 200, 200, [](int64_t s) { return -50.0f + float(s % 5); });
      test.schedule = with(test.spec, rescale);
      expectRight(test);
    }
}

/// A policy, or the three-loop form.
struct Form {
  const char *name;
  Rescale rescale;
  Loops loops;
};

constexpr Form forms[] = {{"Every", Rescale::Every, Loops::Online},
                          {"Lazy", Rescale::Lazy, Loops::Online},
                          {"Anchored", Rescale::Anchored, Loops::Online},
                          {"Three", Rescale::Every, Loops::Three}};

/// Scores so large that the rounding of one, times log2(e), is many orders of magnitude of weight.
class Huge : public testing::TestWithParam<std::tuple<DType, Precision, Form>> {
protected:
  bool legal() const {
    const auto &[type, precision, form] = GetParam();
    return type != DType::F16 || form.rescale != Rescale::Anchored; // refused by Schedule::legal
  }
  KernelCase make(Mask mask, Values values) const {
    const auto &[type, precision, form] = GetParam();
    KernelCase test = withScores(type, mask, 40, kKeys, [](int64_t) { return 0.0f; });
    test.spec.precision = precision;
    test.schedule = with(test.spec, form.rescale);
    test.schedule->loops = form.loops;
    test.values = std::move(values);
    return test;
  }
};

TEST_P(Huge, N1_EqualScoresOfAnySizeAverage) {
  if (!legal())
    return;
  for (float level : {3000.0f, 1.0e6f, 4.0e9f, 1.0e18f, 2.0e38f})
    for (float sign : {1.0f, -1.0f})
      for (bool inScale : {true, false}) {
        if (!inScale && std::get<DType>(GetParam()) == DType::F16)
          continue; // the key would be infinite
        KernelCase test = make(Mask::causal(Align::BottomRight),
                               [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
                                 if (role == Role::V)
                                   return ordinary(role, b, s, h, c);
                                 return c > 0 ? 0.0f : role == Role::Q ? 1.0f : (inScale ? 1.25f : sign * level);
                               });
        test.spec.scale = inScale ? sign * level / 1.5f : 1.0f;
        expectRight(test);
        if (testing::Test::HasFailure())
          FAIL() << "scores of " << sign * level << (inScale ? " by the scale" : " by the keys");
      }
}

TEST_P(Huge, N1_SmallDifferencesOfHugeScoresCount) {
  if (!legal())
    return;
  for (float sign : {1.0f, -1.0f})
    for (float perTile : {0.0f, 7.0f, 40.0f, -40.0f})
      for (const Mask &mask : {Mask::full(), Mask::causal(Align::BottomRight)}) {
        // 0.75 (+-2^20 + perTile * tile + s % 4): the dot is exact in f32 and in all operands, and times log2(e) is
        // not.
        KernelCase test = make(mask, [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
          if (role == Role::V)
            return ordinary(role, b, s, h, c);
          const float q[] = {32.0f, 1.0f, perTile};
          const float k[] = {sign * 32768.0f, float(s % 4), float(s / kTile)};
          return c > 2 ? 0.0f : role == Role::Q ? q[c] : k[c];
        });
        test.spec.scale = 0.75f;
        const auto outcome = expectRight(test);
        ASSERT_TRUE(outcome);
        for (int64_t i = 0; i < 40; ++i) // ours: a plain framework's 16-bit scores know no difference
          for (int64_t c = 0; c < 64; ++c)
            ASSERT_NEAR(outcome->out(0, i, 0, c), outcome->exact.outAt(0, i, 0, c), 0.02);
      }
}

TEST_P(Huge, N1_TheLargestOfHugeScoresTakesAll) {
  if (!legal())
    return;
  const bool narrow = std::get<DType>(GetParam()) == DType::F16;
  const float unit = narrow ? 4096.0f : 0x1p55f; // dots up to 2^38 (f16) and 2^124
  KernelCase test = make(Mask::causal(Align::BottomRight),
                         [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
                           const float x = ordinary(role, b, s, h, c);
                           return role == Role::V ? x : unit * std::round(4 * x); // few bits: no operand rounds
                         });
  test.spec.scale = 0.125f;
  expectRight(test);
}

INSTANTIATE_TEST_SUITE_P(Softmax, Huge,
                         testing::Combine(testing::Values(DType::BF16, DType::F16, DType::F32),
                                          testing::Values(Precision::Tf32), testing::ValuesIn(forms)),
                         [](const auto &info) {
                           return fmt::format("{}{}", name(std::get<0>(info.param)), std::get<2>(info.param).name);
                         });
INSTANTIATE_TEST_SUITE_P(SoftmaxPrecise, Huge,
                         testing::Combine(testing::Values(DType::F32), testing::Values(Precision::Precise),
                                          testing::ValuesIn(forms)),
                         [](const auto &info) { return std::string(std::get<2>(info.param).name); });

TEST(HugeRows, WideRowsLeaveTheirNeighboursAlone) {
  // With a reference that moves at every tile, what a row gets depends on nothing but the row.
  std::vector<float> ordinaryRows[2];
  for (bool wide : {false, true}) {
    KernelCase test = withScores(DType::BF16, Mask::full(), 64, kKeys, [](int64_t) { return 0.0f; });
    test.schedule = with(test.spec, Rescale::Every);
    test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
      const float x = ordinary(role, b, s, h, c);
      return role == Role::Q && wide && s % 3 == 1 ? 1e12f * x : x;
    };
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t c = 0; c < 64 && i % 3 != 1; ++c)
        ordinaryRows[wide].push_back(outcome->out(0, i, 0, c));
  }
  EXPECT_EQ(ordinaryRows[0], ordinaryRows[1]);
}

TEST(Algebra, LargeScoresInTheWorkedExample) {
  // s = (1000, 1001, 999), v = (1,0), (0,2), (3,-1): O = (0.514820191, 1.240451338) whichever key comes first. Each key
  // in a tile of its own.
  for (Rescale rescale : {Rescale::Every, Rescale::Lazy}) {
    KernelCase test;
    test.spec.dtype = DType::F32;
    test.spec.precision = Precision::Precise;
    test.spec.headDim = test.spec.valueDim = 8;
    test.spec.scale = 1.0f;
    test.spec.outputs = Output::O | Output::LSE;
    test.problem = {1, 1, 1, 1, 48};
    test.values = [](Role role, int64_t, int64_t s, int64_t, int64_t c) -> float {
      constexpr float scores[] = {1000, 1001, 999}, values[][2] = {{1, 0}, {0, 2}, {3, -1}};
      const bool key = s % 16 == 3;
      if (role == Role::V)
        return key && c < 2 ? values[s / 16][c] : 0.0f;
      return c > 0 ? 0.0f : role == Role::Q ? 1.0f : key ? scores[s / 16] : -1000.0f;
    };
    Schedule schedule = defaultFor(test.spec);
    schedule.rescale = rescale;
    schedule.tileKv = 16;
    test.schedule = schedule;
    const auto outcome = run(test);
    ASSERT_TRUE(outcome);
    EXPECT_NEAR(outcome->out(0, 0, 0, 0), 0.514820191, 2e-5);
    EXPECT_NEAR(outcome->out(0, 0, 0, 1), 1.240451338, 2e-5);
  }
}

} // namespace
