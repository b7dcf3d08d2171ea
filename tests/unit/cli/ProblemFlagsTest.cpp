// Flags and tensor shapes to specs, and the contradictions among them.
#include "autotune/cli/ProblemFlags.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::cli;

namespace {

files::HostTensor tensor(std::vector<int64_t> shape, DType type = DType::BF16) {
  size_t bytes = byteSize(type);
  for (int64_t extent : shape)
    bytes *= size_t(extent);
  return {type, std::move(shape), std::vector<std::byte>(bytes)};
}

std::array<files::HostTensor, 3> tensors(std::vector<int64_t> q, std::vector<int64_t> k, std::vector<int64_t> v) {
  return {tensor(std::move(q)), tensor(std::move(k)), tensor(std::move(v))};
}

std::string reason(const Result<ResolvedProblem> &problem) {
  EXPECT_FALSE(problem);
  return problem.status().text();
}

TEST(ProblemFlags, DefaultsFollowEachOther) {
  ProblemFlags flags;
  flags.heads = 6;
  flags.seqlenQ = 9;
  flags.headDim = 64;
  const Result<ResolvedProblem> problem = flags.resolve();
  ASSERT_TRUE(problem) << problem.status().text();
  EXPECT_EQ(problem->sizes.keyHeads, 6);
  EXPECT_EQ(problem->sizes.keyLength, 9);
  EXPECT_EQ(problem->spec.valueDim, 64u);
  EXPECT_TRUE(problem->spec.mask.isFull());
}

TEST(ProblemFlags, N3_N4_MasksComposeByIntersection) {
  ProblemFlags flags;
  flags.causal = Align::TopLeft;
  flags.window = Window{3, 7};
  EXPECT_EQ(flags.resolve()->spec.mask, Mask::window(3, 0, Align::TopLeft));
  flags.causal.reset();
  const Result<ResolvedProblem> window = flags.resolve();
  EXPECT_EQ(window->spec.mask, Mask::window(3, 7, Align::BottomRight));
  ASSERT_EQ(window->notes.size(), 1u) << "an alignment that was assumed is said";
  flags.align = Align::TopLeft;
  EXPECT_EQ(flags.resolve()->spec.mask, Mask::window(3, 7, Align::TopLeft));
  EXPECT_TRUE(flags.resolve()->notes.empty());
  flags.causal = Align::BottomRight;
  EXPECT_NE(reason(flags.resolve()).find("--causal bottom-right contradicts --align top-left"), std::string::npos);
  flags = {};
  flags.window = Window{};
  EXPECT_TRUE(flags.resolve()->spec.mask.isFull());
  flags.window.reset();
  flags.align = Align::TopLeft;
  EXPECT_NE(reason(flags.resolve()).find("no meaning without a mask"), std::string::npos);
}

TEST(ProblemFlags, ShapesComeFromTheTensors) {
  ProblemFlags flags;
  const Result<ResolvedProblem> problem = flags.resolve(tensors({2, 5, 8, 64}, {2, 7, 2, 64}, {2, 7, 2, 32}));
  ASSERT_TRUE(problem) << problem.status().text();
  EXPECT_EQ(problem->sizes.queryHeads, 8);
  EXPECT_EQ(problem->sizes.keyLength, 7);
  EXPECT_EQ(problem->spec.valueDim, 32u);
  EXPECT_EQ(problem->spec.dtype, DType::BF16);
}

TEST(ProblemFlags, AContradictionNamesFlagAndTensor) {
  ProblemFlags flags;
  flags.headDim = 128;
  const std::string text = reason(flags.resolve(tensors({2, 5, 8, 64}, {2, 7, 2, 64}, {2, 7, 2, 64})));
  EXPECT_NE(text.find("--head-dim 128 contradicts q of shape (2, 5, 8, 64), which has 64"), std::string::npos) << text;
  flags = {};
  flags.dtype = DType::F16;
  EXPECT_NE(reason(flags.resolve(tensors({1, 5, 8, 64}, {1, 7, 2, 64}, {1, 7, 2, 64}))).find("--dtype f16"),
            std::string::npos);
}

TEST(ProblemFlags, TensorsThatDoNotFitTogetherAreRefused) {
  const ProblemFlags flags;
  EXPECT_NE(reason(flags.resolve(tensors({5, 8, 64}, {1, 7, 2, 64}, {1, 7, 2, 64}))).find("3 dimensions"),
            std::string::npos);
  EXPECT_NE(
      reason(flags.resolve(tensors({1, 5, 8, 64}, {1, 7, 2, 32}, {1, 7, 2, 64}))).find("head dim 64 and k has 32"),
      std::string::npos);
  EXPECT_NE(reason(flags.resolve(tensors({1, 5, 8, 64}, {1, 7, 3, 64}, {1, 7, 3, 64}))).find("8 query heads"),
            std::string::npos);
  EXPECT_NE(reason(flags.resolve(tensors({1, 5, 8, 64}, {1, 7, 2, 64}, {1, 9, 2, 64}))).find("7 keys and v holds 9"),
            std::string::npos);
  auto mixed = tensors({1, 5, 8, 64}, {1, 7, 2, 64}, {1, 7, 2, 64});
  mixed[2].type = DType::F16;
  EXPECT_NE(reason(flags.resolve(mixed)).find("q is bf16 but v is f16"), std::string::npos);
}

TEST(ProblemFlags, PreciseIsForF32) {
  ProblemFlags flags;
  flags.precise = true;
  EXPECT_NE(reason(flags.resolve()).find("--precise"), std::string::npos);
  flags.dtype = DType::F32;
  EXPECT_EQ(flags.resolve()->spec.precision, Precision::Precise);
  flags.precise = false;
  EXPECT_EQ(flags.resolve()->notes.size(), 1u) << "tf32 is stated";
}

TEST(Values, WholeTextsOrNothing) {
  for (const char *text : {"", "3x", "-1", "1e3", "2147483648", "99999999999999999999", " 3"})
    EXPECT_FALSE(parseSize(text)) << text;
  EXPECT_EQ(*parseSize("2147483647"), 2147483647);
  EXPECT_FALSE(parsePositive("0"));
  for (const char *text : {"", "3", "3,", ",3", "3,-1", "a,b", "3,4,5", "-1,0"})
    EXPECT_FALSE(parseWindow(text)) << text;
  EXPECT_EQ(parseWindow("inf,5")->left, std::nullopt);
  EXPECT_EQ(parseWindow("0,inf")->left, 0);
  for (const char *text : {"nan", "inf", "1.0.0", ""})
    EXPECT_FALSE(parseNumber(text)) << text;
}

} // namespace
