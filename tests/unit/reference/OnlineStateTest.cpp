// The worked examples of design/numerics.md, "The algebra".
#include "autotune/reference/OnlineState.h"
#include "autotune/reference/Random.h"

#include <gtest/gtest.h>

using tessera::reference::normalAt;
using tessera::reference::OnlineState;

namespace {

TEST(Algebra, RunningMaxAndSumOfTwoBlocks) {
  OnlineState state(1);
  state.absorb(std::vector{1.0, 2.0}, std::vector{1.0, 1.0});
  EXPECT_EQ(state.m, 2);
  EXPECT_NEAR(state.l, 1.368, 5e-4);
  state.absorb(std::vector{3.0, 10.0}, std::vector{1.0, 1.0});
  EXPECT_EQ(state.m, 10);
  EXPECT_NEAR(state.l, 1.00137, 5e-6);
  EXPECT_DOUBLE_EQ(state.out(0), 1);
}

TEST(Algebra, TwoKeysInTwoBlocks) {
  OnlineState state(1);
  state.absorb(std::vector{0.0}, std::vector{2.0});
  state.absorb(std::vector{5.0}, std::vector{3.0});
  EXPECT_DOUBLE_EQ(state.out(0), (2 * std::exp(-5.0) + 3) / (std::exp(-5.0) + 1));
}

TEST(Algebra, LargeScoresOneKeyAtATime) {
  const double scores[] = {1000, 1001, 999}, values[][2] = {{1, 0}, {0, 2}, {3, -1}};
  const double l[] = {1, 1.367879441, 1.503214724};
  const double out[][2] = {{1, 0}, {0.268941421, 1.462117157}, {0.514820191, 1.240451338}};
  OnlineState state(2);
  for (int j = 0; j < 3; ++j) {
    state.absorb({&scores[j], 1}, values[j]);
    EXPECT_NEAR(state.l, l[j], 1e-9);
    EXPECT_NEAR(state.out(0), out[j][0], 1e-9); // 0.935332675 after the last key if l is rescaled and u is not
    EXPECT_NEAR(state.out(1), out[j][1], 1e-9);
  }
}

struct Case {
  std::vector<double> scores, values;
  double oneShot[4], lse;
};

Case makeCase(double range) {
  constexpr int keys = 257;
  Case made;
  double max = -HUGE_VAL, sum = 0;
  for (int j = 0; j < keys; ++j) {
    const auto uniform = [&](uint64_t stream, uint64_t i) { return std::erf(normalAt(7, stream, i) / std::sqrt(2.0)); };
    made.scores.push_back(range * uniform(1, j));
    max = std::max(max, made.scores[j]);
    for (int c = 0; c < 4; ++c)
      made.values.push_back(2 * uniform(2, j * 4 + c));
  }
  std::fill_n(made.oneShot, 4, 0.0);
  for (int j = 0; j < keys; ++j) {
    const double weight = std::exp(made.scores[j] - max);
    sum += weight;
    for (int c = 0; c < 4; ++c)
      made.oneShot[c] += weight * made.values[j * 4 + c];
  }
  for (double &out : made.oneShot)
    out /= sum;
  made.lse = max + std::log(sum);
  return made;
}

void expectSame(const OnlineState &state, const Case &expected) {
  for (int c = 0; c < 4; ++c)
    EXPECT_NEAR(state.out(c), expected.oneShot[c], 2e-14);
  EXPECT_NEAR(state.lse(), expected.lse, 1e-13 * std::max(1.0, std::fabs(expected.lse)));
}

TEST(Algebra, EveryBlockSizeEveryOrderAndEveryMergeTreeAgreeWithTheOneShotSoftmax) {
  for (double range : {1.0, 10.0, 1000.0})
    for (size_t block : {1, 7, 32, 257}) {
      const Case expected = makeCase(range);
      std::vector<OnlineState> parts;
      OnlineState forwards(4), backwards(4);
      for (size_t first = 0; first < 257; first += block) {
        const size_t count = std::min<size_t>(block, 257 - first);
        const std::span scores(expected.scores.data() + first, count),
            values(expected.values.data() + first * 4, count * 4);
        forwards.absorb(scores, values);
        parts.emplace_back(4).absorb(scores, values);
      }
      for (size_t part = parts.size(); part-- > 0;) {
        const size_t first = part * block, count = std::min<size_t>(block, 257 - first);
        backwards.absorb({expected.scores.data() + first, count}, {expected.values.data() + first * 4, count * 4});
      }
      expectSame(forwards, expected);
      expectSame(backwards, expected);
      OnlineState chain(4);
      for (size_t part = 0; part < parts.size(); part += 2) // odd ones last
        chain.merge(parts[part]);
      for (size_t part = 1; part < parts.size(); part += 2)
        chain.merge(parts[part]);
      expectSame(chain, expected);
      while (parts.size() > 1) { // a balanced tree
        std::vector<OnlineState> next;
        for (size_t part = 0; part < parts.size(); part += 2) {
          if (part + 1 < parts.size())
            parts[part].merge(parts[part + 1]);
          next.push_back(parts[part]);
        }
        parts = next;
      }
      expectSame(parts[0], expected);
    }
}

TEST(Algebra, AnyFiniteReferenceStandsForTheSameAnswer) {
  OnlineState state(1);
  state.absorb(std::vector{1.0, -2.0}, std::vector{4.0, 8.0});
  OnlineState moved = state;
  moved.shift(17.5);
  EXPECT_NEAR(moved.out(0), state.out(0), 1e-14);
  EXPECT_NEAR(moved.lse(), state.lse(), 1e-14);
}

TEST(Algebra, N11_EmptyIsNeutralBitForBitAndEmptyWithEmptyIsEmpty) {
  OnlineState state(1), empty(1), masked(1);
  masked.absorb(std::vector{-HUGE_VAL, -HUGE_VAL}, std::vector{3.0, 4.0});
  EXPECT_TRUE(masked.empty());
  state.absorb(std::vector{0.1, 0.7}, std::vector{0.3, 0.9});
  OnlineState merged = state, reversed(1);
  merged.merge(empty);
  reversed.merge(state);
  for (const OnlineState &same : {merged, reversed}) {
    EXPECT_EQ(same.m, state.m);
    EXPECT_EQ(same.l, state.l);
    EXPECT_EQ(same.u, state.u);
  }
  empty.merge(masked);
  EXPECT_EQ(empty.out(0), 0);
  EXPECT_EQ(empty.lse(), -HUGE_VAL);
}

TEST(Algebra, ARescaleThatUnderflowsToZeroIsRight) {
  OnlineState state(1);
  state.absorb(std::vector{-2000.0}, std::vector{5.0});
  state.absorb(std::vector{0.0}, std::vector{-1.0});
  EXPECT_EQ(state.out(0), -1);
  EXPECT_EQ(state.lse(), 0);
}

} // namespace
