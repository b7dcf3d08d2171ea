// The knobs that say which query tile a block computes and what its rows are: packed heads, head groups, the order of
// tiles, persistent blocks. None changes an answer beyond rounding (N9, N12).
#include "tests/kernels/Harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;
using namespace tessera::kernels;

namespace {

/// Tiles of 16 rows by 256 keys. One stage at head dim 128, or two at 64, leave room for one block on an SM, so that
/// persistent blocks have several tiles each in problems of some hundred tiles.
Schedule slim(unsigned stages = 2) {
  Schedule schedule;
  schedule.tileQ = 16;
  schedule.tileKv = 256;
  schedule.warps = 1;
  schedule.stages = stages;
  return schedule;
}
unsigned dimOf(unsigned stages) { return stages == 1 ? 128 : 64; }

Schedule with(Schedule schedule, std::string_view knobs) {
  schedule.packHeads = knobs.find("pack") != knobs.npos;
  schedule.headGroup = knobs.find("heads") != knobs.npos ? 3 : 1;
  schedule.order = knobs.find("first") != knobs.npos ? TileOrder::FirstFirst : TileOrder::LastFirst;
  schedule.persistent = knobs.find("persist") != knobs.npos;
  return schedule;
}

KernelCase make(DType type, unsigned dim, const Mask &mask, Problem problem, const Schedule &schedule) {
  KernelCase test = caseOf(type, dim, problem, mask);
  test.schedule = schedule;
  return test;
}

int64_t tilesOf(const KernelCase &test) {
  const auto &[batch, heads, kvHeads, seqlenQ, seqlenKv] = test.problem;
  const bool packed = test.schedule->packHeads;
  const int64_t rows = packed ? seqlenQ * (heads / kvHeads) : seqlenQ, tileQ = test.schedule->tileQ;
  return (rows + tileQ - 1) / tileQ * (packed ? kvHeads : heads) * batch;
}

/// The launch had as many blocks as its grid rule says; where `walks`, persistent blocks had several tiles each.
void expectGrid(const KernelCase &test, const Outcome &outcome, bool walks = false) {
  EXPECT_EQ(outcome.info.schedule.text(), test.schedule->text()) << "a kernel of another schedule ran";
  const int64_t resident = int64_t(outcome.info.blocksPerSm.value_or(0)) * device().info().smCount;
  EXPECT_EQ(outcome.blocks, test.schedule->persistent ? std::min(resident, tilesOf(test)) : tilesOf(test));
  if (walks)
    EXPECT_LT(outcome.blocks, tilesOf(test)) << "no block had a second tile";
}

Mask maskOf(std::string_view name) {
  return name == "full"        ? Mask::full()
         : name == "causal_br" ? Mask::causal(Align::BottomRight)
         : name == "causal_tl" ? Mask::causal(Align::TopLeft)
                               : Mask::window(70, 3, Align::BottomRight);
}

class Knobs : public testing::TestWithParam<std::tuple<const char *, const char *, int>> {};

// Lengths below, at and beyond a tile, none a multiple of it; a group of 3 divides neither the tile nor the steps
// between a thread's rows.
TEST_P(Knobs, GiveTheAnswerAtUnevenLengths) {
  const auto &[knobs, mask, group] = GetParam();
  for (int64_t queries : {1, 5, 130, 300}) {
    const KernelCase test = make(DType::F16, 32, maskOf(mask), {2, group, 1, queries, 517}, with(slim(), knobs));
    if (const auto outcome = expectRight(test))
      expectGrid(test, *outcome);
  }
  // One stage, two row blocks a warp, and more positions in a tile than a thread has rows.
  expectRight(make(DType::BF16, 64, maskOf(mask), {1, 2 * group, 2, 130, 517}, with(defaultFor({}), knobs)));
}

INSTANTIATE_TEST_SUITE_P(
    QueryTiles, Knobs,
    testing::Combine(testing::Values("pack", "heads", "first", "persist", "pack_heads_first_persist"),
                     testing::Values("full", "causal_br", "causal_tl", "window"), testing::Values(1, 3, 8)),
    [](const auto &info) {
      return fmt::format("{}_{}_group{}", std::get<0>(info.param), std::get<1>(info.param), std::get<2>(info.param));
    });

// Which block computes a tile, and when, leaves no trace in it.
TEST(QueryTiles, N12_OrderGroupsAndPersistenceLeaveEveryBitAsItIs) {
  const Problem problem{2, 8, 4, 130, 300};
  for (const char *mask : {"causal_br", "window"}) {
    const auto plain = expectRight(make(DType::BF16, 64, maskOf(mask), problem, slim()));
    ASSERT_TRUE(plain);
    for (const char *knobs : {"heads", "first", "persist", "heads_first_persist"}) {
      const KernelCase test = make(DType::BF16, 64, maskOf(mask), problem, with(slim(), knobs));
      const auto outcome = expectRight(test);
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->outputBits(), plain->outputBits()) << knobs << " under " << mask;
      expectGrid(test, *outcome, test.schedule->persistent);
    }
  }
}

class Persistent : public testing::TestWithParam<int> {};

// Query tiles without keys come before and after those with many: what one leaves in flight must not meet the next.
TEST_P(Persistent, TilesWithoutKeysLeaveNothingBehind) {
  for (bool packed : {false, true}) {
    Schedule schedule = with(slim(GetParam()), packed ? "pack_persist" : "persist");
    const KernelCase test =
        make(DType::BF16, dimOf(GetParam()), Mask::causal(Align::BottomRight), {2, 8, 4, 150, 37}, schedule);
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    expectGrid(test, *outcome, true);
    EXPECT_EQ(outcome->lse(1, 7, 112), -HUGE_VALF);
    EXPECT_GT(outcome->lse(1, 7, 113), -HUGE_VALF);
  }
  const KernelCase noKeys =
      make(DType::BF16, dimOf(GetParam()), Mask::full(), {2, 8, 4, 150, 0}, with(slim(GetParam()), "persist"));
  expectRight(noKeys);
}

TEST_P(Persistent, EmptyProblemsLaunchNothing) {
  for (const char *knobs : {"persist", "pack_persist"})
    for (const Problem &problem : {Problem{0, 6, 2, 5, 17}, Problem{2, 6, 2, 0, 17}, Problem{2, 0, 2, 5, 17}})
      expectRight(make(DType::BF16, dimOf(GetParam()), Mask::full(), problem, with(slim(GetParam()), knobs)));
}

// Rows of every other head rise by 2^200 from tile to tile and need the rescue, the others never do: each block has
// tiles of both kinds, and the state of one must not reach the next.
TEST_P(Persistent, ARescueEndsWithItsTile) {
  KernelCase test =
      make(DType::BF16, dimOf(GetParam()), Mask::full(), {1, 8, 8, 250, 1100}, with(slim(GetParam()), "persist_heads"));
  test.schedule->rescale = Rescale::Anchored;
  test.spec.scale = 0.693147181f;
  test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    if (role == Role::V)
      return ordinary(role, b, s, h, c);
    return c > 0 ? 0.0f : role == Role::Q ? 1.0f : h % 2 ? float(s % 4) : -200.0f * float(s / 256);
  };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  expectGrid(test, *outcome, true);
  EXPECT_EQ(outcome->rescues, 4 * 16u) << "one for each tile of the heads whose rows rise";
}

INSTANTIATE_TEST_SUITE_P(QueryTiles, Persistent, testing::Values(1, 2),
                         [](const auto &info) { return fmt::format("stages{}", info.param); });

// A decoding step: the query heads of a group are the rows of one tile, so the keys are read once for all of them.
TEST(Packed, N9_OneQueryOfAGroupIsOneTile) {
  for (int group : {2, 8, 16})
    for (DType type : {DType::F16, DType::BF16, DType::F32}) {
      Schedule schedule = with(slim(), "pack");
      schedule.tileKv = 64;
      const KernelCase test = make(type, 64, Mask::causal(Align::BottomRight), {3, 4 * group, 4, 1, 517}, schedule);
      EXPECT_EQ(tilesOf(test), 3 * 4);
      expectRight(test);
    }
}

TEST(Packed, EveryLayoutAndAccessWidth) {
  for (Layout layout : {Layout::Bhsd, Layout::FusedQkv, Layout::Broadcast, Layout::OddPitch, Layout::PaddedPitch})
    for (DType type : {DType::F16, DType::F32}) {
      Schedule schedule = with(slim(), "pack_persist");
      schedule.tileKv = 64;
      KernelCase test = make(type, 72, maskOf("causal_tl"), {2, 6, 2, 45, 130}, schedule);
      test.layout = layout;
      expectRight(test);
    }
}

TEST(Packed, ThreeLoopsAgree) {
  Schedule schedule = with(slim(), "pack_heads_first_persist");
  schedule.loops = Loops::Three;
  schedule.rescale = Rescale::Every;
  for (const char *mask : {"full", "causal_br", "window"})
    expectRight(make(DType::F16, 64, maskOf(mask), {2, 6, 2, 130, 517}, schedule));
}

// Positions stay 64-bit, packed rows fit 31 bits or the launch is refused.
TEST(Packed, N13_MoreThan2To31RowsAreRefused) {
  KernelCase test = make(DType::BF16, 8, Mask::full(), {}, with(slim(), "pack"));
  test.spec.outputs = Output::O;
  test.spec.accessBytes = 2;
  const Result<Kernel> kernel = engine().prepare(test.spec, {}, device(), {test.schedule});
  ASSERT_TRUE(kernel) << kernel.status().text();
  const Result<DeviceBuffer> memory = device().allocate(1 << 12);
  ASSERT_TRUE(memory);
  const auto tensor = [&](int64_t length, int64_t heads) {
    return TensorView{memory->pointer(), DType::BF16, {1, length, heads, 8}, {8, 8, 8, 1}};
  };
  const int64_t length = (int64_t(1) << 30);
  const Status status = kernel->launch(
      {.q = tensor(length, 2), .k = tensor(4, 1), .v = tensor(4, 1), .o = tensor(length, 2), .lse = {}}, nullptr);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.text().find("1073741824 queries x 2 heads packed"), std::string::npos) << status.text();
  EXPECT_NE(status.text().find("without \"pack\""), std::string::npos) << status.text();
}

} // namespace
