// Dense tensors and access widths in C.
#include "tests/unit/capi/Capi.h"

#include <algorithm>

namespace tessera::capi {
namespace {

template <size_t n> std::vector<int64_t> values(const int64_t (&array)[n]) { return {array, array + n}; }

TEST(CTensors, DenseOnesHaveTheStridesOfTheirOrder) {
  void *data = reinterpret_cast<void *>(0x1000);
  tessera_tensor tensor;
  ASSERT_EQ(tessera_tensor_contiguous(data, TESSERA_F32, 2, 3, 5, 8, &tensor), TESSERA_OK);
  EXPECT_EQ(tensor.data, data);
  EXPECT_EQ(tensor.dtype, TESSERA_F32);
  EXPECT_EQ(tensor.reserved, 0);
  EXPECT_EQ(values(tensor.shape), (std::vector<int64_t>{2, 3, 5, 8}));
  EXPECT_EQ(values(tensor.strides), (std::vector<int64_t>{120, 40, 8, 1}));
  ASSERT_EQ(tessera_tensor_head_major(data, TESSERA_BF16, 2, 3, 5, 8, &tensor), TESSERA_OK);
  EXPECT_EQ(values(tensor.shape), (std::vector<int64_t>{2, 3, 5, 8}));
  EXPECT_EQ(values(tensor.strides), (std::vector<int64_t>{120, 8, 24, 1}));
  tessera_rows rows;
  ASSERT_EQ(tessera_rows_contiguous(nullptr, 2, 3, 5, &rows), TESSERA_OK);
  EXPECT_EQ(values(rows.shape), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(values(rows.strides), (std::vector<int64_t>{15, 5, 1}));
}

TEST(CTensors, N13_ExtentsBeyond64BitsAreRefused) {
  tessera_tensor tensor;
  tessera_rows rows;
  const int64_t half = int64_t(1) << 31;
  EXPECT_EQ(tessera_tensor_contiguous(nullptr, TESSERA_F16, half, half, 1, 1, &tensor), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "a tensor of shape (2147483648, 2147483648, 1, 1) has more than 2^63 bytes");
  EXPECT_EQ(tessera_tensor_contiguous(nullptr, TESSERA_F16, half, half / 2, 2, 1, &tensor), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_tensor_contiguous(nullptr, TESSERA_F16, half, half / 2, 1, 1, &tensor), TESSERA_OK);
  EXPECT_EQ(tessera_tensor_contiguous(nullptr, TESSERA_F16, 0, half, half, half, &tensor), TESSERA_INVALID_ARGUMENT)
      << "its strides would not fit";
  EXPECT_EQ(tessera_tensor_head_major(nullptr, TESSERA_F16, 1, -1, 1, 1, &tensor), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_tensor_contiguous(nullptr, 0, 1, 1, 1, 1, &tensor), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_rows_contiguous(nullptr, half, half, 1, &rows), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_rows_contiguous(nullptr, 0, 0, 0, &rows), TESSERA_OK);
}

TEST(CTensors, AccessIsTheWidestThatAllAllow) {
  tessera_tensor wide, narrow;
  ASSERT_EQ(tessera_tensor_contiguous(reinterpret_cast<void *>(0x1000), TESSERA_F16, 1, 4, 2, 64, &wide), TESSERA_OK);
  uint32_t bytes = 0;
  ASSERT_EQ(tessera_access_bytes(&wide, &wide, &wide, &wide, &bytes), TESSERA_OK);
  EXPECT_EQ(bytes, 16u);
  for (uint32_t offset : {8, 4, 2, 1}) {
    narrow = wide;
    narrow.data = reinterpret_cast<void *>(uintptr_t(0x1000 + offset));
    ASSERT_EQ(tessera_access_bytes(&wide, &wide, &narrow, &wide, &bytes), TESSERA_OK);
    EXPECT_EQ(bytes, offset);
  }
  narrow = wide;
  narrow.strides[1] = 130;
  ASSERT_EQ(tessera_access_bytes(&wide, &wide, &wide, &narrow, &bytes), TESSERA_OK);
  EXPECT_EQ(bytes, 4u);
}

} // namespace
} // namespace tessera::capi
