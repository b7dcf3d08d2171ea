// cuMemset*: fills of elements of 1, 2 and 4 bytes, of a line or of rows.
#include "runtime/simulator/driver/Copy.h"
#include "runtime/simulator/driver/State.h"

using namespace tessera::sim::driver;

namespace {

CUresult streamed(const CUDA_MEMSET_NODE_PARAMS &shape, CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    FillWork work;
    if (CUresult result = makeFill(context, shape, &work); result != CUDA_SUCCESS)
      return result;
    return enqueue(stream, makeWork(context, work));
  });
}

/// Unlike copies, the forms without a stream are asynchronous too: they go to the default stream.
CUresult fill(const CUDA_MEMSET_NODE_PARAMS &shape) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return streamed(shape, nullptr);
  });
}

CUDA_MEMSET_NODE_PARAMS line(CUdeviceptr address, unsigned value, unsigned elementBytes, size_t count) {
  return {address, 0, value, elementBytes, count, 1};
}

} // namespace

extern "C" {

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  return fill(line(address, value, 1, count));
}
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
  return fill(line(address, value, 2, count));
}
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count) {
  return fill(line(address, value, 4, count));
}
CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill({address, pitch, value, 1, width, height});
}
CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill({address, pitch, value, 2, width, height});
}
CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill({address, pitch, value, 4, width, height});
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return streamed(line(address, value, 1, count), stream);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
  return streamed(line(address, value, 2, count), stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
  return streamed(line(address, value, 4, count), stream);
}
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return streamed({address, pitch, value, 1, width, height}, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return streamed({address, pitch, value, 2, width, height}, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  return streamed({address, pitch, value, 4, width, height}, stream);
}

} // extern "C"
