// Copies and fills of the simulator, in all directions and with wrong ranges.
#include "tests/unit/driver/SimulatorFixture.h"

#include <numeric>
#include <vector>

using namespace tessera::test;

namespace {

class SimulatorCopy : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    first = allocate(256);
    second = allocate(256);
    std::iota(in.begin(), in.end(), 1);
  }
  std::vector<unsigned char> in = std::vector<unsigned char>(256), out = std::vector<unsigned char>(256);
  CUdeviceptr first = 0, second = 0;
};

TEST_F(SimulatorCopy, BlockingRoundTrip) {
  EXPECT_EQ(cuMemcpyHtoD(first, in.data(), 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(second, first, 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(out.data(), second, 256), CUDA_SUCCESS);
  EXPECT_EQ(in, out);
}

TEST_F(SimulatorCopy, StreamedRoundTrip) {
  CUstream handle = stream();
  EXPECT_EQ(cuMemcpyHtoDAsync(first, in.data(), 256, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(second, first, 256, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync(out.data(), second, 256, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_SUCCESS);
  EXPECT_EQ(in, out);
}

TEST_F(SimulatorCopy, DirectionFollowsFromTheAddresses) {
  auto host = [](void *pointer) { return CUdeviceptr(pointer); };
  std::vector<unsigned char> middle(256);
  EXPECT_EQ(cuMemcpy(host(middle.data()), host(in.data()), 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(first, host(middle.data()), 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(second, first, 256, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpy(host(out.data()), second, 256), CUDA_SUCCESS);
  EXPECT_EQ(in, out);
}

TEST_F(SimulatorCopy, RangesOutsideAnAllocationAreRefused) {
  EXPECT_EQ(cuMemcpyHtoD(first, in.data(), 257), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(first + 1, in.data(), 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(0, in.data(), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(out.data(), first + 256, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(nullptr, first, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(second, first, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync(first, in.data(), 257, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync(first, in.data(), 1, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemcpyHtoD(0, nullptr, 0), CUDA_SUCCESS) << "nothing to copy";
  ASSERT_EQ(cuMemFree(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(first, in.data(), 1), CUDA_ERROR_INVALID_VALUE) << "freed";
}

TEST_F(SimulatorCopy, FillsRepeatTheirPattern) {
  CUstream handle = stream();
  EXPECT_EQ(cuMemsetD8(first, 0xab, 256), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD16(first + 16, 0x1234, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32(first + 32, 0xdeadbeef, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(first + 40, 1, 1, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD16Async(first + 42, 0x0302, 1, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(first + 44, 0x07060504, 1, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(out.data(), first, 256), CUDA_SUCCESS);
  EXPECT_EQ(out[0], 0xab);
  EXPECT_EQ(out[255], 0xab);
  EXPECT_EQ(out[18], 0x34);
  EXPECT_EQ(out[19], 0x12);
  EXPECT_EQ(out[20], 0xab);
  EXPECT_EQ(out[32], 0xef);
  EXPECT_EQ(out[35], 0xde);
  EXPECT_EQ(out[40], 1);
  EXPECT_EQ(out[43], 3);
  EXPECT_EQ(out[47], 7);
}

TEST_F(SimulatorCopy, FillsOutsideOrMisalignedAreRefused) {
  EXPECT_EQ(cuMemsetD8(first, 0, 257), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32(first, 0, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32(first, 0, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD16(first + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32(first + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(first, 0, 1, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
}

/// A plane of rows with room behind each, and the part of it that is copied.
class SimulatorPlane : public SimulatorCopy {
protected:
  CUDA_MEMCPY2D toDevice(size_t hostX, size_t hostY, size_t deviceX, size_t deviceY, size_t width, size_t height) {
    CUDA_MEMCPY2D shape = {};
    shape.srcMemoryType = CU_MEMORYTYPE_HOST;
    shape.srcHost = in.data();
    shape.srcPitch = 16;
    shape.srcXInBytes = hostX;
    shape.srcY = hostY;
    shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    shape.dstDevice = first;
    shape.dstPitch = 32;
    shape.dstXInBytes = deviceX;
    shape.dstY = deviceY;
    shape.WidthInBytes = width;
    shape.Height = height;
    return shape;
  }
};

TEST_F(SimulatorPlane, RowsGoWherePitchAndOffsetsSay) {
  ASSERT_EQ(cuMemsetD8(first, 0, 256), CUDA_SUCCESS);
  CUDA_MEMCPY2D shape = toDevice(2, 1, 5, 3, 7, 4);
  ASSERT_EQ(cuMemcpy2D(&shape), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(out.data(), first, 256), CUDA_SUCCESS);
  for (size_t y = 0; y < 8; ++y)
    for (size_t x = 0; x < 32; ++x) {
      bool inside = y >= 3 && y < 7 && x >= 5 && x < 12;
      EXPECT_EQ(out[y * 32 + x], inside ? in[(y - 3 + 1) * 16 + (x - 5 + 2)] : 0) << x << " " << y;
    }
}

TEST_F(SimulatorPlane, LastRowMayEndWithTheAllocation) {
  CUDA_MEMCPY2D shape = toDevice(0, 0, 16, 0, 16, 8);
  EXPECT_EQ(cuMemcpy2DAsync(&shape, nullptr), CUDA_SUCCESS);
  shape.Height = 9;
  EXPECT_EQ(cuMemcpy2DAsync(&shape, nullptr), CUDA_ERROR_INVALID_VALUE);
  shape = toDevice(0, 0, 17, 0, 16, 8);
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE) << "wider than the pitch";
  shape = toDevice(0, 0, 0, 0, 16, 8);
  shape.srcPitch = 8;
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE) << "pitch below the width";
  shape = toDevice(0, 0, 0, ~size_t(0) / 2, 16, 8);
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
  shape = toDevice(0, 0, 0, 0, ~size_t(0), 2);
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
  shape = toDevice(0, 0, 0, 0, 0, 8);
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_SUCCESS) << "nothing to move";
  shape.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  shape.WidthInBytes = 4;
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_NOT_SUPPORTED);
  shape.srcMemoryType = CUmemorytype(9);
  EXPECT_EQ(cuMemcpy2D(&shape), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorPlane, BoxesHavePlanes) {
  // 2 planes of 2 rows of 3 bytes, out of a box of rows of 8 and planes of 4 rows, into a dense one.
  ASSERT_EQ(cuMemcpyHtoD(first, in.data(), 256), CUDA_SUCCESS);
  CUDA_MEMCPY3D shape = {};
  shape.srcMemoryType = shape.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  shape.srcDevice = first;
  shape.srcXInBytes = 1;
  shape.srcY = 1;
  shape.srcZ = 2;
  shape.srcPitch = 8;
  shape.srcHeight = 4;
  shape.dstDevice = second;
  shape.WidthInBytes = 3;
  shape.Height = shape.Depth = 2;
  ASSERT_EQ(cuMemsetD8(second, 0, 256), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpy3D(&shape), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(out.data(), second, 256), CUDA_SUCCESS);
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 2; ++y)
      for (size_t x = 0; x < 3; ++x)
        EXPECT_EQ(out[z * 6 + y * 3 + x], in[(z + 2) * 32 + (y + 1) * 8 + x + 1]);
  EXPECT_EQ(out[12], 0);
  shape.srcHeight = 2;
  EXPECT_EQ(cuMemcpy3D(&shape), CUDA_ERROR_INVALID_VALUE) << "rows beyond the plane";
  shape.srcHeight = 4;
  shape.Depth = 7;
  EXPECT_EQ(cuMemcpy3DAsync(&shape, nullptr), CUDA_ERROR_INVALID_VALUE) << "planes beyond the allocation";
  shape.Depth = ~size_t(0);
  EXPECT_EQ(cuMemcpy3D(&shape), CUDA_ERROR_INVALID_VALUE);
  shape.Depth = 1;
  shape.reserved0 = &shape;
  EXPECT_EQ(cuMemcpy3D(&shape), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorPlane, FillsOfRowsLeaveWhatLiesBetween) {
  ASSERT_EQ(cuMemsetD8(first, 1, 256), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD2D16(first + 2, 32, 0xabcd, 3, 8), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(out.data(), first, 256), CUDA_SUCCESS);
  for (size_t i = 0; i < 256; ++i) {
    bool inside = i % 32 >= 2 && i % 32 < 8;
    EXPECT_EQ(out[i], !inside ? 1 : i % 2 ? 0xab : 0xcd) << i;
  }
  EXPECT_EQ(cuMemsetD2D32(first, 32, 7, 8, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D32(first, 32, 7, 8, 9), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D32(first, 30, 7, 8, 2), CUDA_ERROR_INVALID_VALUE) << "pitch below the width";
  EXPECT_EQ(cuMemsetD2D8Async(first, ~size_t(0), 7, 8, 2, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorPlane, BatchesMoveAllOrNothing) {
  CUstream handle = stream();
  ASSERT_EQ(cuMemcpyHtoD(first, in.data(), 256), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(second, 0, 256), CUDA_SUCCESS);
  CUdeviceptr to[] = {second, second + 100}, from[] = {first + 10, first + 20};
  size_t bytes[] = {5, 6}, index = 0;
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, &index, 1, handle), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(out.data(), second, 256), CUDA_SUCCESS);
  EXPECT_EQ(out[4], in[14]);
  EXPECT_EQ(out[5], 0);
  EXPECT_EQ(out[105], in[25]);
  bytes[1] = 1000;
  to[0] = second + 200;
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, &index, 1, handle), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemcpyDtoH(out.data(), second, 256), CUDA_SUCCESS);
  EXPECT_EQ(out[200], 0);
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 0, &attributes, &index, 1, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyBatchAsync(to, from, bytes, 1, &attributes, &index, 1, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "needs a stream of its own";
}

} // namespace
