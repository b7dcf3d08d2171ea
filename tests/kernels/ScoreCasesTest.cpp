// Score modifiers, low precision, the LSE, determinism and 64-bit addresses (cases A7, A8, A9 and rules N6, N12, N13).
#include "tests/kernels/Harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;
using namespace tessera::kernels;

namespace {

TEST(ScoreCases, A8_43_SoftcapBoundsEveryScore) {
  KernelCase test = caseOf(DType::BF16, 8, {1, 3, 3, 1, 1});
  test.spec.softcap = 15.0f;
  test.spec.scale = 1.0f;
  const float scores[] = {100, 10000, 1};
  test.values = [&](Role role, int64_t, int64_t, int64_t h, int64_t c) {
    return role == Role::V ? 1.0f : c > 0 ? 0.0f : role == Role::Q ? scores[h] : 1.0f;
  };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  EXPECT_NEAR(outcome->lse(0, 0, 0), 14.99995, 2e-4); // 100 * tanh(100) would be 100
  EXPECT_LE(outcome->lse(0, 1, 0), 15.001);
  EXPECT_NEAR(outcome->lse(0, 2, 0), 15 * std::tanh(reference::roundTo(DType::BF16, 1.0f) / 15.0), 1e-3);
}

TEST(ScoreCases, A8_43_SoftcapOnOrdinaryDataInEveryType) {
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    KernelCase test = caseOf(type, 64, {1, 2, 1, 100, 150}, Mask::causal(Align::BottomRight));
    test.spec.softcap = 2.0f;
    test.spec.scale = 1.0f;
    expectRight(test);
  }
}

TEST(ScoreCases, A8_49_ScoresBeyondTheRangeOfHalfStayFinite) {
  KernelCase test = caseOf(DType::F16, 256, {1, 1, 1, 70, 70});
  test.spec.scale = 1.0f;
  test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    return role == Role::V   ? ordinary(role, b, s, h, c)
           : role == Role::Q ? 32.0f
           : c == 0          ? 32.0f - float(s % 7)
                             : 16.0f;
  };
  const auto outcome = run(test);
  ASSERT_TRUE(outcome);
  // A plain framework in f16 gives NaN here, so the bound is ours: the largest weights belong to s % 7 == 0, 32 apart
  // from the next.
  for (int64_t i = 0; i < 70; ++i)
    for (int64_t c = 0; c < 256; ++c) {
      ASSERT_TRUE(std::isfinite(outcome->out(0, i, 0, c)));
      ASSERT_NEAR(outcome->out(0, i, 0, c), outcome->exact.outAt(0, i, 0, c), 4e-3);
    }
  EXPECT_NEAR(outcome->lse(0, 0, 0), outcome->exact.lseAt(0, 0, 0), 0.05);
}

TEST(ScoreCases, A9_51_TheLseOfOneKeyIsItsScaledScore) {
  KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, 5, 1});
  test.spec.scale = 0.25f;
  test.values = [](Role role, int64_t, int64_t s, int64_t, int64_t) { return role == Role::Q ? float(s + 1) : 1.0f; };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(outcome->lse(0, 0, i), 16.0 * (i + 1), 1e-4);
}

TEST(ScoreCases, N12_TheSameLaunchGivesTheSameBits) {
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    const KernelCase test = caseOf(type, 72, {2, 3, 1, 150, 170}, Mask::causal(Align::BottomRight));
    const auto one = expectRight(test), two = expectRight(test);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->outputBits(), two->outputBits());
  }
}

TEST(ScoreCases, N12_StagesTilesAndWarpsChangeRoundingOnly) {
  KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, 150, 300}, Mask::causal(Align::BottomRight));
  for (unsigned stages : {1u, 2u, 3u, 4u}) {
    Schedule schedule = defaultFor(test.spec);
    schedule.stages = stages;
    schedule.tileKv = 32;
    test.schedule = schedule;
    expectRight(test);
  }
  for (unsigned warps : {1u, 2u, 4u, 8u}) {
    Schedule schedule = defaultFor(test.spec);
    schedule.warps = warps;
    schedule.tileQ = 16 * warps;
    schedule.tileKv = 48;
    test.schedule = schedule;
    expectRight(test);
  }
}

TEST(ScoreCases, B1_62_TheNumberOfStagesChangesNoBit) {
  KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, 90, 300});
  std::vector<std::byte> bits;
  for (unsigned stages : {1u, 2u, 3u, 4u}) {
    Schedule schedule = defaultFor(test.spec);
    schedule.stages = stages;
    schedule.tileKv = 32;
    test.schedule = schedule;
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    if (bits.empty())
      bits = outcome->outputBits();
    EXPECT_EQ(bits, outcome->outputBits()) << stages << " stages";
  }
}

TEST(ScoreCases, N1_PreciseF32ReachesF32LikeErrors) {
  KernelCase test = caseOf(DType::F32, 64, {1, 1, 1, 100, 200});
  const auto tf32 = expectRight(test);
  test.spec.precision = Precision::Precise;
  const auto precise = expectRight(test);
  ASSERT_TRUE(tf32 && precise);
  EXPECT_LT(precise->verdict.error, tf32->verdict.error / 50);
}

} // namespace
