// Views: dense strides, the common alignment, and problems that are refused.
#include "runtime/engine/TensorView.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

TEST(TensorView, DenseStrides) {
  TensorView view = TensorView::contiguous(nullptr, DType::F16, 2, 3, 5, 8);
  EXPECT_EQ(view.strides, (std::array<int64_t, 4>{120, 40, 8, 1}));
  view = TensorView::headMajor(nullptr, DType::F16, 2, 3, 5, 8);
  EXPECT_EQ(view.shape, (std::array<int64_t, 4>{2, 3, 5, 8}));
  EXPECT_EQ(view.strides, (std::array<int64_t, 4>{120, 8, 24, 1}));
  EXPECT_EQ(RowView::contiguous(nullptr, 2, 5, 3).strides, (std::array<int64_t, 3>{15, 3, 1}));
}

TEST(TensorView, N13_AccessWidthIsWhatAddressesAndStridesAllow) {
  const TensorView whole = TensorView::contiguous(at(0x1000), DType::BF16, 2, 3, 5, 8);
  EXPECT_EQ(accessBytesFor(whole, whole, whole, whole), 16u);
  for (unsigned bytes : {2u, 4u, 8u}) {
    TensorView view = whole;
    view.data = at(0x1000 + bytes);
    EXPECT_EQ(accessBytesFor(whole, view, whole, whole), bytes);
    EXPECT_EQ(accessBytesFor(whole, whole, whole, view), bytes);
    for (unsigned dim = 0; dim < 3; ++dim) {
      view = whole;
      view.strides[dim] = 1024 + bytes / 2;
      EXPECT_EQ(accessBytesFor(view, whole, whole, whole), bytes) << dim;
      EXPECT_EQ(accessBytesFor(whole, whole, view, whole), bytes) << dim;
    }
  }
  TensorView odd = whole;
  odd.data = at(0x1001);
  EXPECT_EQ(accessBytesFor(odd, whole, whole, whole), 1u);
}

TEST(TensorView, StridesOfSingleAndEmptyExtentsDoNotCount) {
  TensorView view = TensorView::contiguous(at(0x1000), DType::BF16, 1, 3, 1, 8);
  view.strides = {1, 8, 3, 1};
  EXPECT_EQ(accessBytesFor(view, view, view, view), 16u);
  TensorView empty = TensorView::contiguous(at(0x1002), DType::BF16, 1, 0, 1, 8);
  EXPECT_EQ(accessBytesFor(view, empty, empty, view), 16u);
}

TEST(Problem, RefusalsCarryTheValues) {
  auto message = [](Problem problem) { return problem.validate().message(); };
  EXPECT_TRUE(Problem{}.validate().ok());
  EXPECT_TRUE((Problem{0, 0, 0, 0, 0}.validate().ok()));
  EXPECT_TRUE((Problem{1 << 20, 70000, 10000, INT32_MAX, INT32_MAX}.validate().ok())); // N13
  EXPECT_EQ(message({-1, 1, 1, 1, 1}), "batch must be 0 to 9223372036854775807, got -1");
  EXPECT_EQ(message({1, 8, 3, 1, 1}), "heads must be a multiple of kv_heads, got 8 and 3"); // N9
  EXPECT_EQ(message({1, 8, 0, 1, 1}), "heads must be a multiple of kv_heads, got 8 and 0");
  EXPECT_EQ(message({1, 1, 1, int64_t(1) << 31, 1}), "seqlen_q must be 0 to 2147483647, got 2147483648");
  EXPECT_EQ(message({1, 1, 1, 1, -7}), "seqlen_kv must be 0 to 2147483647, got -7");
}

} // namespace
} // namespace tessera
