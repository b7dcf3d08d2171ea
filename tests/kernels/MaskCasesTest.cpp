// The kinds of public bug reports about masked rows, infinities, NaN, alignment and windows (cases A1 and A2).
#include "tests/kernels/Harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::kernels;

namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Zero and -inf in these rows, bit for bit, and something else in all others.
void expectEmptyRows(const Outcome &outcome, const Problem &problem, int64_t begin, int64_t end, unsigned dim) {
  for (int64_t b = 0; b < problem.batch; ++b)
    for (int64_t h = 0; h < problem.heads; ++h)
      for (int64_t i = 0; i < problem.seqlenQ; ++i) {
        const bool empty = i >= begin && i < end;
        ASSERT_EQ(outcome.lse(b, h, i) == -HUGE_VALF, empty) << "row " << i;
        if (empty)
          for (unsigned c = 0; c < dim; ++c)
            ASSERT_EQ(outcome.out(b, i, h, c), 0) << "row " << i;
      }
}

TEST(MaskCases, A1_1_RowsWithoutKeysAreZeroAndTheOthersEqualTheSmallerProblem) {
  for (DType type : {DType::F32, DType::BF16}) {
    // Top-left diagonal: rows 4 to 7 of 8 see none of 4 keys.
    const KernelCase test = caseOf(type, 8, {1, 1, 1, 8, 4}, Mask::window(0, 0, Align::TopLeft));
    const auto outcome = expectRight(test), smaller = expectRight(caseOf(type, 8, {1, 1, 1, 4, 4}, test.spec.mask));
    ASSERT_TRUE(outcome && smaller);
    expectEmptyRows(*outcome, test.problem, 4, 8, 8);
    for (int i = 0; i < 4; ++i)
      for (int c = 0; c < 8; ++c)
        EXPECT_EQ(outcome->out(0, i, 0, c), smaller->out(0, i, 0, c));
  }
}

TEST(MaskCases, ATileWithoutKeysWritesItsZerosAfterAllHaveReadTheirQueries) {
  // Queries of 8 elements are staged narrower than outputs, and no step of the loop stands between them.
  for (DType type : {DType::F32, DType::BF16}) {
    KernelCase test = caseOf(type, 8, {1, 2, 1, 256, 64}, Mask::window(0, 0, Align::TopLeft));
    test.schedule = defaultFor(test.spec);
    test.schedule->queryInRegisters = true;
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    expectEmptyRows(*outcome, test.problem, 64, 256, 8);
  }
}

TEST(MaskCases, A1_2_ScoresNearTheLowestFloatHaveNoWeightBesideOrdinaryOnes) {
  for (DType type : {DType::F32, DType::BF16}) {
    KernelCase test = caseOf(type, 64, {1, 2, 2, 70, 441});
    test.spec.scale = 1.0f;
    const int64_t lowest = defaultFor(test.spec).tileKv;
    for (bool atTheEnd : {false, true}) {
      test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
        const bool low = atTheEnd ? s >= 441 - lowest : s < lowest;
        if (role == Role::V)
          return ordinary(role, b, s, h, c);
        return c > 0 ? 0.0f : role == Role::Q ? 1.0f : low ? -3.25e38f : ordinary(role, b, s, h, c);
      };
      const auto outcome = expectRight(test);
      ASSERT_TRUE(outcome);
      EXPECT_TRUE(std::isfinite(outcome->out(0, 0, 0, 0)));
    }
  }
}

TEST(MaskCases, A1_2_ARowOfNothingButLowestScoresIsTheAverage) {
  KernelCase test = caseOf(DType::F32, 8, {1, 1, 1, 3, 3});
  test.spec.scale = 1.0f;
  test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    return role == Role::V   ? ordinary(role, b, s, h, c)
           : c > 0           ? 0.0f
           : role == Role::Q ? (s == 0 ? 1.0f : 0.5f)
                             : -3.0e38f;
  };
  expectRight(test);
}

TEST(MaskCases, A1_6_LeadingRowsWithoutKeysLeaveTheOthersAlone) {
  for (unsigned dim : {64u, 256u}) {
    const KernelCase test = caseOf(DType::BF16, dim, {1, 2, 1, 50, 36}, Mask::causal(Align::BottomRight));
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    expectEmptyRows(*outcome, test.problem, 0, 14, dim);
  }
}

TEST(MaskCases, A1_7_NaNQueriesGiveNaN) {
  KernelCase test = caseOf(DType::BF16, 8, {2, 4, 4, 16, 16});
  test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    return role == Role::Q ? kNaN : ordinary(role, b, s, h, c);
  };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::isnan(outcome->out(1, 15, 3, 7)));
  EXPECT_TRUE(std::isnan(outcome->lse(1, 3, 15)));
}

TEST(MaskCases, A1_7_ANaNInAMaskedKeyChangesNoBit) {
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    KernelCase test = caseOf(type, 8, {1, 2, 2, 2, 40}, Mask::window(3, 0, Align::TopLeft));
    std::vector<std::byte> bits;
    for (float poison : {0.0f, kNaN, HUGE_VALF, -HUGE_VALF}) {
      test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
        return role == Role::K && s >= 2 ? poison : ordinary(role, b, s, h, c);
      };
      const auto outcome = expectRight(test);
      ASSERT_TRUE(outcome);
      if (bits.empty())
        bits = outcome->outputBits();
      EXPECT_EQ(bits, outcome->outputBits()) << poison;
    }
  }
}

TEST(MaskCases, A1_7_NaNAndInfInVisibleKeysAndValuesReachTheirRowsOnly) {
  for (Role role : {Role::K, Role::V})
    for (float poison : {kNaN, HUGE_VALF, -HUGE_VALF}) {
      KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, 90, 90}, Mask::causal(Align::TopLeft));
      test.values = [=, ordinary = normal(1)](Role which, int64_t b, int64_t s, int64_t h, int64_t c) {
        return which == role && s == 60 && c == 5 ? poison : ordinary(which, b, s, h, c);
      };
      const auto outcome = run(test);
      ASSERT_TRUE(outcome);
      if (role == Role::K)
        EXPECT_TRUE(outcome->verdict.ok) << outcome->verdict.complaint;
      // A value that no row of the tile sees may still meet weight 0 there, as in PyTorch (N8); other components stay
      // clean.
      for (int64_t i = 0; i < 90; ++i)
        if (role == Role::V)
          EXPECT_TRUE(std::isfinite(outcome->out(0, i, 0, 4))) << i;
        else if (i < 60)
          EXPECT_TRUE(std::isfinite(outcome->out(0, i, 0, 5))) << i;
      if (role == Role::V)
        for (int64_t i = 60; i < 90; ++i)
          EXPECT_FALSE(std::isfinite(outcome->out(0, i, 0, 5))) << i;
    }
}

TEST(MaskCases, A1_8_WhatLiesBehindTheSequencesChangesNoBit) {
  for (const auto &[sq, sk] : {std::pair<int64_t, int64_t>(9, 9), {1001, 503}})
    for (Layout layout : {Layout::Bshd, Layout::FusedQkv}) {
      KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, sq, sk});
      test.layout = layout;
      const auto poisoned = expectRight(test);
      test.poison = std::byte{0};
      const auto zeroed = expectRight(test);
      ASSERT_TRUE(poisoned && zeroed);
      for (int64_t i = 0; i < sq; ++i)
        for (int64_t c = 0; c < 64; ++c)
          ASSERT_EQ(std::bit_cast<uint32_t>(poisoned->out(0, i, 0, c)),
                    std::bit_cast<uint32_t>(zeroed->out(0, i, 0, c)))
              << i;
    }
}

TEST(MaskCases, A1_9_TilesOutsideOfTheWindowChangeNoBit) {
  for (int64_t sq : {1024, 128}) {
    KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, sq, 1024}, Mask::window(32, 0, Align::BottomRight));
    const int64_t firstVisible = 1024 - sq - 32, tile = defaultFor(test.spec).tileKv;
    std::vector<std::byte> bits;
    for (float poison : {0.0f, kNaN}) {
      test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
        const bool unseen = role == Role::K ? s < firstVisible : role == Role::V && s < firstVisible / tile * tile;
        return unseen ? poison : ordinary(role, b, s, h, c);
      };
      const auto outcome = expectRight(test);
      ASSERT_TRUE(outcome);
      if (bits.empty())
        bits = outcome->outputBits();
      EXPECT_EQ(bits, outcome->outputBits());
    }
  }
}

TEST(MaskCases, A2_10_CausalWithMoreQueriesThanKeysWritesZerosInTheLeadingRows) {
  for (const auto &[sq, sk] : {std::pair<int64_t, int64_t>(5, 2), {600, 300}, {2048, 1024}}) {
    const KernelCase test = caseOf(DType::BF16, 16, {1, 1, 1, sq, sk}, Mask::causal(Align::BottomRight));
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    expectEmptyRows(*outcome, test.problem, 0, sq - sk, 16);
  }
}

TEST(MaskCases, A2_11_AWindowOfFourTokensSeesExactlyFour) {
  KernelCase test = caseOf(DType::BF16, 8, {1, 1, 1, 8, 8}, Mask::window(3, 0, Align::BottomRight));
  test.values = [](Role role, int64_t, int64_t s, int64_t, int64_t c) {
    return role == Role::V && c == s ? 1.0f : 0.0f;
  };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NEAR(outcome->lse(0, 0, i), std::log(std::min(i + 1, 4)), 1e-6);
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(outcome->out(0, i, 0, j) != 0, j <= i && j >= i - 3) << i << " " << j;
  }
}

TEST(MaskCases, A2_13_ANegativeBoundIsRefusedAndAWindowOffTheKeysIsEmpty) {
  AttentionSpec spec;
  spec.mask = Mask::window(std::nullopt, -3, Align::BottomRight);
  const Result<Kernel> refused = engine().prepare(spec, {}, device());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().code(), Code::InvalidArgument);
  EXPECT_NE(refused.status().text().find("-3"), std::string::npos) << refused.status().text();
  // Rows whose window lies wholly left of the first key: i + 64 < 129 - 33.
  const KernelCase test = caseOf(DType::BF16, 64, {1, 1, 1, 129, 33}, Mask::window(32, 64, Align::BottomRight));
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  expectEmptyRows(*outcome, test.problem, 0, 32, 64);
}

TEST(MaskCases, A2_15_OneQueryTwoKeysWindowOne) {
  expectRight(caseOf(DType::BF16, 64, {1, 1, 1, 1, 2}, Mask::window(0, 0, Align::BottomRight)));
  expectRight(caseOf(DType::BF16, 64, {1, 1, 1, 1, 2}, Mask::window(1, 0, Align::TopLeft)));
}

} // namespace
