// Generated data and layouts.
#include "autotune/cli/HostProblem.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::cli;

namespace {

TEST(HostProblem, TheSeedAloneDecidesTheValues) {
  ProblemFlags flags;
  flags.seqlenQ = 5;
  flags.headDim = 8;
  InputFlags inputs;
  const auto zero = makeHostProblem(flags, inputs);
  inputs.seed = 1;
  const auto one = makeHostProblem(flags, inputs);
  inputs.layout = Layout::Bhsd;
  const auto other = makeHostProblem(flags, inputs);
  ASSERT_TRUE(zero && one && other);
  EXPECT_NE(zero->tensors[0].bytes, one->tensors[0].bytes);
  EXPECT_NE(one->tensors[0].bytes, one->tensors[1].bytes);
  EXPECT_EQ(one->tensors[2].bytes, other->tensors[2].bytes);
}

TEST(HostProblem, ADimOfOneWideAccessIsFoundFromTheStrides) {
  ProblemFlags flags;
  flags.headDim = 8;
  flags.heads = 1;
  EXPECT_EQ(makeHostProblem(flags, {})->resolved.spec.accessBytes, 16u);
}

TEST(HostProblem, LayoutsRoundTrip) {
  const std::array<int64_t, 4> shape{2, 3, 4, 5};
  std::vector<std::byte> bshd;
  for (int n = 0; n < 2 * 3 * 4 * 5 * 2; ++n)
    bshd.push_back(std::byte(n));
  const std::vector<std::byte> stored = toLayout(Layout::Bhsd, bshd, shape, 2);
  EXPECT_EQ(fromLayout(Layout::Bhsd, stored, shape, 2), bshd);
  const std::array<int64_t, 4> strides = stridesOf(Layout::Bhsd, shape);
  // Element (1, 2, 3, 4) in both orders.
  EXPECT_EQ(stored[size_t(strides[0] + 2 * strides[1] + 3 * strides[2] + 4) * 2],
            bshd[size_t(((1 * 3 + 2) * 4 + 3) * 5 + 4) * 2]);
  EXPECT_EQ(toLayout(Layout::Bshd, bshd, shape, 2), bshd);
}

} // namespace
