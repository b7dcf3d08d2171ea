// cuMemcpy*: copies in linear memory, blocking or in a stream.
#include "runtime/simulator/driver/Copy.h"
#include "runtime/simulator/driver/State.h"

#include <cstring>

using namespace tessera::sim::driver;

namespace {

constexpr CUmemorytype Host = CU_MEMORYTYPE_HOST, OnDevice = CU_MEMORYTYPE_DEVICE, Anywhere = CU_MEMORYTYPE_UNIFIED;

CUdeviceptr addressOf(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUresult submit(Context &context, Stream &stream, const CUDA_MEMCPY3D &shape) {
  CopyWork work;
  if (CUresult result = makeCopy(context, shape, &work); result != CUDA_SUCCESS)
    return result;
  return enqueue(stream, makeWork(context, work));
}

CUresult streamed(const CUDA_MEMCPY3D &shape, CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) { return submit(context, stream, shape); });
}

/// Blocking forms: in the default stream, then wait for it.
CUresult blocking(const CUDA_MEMCPY3D &shape) {
  return inStream(nullptr, [&](Context &context, Stream &stream) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    if (CUresult result = submit(context, stream, shape); result != CUDA_SUCCESS)
      return result;
    return waitFor(context, stream);
  });
}

CUDA_MEMCPY3D fromPeer(const CUDA_MEMCPY3D_PEER &peer) {
  CUDA_MEMCPY3D shape;
  std::memset(&shape, 0, sizeof(shape));
  shape.srcXInBytes = peer.srcXInBytes;
  shape.srcY = peer.srcY;
  shape.srcZ = peer.srcZ;
  shape.srcLOD = peer.srcLOD;
  shape.srcMemoryType = peer.srcMemoryType;
  shape.srcHost = peer.srcHost;
  shape.srcDevice = peer.srcDevice;
  shape.srcPitch = peer.srcPitch;
  shape.srcHeight = peer.srcHeight;
  shape.dstXInBytes = peer.dstXInBytes;
  shape.dstY = peer.dstY;
  shape.dstZ = peer.dstZ;
  shape.dstLOD = peer.dstLOD;
  shape.dstMemoryType = peer.dstMemoryType;
  shape.dstHost = peer.dstHost;
  shape.dstDevice = peer.dstDevice;
  shape.dstPitch = peer.dstPitch;
  shape.dstHeight = peer.dstHeight;
  shape.WidthInBytes = peer.WidthInBytes;
  shape.Height = peer.Height;
  shape.Depth = peer.Depth;
  return shape;
}

/// Whether both are live contexts; a copy between devices names one for each side.
CUresult checkContexts(CUcontext to, CUcontext from) {
  return state().contexts.find(to) && state().contexts.find(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

} // namespace

extern "C" {

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return blocking(lineOf(to, OnDevice, addressOf(from), Host, bytes));
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return blocking(lineOf(addressOf(to), Host, from, OnDevice, bytes));
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return blocking(lineOf(to, OnDevice, from, OnDevice, bytes));
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return blocking(lineOf(to, Anywhere, from, Anywhere, bytes));
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t bytes) {
  return initialised([&]() -> CUresult {
    if (CUresult result = checkContexts(toContext, fromContext); result != CUDA_SUCCESS)
      return result;
    return blocking(lineOf(to, OnDevice, from, OnDevice, bytes));
  });
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *shape) {
  return shape ? blocking(planeOf(*shape)) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *shape) { return cuMemcpy2D_v2(shape); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *shape) { return shape ? blocking(*shape) : CUDA_ERROR_INVALID_VALUE; }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *shape) {
  return initialised([&]() -> CUresult {
    if (!shape)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = checkContexts(shape->dstContext, shape->srcContext); result != CUDA_SUCCESS)
      return result;
    return blocking(fromPeer(*shape));
  });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return streamed(lineOf(to, OnDevice, addressOf(from), Host, bytes), stream);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(lineOf(addressOf(to), Host, from, OnDevice, bytes), stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(lineOf(to, OnDevice, from, OnDevice, bytes), stream);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(lineOf(to, Anywhere, from, Anywhere, bytes), stream);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t bytes,
                           CUstream stream) {
  return initialised([&]() -> CUresult {
    if (CUresult result = checkContexts(toContext, fromContext); result != CUDA_SUCCESS)
      return result;
    return streamed(lineOf(to, OnDevice, from, OnDevice, bytes), stream);
  });
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *shape, CUstream stream) {
  return shape ? streamed(planeOf(*shape), stream) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *shape, CUstream stream) {
  return shape ? streamed(*shape, stream) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *shape, CUstream stream) {
  return initialised([&]() -> CUresult {
    if (!shape)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = checkContexts(shape->dstContext, shape->srcContext); result != CUDA_SUCCESS)
      return result;
    return streamed(fromPeer(*shape), stream);
  });
}

/// Attributes say when sources may be read and where memory is; a stream that runs work at once needs neither.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attributeIndices, size_t attributeCount,
                               CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!to || !from || !bytes || count == 0 || !attributes || !attributeIndices || attributeCount == 0 ||
        attributeCount > count || attributeIndices[0] != 0 || !stream.handle)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 1; i < attributeCount; ++i)
      if (attributeIndices[i] <= attributeIndices[i - 1] || attributeIndices[i] >= count)
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<CopyWork> works(count); // all are checked before the first one runs
    for (size_t i = 0; i < count; ++i) {
      CUDA_MEMCPY3D shape = lineOf(to[i], Anywhere, from[i], Anywhere, bytes[i]);
      if (bytes[i] == 0)
        return CUDA_ERROR_INVALID_VALUE;
      if (CUresult result = makeCopy(context, shape, &works[i]); result != CUDA_SUCCESS)
        return result;
    }
    for (CopyWork &work : works)
      if (CUresult result = enqueue(stream, makeWork(context, work)); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
}

} // extern "C"
