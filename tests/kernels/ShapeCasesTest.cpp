// The kinds of public bug reports about lengths, head dims, grouped heads, strides and integer widths (cases A3 to A7).
#include "tests/kernels/Harness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera;
using namespace tessera::kernels;

namespace {

/// The cheapest legal kernel, for cases of very many tiny blocks.
Schedule tiny() {
  Schedule schedule;
  schedule.tileQ = 16;
  schedule.tileKv = 16;
  schedule.warps = 1;
  schedule.stages = 1;
  return schedule;
}

TEST(ShapeCases, A3_16_LengthsAroundTheTile) {
  const Schedule tiles = defaultFor(caseOf(DType::BF16, 128, {}).spec);
  for (int64_t length : {int64_t(1), int64_t(tiles.tileKv) - 1, int64_t(tiles.tileKv), int64_t(tiles.tileKv) + 1,
                         2 * int64_t(tiles.tileKv) - 1, int64_t(tiles.tileQ) + 1})
    expectRight(caseOf(DType::BF16, 128, {1, 4, 4, length, length}));
}

TEST(ShapeCases, A3_17_PaddedKeysTakeNoPartWhereTrueScoresAreNegative) {
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    KernelCase test = caseOf(type, 64, {1, 1, 1, 20, 65});
    test.problem.seqlenKv = defaultFor(test.spec).tileKv + 1;
    test.spec.scale = 1.0f;
    test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
      return role == Role::V   ? ordinary(role, b, s, h, c)
             : c > 0           ? 0.0f
             : role == Role::Q ? 1.0f
                               : -30.0f - float(s % 3);
    };
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    EXPECT_LT(outcome->lse(0, 0, 0), -20) << "a padded key of score 0 would give about 0";
  }
}

TEST(ShapeCases, A3_18_NoKeysNoQueriesNoBatch) {
  for (const Mask &mask : {Mask::full(), Mask::causal(Align::BottomRight), Mask::causal(Align::TopLeft)})
    for (const Problem &problem : {Problem{2, 2, 1, 64, 0}, Problem{2, 2, 1, 0, 4096}, Problem{0, 2, 1, 64, 4096}}) {
      const auto outcome = expectRight(caseOf(DType::BF16, 64, problem, mask));
      ASSERT_TRUE(outcome);
      if (problem.seqlenKv == 0)
        for (int64_t i = 0; i < 64; ++i) {
          ASSERT_EQ(outcome->out(1, i, 1, 63), 0);
          ASSERT_EQ(outcome->lse(1, 1, i), -HUGE_VALF);
        }
    }
}

TEST(ShapeCases, A3_19_ABatchOfZero) { expectRight(caseOf(DType::F16, 64, {0, 10, 10, 3952, 16})); }

TEST(ShapeCases, A3_24_TensorsOfDifferentLengthsAreRefusedBeforeTheLaunch) {
  const Result<Kernel> kernel = engine().prepare(caseOf(DType::BF16, 8, {}).spec, {}, device());
  ASSERT_TRUE(kernel) << kernel.status().text();
  const Result<DeviceBuffer> memory = device().allocate(1 << 16);
  ASSERT_TRUE(memory);
  LaunchArguments arguments;
  const auto tensor = [&](int64_t length) {
    return TensorView::contiguous(memory->pointer(), DType::BF16, 1, length, 4, 8);
  };
  arguments.q = arguments.o = tensor(10);
  arguments.k = tensor(20);
  arguments.lse = RowView::contiguous(static_cast<float *>(memory->pointer()), 1, 4, 10);
  for (int64_t cut : {1, 2, 10, 17}) {
    arguments.v = tensor(cut);
    const Status refused = kernel->launch(arguments, nullptr);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.code(), Code::InvalidArgument);
    EXPECT_NE(refused.text().find("v has shape (1, " + std::to_string(cut)), std::string::npos) << refused.text();
  }
}

TEST(ShapeCases, A4_25_EveryChannelCounts) {
  for (unsigned first : {64u, 120u}) {
    KernelCase test = caseOf(DType::F16, 128, {1, 2, 2, 130, 130});
    test.values = [=, ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
      return c < first ? 0.0f : ordinary(role, b, s, h, c);
    };
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->out(0, 0, 0, 0), 0);
    EXPECT_NE(outcome->out(0, 0, 0, 127), 0);
  }
}

TEST(ShapeCases, A4_26_EveryHeadDimWorksOrIsRefusedWithTheReason) {
  for (unsigned dim : {40u, 72u, 80u, 96u, 112u, 224u})
    expectRight(caseOf(DType::BF16, dim, {1, 1, 1, 70, 70}));
  for (unsigned dim : {100u, 4u, 264u}) {
    const Result<Kernel> refused = engine().prepare(caseOf(DType::BF16, dim, {}).spec, {}, device());
    ASSERT_FALSE(refused) << dim;
    EXPECT_EQ(refused.status().code(), Code::Unsupported);
    EXPECT_NE(refused.status().text().find(std::to_string(dim)), std::string::npos) << refused.status().text();
  }
}

TEST(ShapeCases, A4_27_TheDefaultScaleIsThatOfTheRequestedHeadDim) {
  KernelCase test = caseOf(DType::BF16, 80, {1, 1, 1, 1, 1});
  test.values = [](Role, int64_t, int64_t, int64_t, int64_t) { return 1.0f; };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  EXPECT_NEAR(outcome->lse(0, 0, 0), std::sqrt(80.0), 1e-5); // 1/sqrt(96) would give 8.165, 1/sqrt(128) 7.071
}

TEST(ShapeCases, A5_28_QueryHeadsFindTheirKeyHeadByDivision) {
  KernelCase test = caseOf(DType::BF16, 64, {1, 4, 2, 3, 5});
  test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    return role == Role::V ? float(h) : ordinary(role, b, s, h, c);
  };
  const auto outcome = expectRight(test);
  ASSERT_TRUE(outcome);
  for (int h = 0; h < 4; ++h)
    EXPECT_EQ(outcome->out(0, 0, h, 0), h / 2);
}

TEST(ShapeCases, A5_29_AnyGroupSize) {
  for (const auto &[heads, kvHeads] : {std::pair<int64_t, int64_t>(28, 4), {24, 4}, {40, 8}, {64, 4}, {5, 1}, {13, 1}})
    expectRight(caseOf(DType::BF16, 64, {2, heads, kvHeads, 3, 19}, Mask::causal(Align::BottomRight)));
}

TEST(ShapeCases, A6_33_SlicesOfAFusedBufferAndTransposedViews) {
  KernelCase test = caseOf(DType::F16, 64, {1, 16, 1, 200, 200});
  test.layout = Layout::FusedQkv;
  expectRight(test);
  test = caseOf(DType::F16, 128, {1, 16, 16, 62, 62});
  test.layout = Layout::Bhsd;
  expectRight(test);
}

TEST(ShapeCases, A6_34_BroadcastKeysEqualMaterialisedOnes) {
  for (int64_t keys : {33, 65, 129}) {
    KernelCase test = caseOf(DType::BF16, 256, {2, 2, 2, 20, keys});
    test.layout = Layout::Broadcast;
    const auto broadcast = expectRight(test);
    test.layout = Layout::Bshd;
    test.values = [ordinary = normal(1)](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
      return role == Role::Q ? ordinary(role, b, s, h, c) : ordinary(role, 0, s, 0, c);
    };
    const auto materialised = expectRight(test);
    ASSERT_TRUE(broadcast && materialised);
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t c = 0; c < 256; ++c)
        ASSERT_EQ(broadcast->out(1, i, 1, c), materialised->out(1, i, 1, c));
  }
}

TEST(ShapeCases, A6_36_ARowPitchOf1185ElementsAndAnOddBase) {
  for (DType type : {DType::F16, DType::F32}) {
    KernelCase test = caseOf(type, 32, {1, 37, 37, 20, 20}); // 37 * 32 + 1 = 1185
    test.layout = Layout::OddPitch;
    const auto outcome = expectRight(test);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->info.spec.accessBytes, byteSize(type));
  }
}

TEST(ShapeCases, A6_36_AWiderKernelRefusesAMisalignedTensorByName) {
  const Result<Kernel> kernel = engine().prepare(caseOf(DType::BF16, 8, {}).spec, {}, device());
  ASSERT_TRUE(kernel) << kernel.status().text();
  const Result<DeviceBuffer> memory = device().allocate(1 << 16);
  ASSERT_TRUE(memory);
  LaunchArguments arguments;
  arguments.q = arguments.k = arguments.v = arguments.o =
      TensorView::contiguous(memory->pointer(), DType::BF16, 1, 10, 1, 8);
  arguments.k.data = reinterpret_cast<void *>(memory->address() + 2);
  arguments.lse = RowView::contiguous(static_cast<float *>(memory->pointer()), 1, 1, 10);
  const Status refused = kernel->launch(arguments, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.text().find("k at address"), std::string::npos) << refused.text();
}

TEST(ShapeCases, A7_40_PositionsBeyond32768) {
  // Only keys far right are seen; a 16-bit position would see others.
  expectRight(caseOf(DType::BF16, 8, {1, 1, 1, 3, 66048}, Mask::window(40, 0, Align::BottomRight)));
  KernelCase test = caseOf(DType::BF16, 8, {1, 1, 1, 70000, 2}, Mask::causal(Align::BottomRight));
  test.schedule = tiny();
  expectRight(test);
}

TEST(ShapeCases, A7_41_MoreThan65535BatchesAndHeads) {
  for (const Problem &problem : {Problem{65537, 1, 1, 1, 1}, Problem{1, 65537, 65537, 1, 1}}) {
    KernelCase test = caseOf(DType::BF16, 8, problem);
    test.schedule = tiny();
    expectRight(test);
  }
}

} // namespace
