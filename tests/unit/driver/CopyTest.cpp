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

} // namespace
