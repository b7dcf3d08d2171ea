// Views of DLPack tensors: by the C ABI and by whatever type has the members, and each thing that is refused.
#include "tessera/dlpack.h"

#include "tests/unit/capi/Capi.h"

#include <fmt/format.h>
#include <vector>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
static_assert(tessera::DlpackTensorLike<DLTensor>);
#endif

namespace tessera::capi {
namespace {

// The members of DLTensor as today's DLPack has them; the types of the enumerations differ between versions.
enum DeviceType { Cpu = 1, Cuda = 2, CudaHost = 3, Rocm = 10, CudaManaged = 13 };
struct Tensor {
  void *data;
  struct {
    DeviceType device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
};
/// As before DLPack 0.5.
struct OldTensor {
  void *data;
  struct {
    DeviceType device_type;
    int device_id;
  } ctx;
  int ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
};
static_assert(DlpackTensorLike<Tensor> && DlpackTensorLike<OldTensor> && !DlpackTensorLike<TensorView>);

void *const address = reinterpret_cast<void *>(0x10000);

struct CDlpack : fakes::Test {
  Device device = fakes::device("cuda:1"); // ordinal 1
  DeviceHandle handle = openDevice("cuda:1");
  std::vector<int64_t> shape = {2, 7, 3, 64}, strides = {7 * 3 * 64, 3 * 64, 64, 1};
  Tensor tensor{address, {Cuda, 1}, 4, {4, 16, 1}, shape.data(), strides.data(), 0};

  /// Both ways give the same.
  TensorView view() {
    Result<TensorView> view = viewOf(tensor, device);
    EXPECT_TRUE(view.ok()) << view.status().text();
    tessera_tensor c;
    EXPECT_EQ(tessera_tensor_from_dlpack(handle.get(), &tensor, &c), TESSERA_OK) << tessera_last_error();
    if (!view)
      return {};
    EXPECT_EQ(c.data, view->data);
    EXPECT_EQ(c.dtype, int32_t(view->dtype) + 1);
    EXPECT_TRUE(std::ranges::equal(c.shape, view->shape) && std::ranges::equal(c.strides, view->strides));
    return *view;
  }
  void expectRefused(const std::string &message) {
    Result<TensorView> view = viewOf(tensor, device);
    ASSERT_FALSE(view.ok()) << message;
    EXPECT_EQ(view.status().code(), Code::InvalidArgument);
    EXPECT_EQ(view.status().message(), message);
    tessera_tensor c{};
    EXPECT_EQ(tessera_tensor_from_dlpack(handle.get(), &tensor, &c), TESSERA_INVALID_ARGUMENT);
    EXPECT_EQ(tessera_last_error(), message);
    EXPECT_EQ(c.dtype, 0) << "untouched";
  }
};

TEST_F(CDlpack, MembersAreTaken) {
  const TensorView seen = view();
  EXPECT_EQ(seen.data, address);
  EXPECT_EQ(seen.dtype, DType::BF16);
  EXPECT_TRUE(std::ranges::equal(seen.shape, shape));
  EXPECT_TRUE(std::ranges::equal(seen.strides, strides));
  tensor.dtype = {2, 16, 1};
  EXPECT_EQ(view().dtype, DType::F16);
  tensor.dtype = {2, 32, 1};
  EXPECT_EQ(view().dtype, DType::F32);
}

TEST_F(CDlpack, TensorBeforeVersionFiveHasACtx) {
  OldTensor old{address, {Cuda, 1}, 4, {2, 32, 1}, shape.data(), strides.data(), 0};
  Result<TensorView> seen = viewOf(old, device);
  ASSERT_TRUE(seen.ok()) << seen.status().text();
  EXPECT_EQ(seen->dtype, DType::F32);
  old.ctx.device_id = 0;
  EXPECT_FALSE(viewOf(old, device).ok());
}

#if __has_include(<dlpack/dlpack.h>)
TEST_F(CDlpack, TheRealHeaderServesAsWell) {
  DLTensor real{};
  real.data = address;
  real.device = {kDLCUDA, 1};
  real.ndim = 4;
  real.dtype = {kDLBfloat, 16, 1};
  real.shape = shape.data();
  real.strides = strides.data();
  EXPECT_EQ(viewOf(real, device)->dtype, DType::BF16);
  tessera_tensor c;
  EXPECT_EQ(tessera_tensor_from_dlpack(handle.get(), &real, &c), TESSERA_OK) << tessera_last_error();
}
#endif

TEST_F(CDlpack, NoStridesMeanDense) {
  tensor.strides = nullptr;
  EXPECT_TRUE(std::ranges::equal(view().strides, strides));
  shape[0] = 0;
  EXPECT_TRUE(std::ranges::equal(view().shape, shape));
}

TEST_F(CDlpack, ByteOffsetIsAdded) {
  tensor.byte_offset = 48;
  EXPECT_EQ(view().data, reinterpret_cast<void *>(0x10030));
  tensor.byte_offset = UINT64_MAX;
  expectRefused(fmt::format("the tensor's byte_offset {} leads beyond 64 bits from address 0x10000", UINT64_MAX));
}

TEST_F(CDlpack, A6_33_SlicesAndTransposedViewsKeepTheirStrides) {
  strides = {0, 18 * 64, 64, 1}; // one batch repeated, a slice of a fused buffer
  EXPECT_TRUE(std::ranges::equal(view().strides, strides));
  strides = {7 * 3 * 64, 64, 7 * 64, 1}; // (batch, head, sequence, dim) transposed
  EXPECT_TRUE(std::ranges::equal(view().strides, strides));
}

TEST_F(CDlpack, StrideOfOneElementHasNoMeaning) {
  shape = {1, 7, 1, 64};
  strides = {-5, 64, INT64_MAX, 1};
  EXPECT_TRUE(std::ranges::equal(view().strides, std::array<int64_t, 4>{1, 64, 1, 1}));
}

TEST_F(CDlpack, B5_82_TensorOfAnotherDeviceIsRefusedByName) {
  const std::string end = ", not on cuda:1 (CUDA device 1)";
  tensor.device.device_id = 0;
  expectRefused("the tensor is on CUDA device 0" + end);
  tensor.device = {Cpu, 0};
  expectRefused("the tensor is in host memory" + end);
  tensor.device = {CudaHost, 0};
  expectRefused("the tensor is in pinned host memory" + end);
  tensor.device = {Rocm, 1};
  expectRefused("the tensor is on DLPack device 10:1" + end);
}

TEST_F(CDlpack, ManagedMemoryIsOnEveryDevice) {
  tensor.device = {CudaManaged, 0};
  EXPECT_EQ(view().data, address);
}

TEST_F(CDlpack, SimulatedDevicePosesAsACudaDevice) {
  device = fakes::device("sim:rtx4090");
  handle = openDevice("sim:rtx4090");
  tessera_device_info info = TESSERA_DEVICE_INFO_INIT;
  ASSERT_EQ(tessera_device_get_info(handle.get(), &info), TESSERA_OK);
  tensor.device = {Cuda, info.ordinal};
  EXPECT_EQ(view().data, address);
  tensor.device = {Cpu, 0};
  expectRefused(fmt::format("the tensor is in host memory, not on sim:rtx4090 (CUDA device {})", info.ordinal));
}

TEST_F(CDlpack, OtherTypesAreRefused) {
  auto refused = [&](uint8_t code, uint8_t bits, uint16_t lanes) {
    tensor.dtype = {code, bits, lanes};
    expectRefused(
        fmt::format("the tensor's element type is DLPack code {}, {} bits, {} lanes; f16, bf16 or f32 is needed", code,
                    bits, lanes));
  };
  refused(2, 64, 1);
  refused(0, 16, 1); // an int
  refused(4, 32, 1);
  refused(2, 16, 2);
  refused(2, 16, 0);
  refused(10, 8, 1); // fp8
}

TEST_F(CDlpack, OtherRanksAndShapesAreRefused) {
  tensor.ndim = 3;
  expectRefused("the tensor has 3 dimensions, 4 are needed: (batch, sequence, head, dim)");
  tensor.ndim = -4;
  expectRefused("the tensor has -4 dimensions, 4 are needed: (batch, sequence, head, dim)");
  tensor.ndim = 4;
  shape[1] = -7;
  expectRefused("the tensor's shape (2, -7, 3, 64) has a negative extent");
  tensor.shape = nullptr;
  expectRefused("the tensor has no shape");
}

TEST_F(CDlpack, StridesThatCannotBeUsedAreRefused) {
  strides[1] = -192;
  expectRefused("stride 1 of the tensor is negative: -192");
  strides = {1, 2, 14, 42};
  expectRefused("the last dimension of the tensor must be contiguous, its stride is 42");
}

TEST_F(CDlpack, N13_SpansBeyond64BitsAreRefused) {
  strides[0] = INT64_MAX;
  expectRefused(
      "the tensor of shape (2, 7, 3, 64) and strides (9223372036854775807, 192, 64, 1) spans more than 2^63 bytes");
  shape[1] = 2;
  strides[0] = strides[1] = int64_t(1) << 61; // each alone would fit
  expectRefused("the tensor of shape (2, 2, 3, 64) and strides (2305843009213693952, 2305843009213693952, 64, 1) spans "
                "more than 2^63 bytes");
  tensor.strides = nullptr;
  shape = {int64_t(1) << 40, int64_t(1) << 40, 3, 64};
  expectRefused("the tensor of shape (1099511627776, 1099511627776, 3, 64) and strides (dense) spans more than 2^63 "
                "bytes");
}

TEST_F(CDlpack, NoDataIsForEmptyTensorsOnly) {
  tensor.data = nullptr;
  expectRefused("the tensor of shape (2, 7, 3, 64) has no data");
  shape[1] = 0;
  EXPECT_EQ(view().data, nullptr);
}

TEST_F(CDlpack, RowsAreThreeDimensionsOfF32) {
  shape = {2, 3, 7};
  strides = {21, 7, 1};
  tensor.ndim = 3;
  tensor.dtype = {2, 32, 1};
  tensor.byte_offset = 16;
  Result<RowView> seen = rowViewOf(tensor, device);
  ASSERT_TRUE(seen.ok()) << seen.status().text();
  tessera_rows rows;
  ASSERT_EQ(tessera_rows_from_dlpack(handle.get(), &tensor, &rows), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(static_cast<void *>(rows.data), reinterpret_cast<void *>(0x10010));
  EXPECT_EQ(rows.data, seen->data);
  EXPECT_TRUE(std::ranges::equal(rows.shape, shape) && std::ranges::equal(rows.strides, strides));
  tensor.dtype = {2, 16, 1};
  EXPECT_EQ(tessera_rows_from_dlpack(handle.get(), &tensor, &rows), TESSERA_INVALID_ARGUMENT);
  tensor.dtype = {2, 32, 1};
  tensor.ndim = 4;
  EXPECT_EQ(tessera_rows_from_dlpack(handle.get(), &tensor, &rows), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "the tensor has 4 dimensions, 3 are needed: (batch, head, sequence)");
}

} // namespace
} // namespace tessera::capi
