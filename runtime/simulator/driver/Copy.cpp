// Resolves the ends of copies and fills, checks their ranges, and moves the bytes.
#include "runtime/simulator/driver/Copy.h"

#include "runtime/simulator/driver/Model.h"
#include "runtime/simulator/driver/State.h"

#include <cstring>

namespace tessera::sim::driver {

namespace {

/// The largest pitch that copies allow (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
constexpr uint64_t MaxPitch = INT32_MAX;

/// Bytes from the first to the last of a box; nullopt when they exceed the address space.
std::optional<uint64_t> extentOf(const CopyEnd &end, uint64_t width, uint64_t height, uint64_t depth) {
  unsigned __int128 extent = static_cast<unsigned __int128>(depth - 1) * end.slice;
  extent += static_cast<unsigned __int128>(height - 1) * end.pitch;
  extent += width;
  if (extent > UINT64_MAX - end.address)
    return std::nullopt;
  return uint64_t(extent);
}

struct Side {
  CUmemorytype type;
  CUdeviceptr host, device;
  size_t x, y, z, pitch, height;
};

/// Fills in where the box begins and how its rows lie.
CUresult resolve(Context &context, const Side &side, const CUDA_MEMCPY3D &shape, CopyEnd *end) {
  if (side.type == CU_MEMORYTYPE_ARRAY)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (side.type != CU_MEMORYTYPE_HOST && side.type != CU_MEMORYTYPE_DEVICE && side.type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr base = side.type == CU_MEMORYTYPE_HOST ? side.host : side.device;
  if (base == 0)
    return CUDA_ERROR_INVALID_VALUE;
  // Pitch and height count only where there is more than one row or plane; nothing stands for densely packed.
  bool rows = shape.Height > 1 || shape.Depth > 1 || side.y || side.z, planes = shape.Depth > 1 || side.z;
  if (side.x > MaxPitch || shape.WidthInBytes > SIZE_MAX - side.x)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t pitch = side.pitch ? side.pitch : side.x + shape.WidthInBytes;
  uint64_t height = side.height ? side.height : side.y + shape.Height;
  if (rows && (pitch > MaxPitch || pitch < side.x + shape.WidthInBytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (planes && (height > MaxPitch || height < shape.Height || side.y > height - shape.Height))
    return CUDA_ERROR_INVALID_VALUE;
  unsigned __int128 slice = planes ? static_cast<unsigned __int128>(pitch) * height : 0;
  unsigned __int128 first = side.x + (rows ? static_cast<unsigned __int128>(side.y) * pitch : 0) + side.z * slice;
  if (slice > UINT64_MAX || first > UINT64_MAX - base)
    return CUDA_ERROR_INVALID_VALUE;
  end->address = base + uint64_t(first);
  end->pitch = rows ? pitch : shape.WidthInBytes;
  end->slice = uint64_t(slice);
  std::optional<uint64_t> extent = extentOf(*end, shape.WidthInBytes, shape.Height, shape.Depth);
  if (!extent)
    return CUDA_ERROR_INVALID_VALUE;
  auto [device, allocation] = findAllocation(context.device, end->address);
  if (device) {
    end->device = device;
    return *extent <= allocation.size - (end->address - allocation.base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (side.type == CU_MEMORYTYPE_DEVICE || isDeviceAddress(end->address))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

Status moveRow(Device *to, CUdeviceptr toAddress, Device *from, CUdeviceptr fromAddress, uint64_t bytes) {
  if (to && to == from)
    return to->memory.copy(toAddress, fromAddress, bytes);
  if (to && from) {
    std::vector<std::byte> staged(bytes);
    if (Status status = from->memory.read(fromAddress, staged.data(), bytes); !status)
      return status;
    return to->memory.write(toAddress, staged.data(), bytes);
  }
  if (to)
    return to->memory.write(toAddress, reinterpret_cast<const void *>(fromAddress), bytes);
  if (from)
    return from->memory.read(fromAddress, reinterpret_cast<void *>(toAddress), bytes);
  std::memmove(reinterpret_cast<void *>(toAddress), reinterpret_cast<const void *>(fromAddress), bytes);
  return {};
}

/// Whether the planes and rows of a box lie one right behind the other.
bool dense(const CopyEnd &end, const CopyWork &work) {
  return (work.height == 1 || end.pitch == work.width) && (work.depth == 1 || end.slice == work.height * work.width);
}

} // namespace

CUDA_MEMCPY3D lineOf(CUdeviceptr to, CUmemorytype toType, CUdeviceptr from, CUmemorytype fromType, size_t bytes) {
  CUDA_MEMCPY3D shape;
  std::memset(&shape, 0, sizeof(shape));
  shape.srcMemoryType = fromType;
  shape.srcHost = reinterpret_cast<const void *>(from);
  shape.srcDevice = from;
  shape.dstMemoryType = toType;
  shape.dstHost = reinterpret_cast<void *>(to);
  shape.dstDevice = to;
  shape.WidthInBytes = bytes;
  shape.Height = shape.Depth = 1;
  return shape;
}

CUDA_MEMCPY3D planeOf(const CUDA_MEMCPY2D &from) {
  CUDA_MEMCPY3D shape;
  std::memset(&shape, 0, sizeof(shape));
  shape.srcXInBytes = from.srcXInBytes;
  shape.srcY = from.srcY;
  shape.srcMemoryType = from.srcMemoryType;
  shape.srcHost = from.srcHost;
  shape.srcDevice = from.srcDevice;
  shape.srcArray = from.srcArray;
  shape.srcPitch = from.srcPitch;
  shape.dstXInBytes = from.dstXInBytes;
  shape.dstY = from.dstY;
  shape.dstMemoryType = from.dstMemoryType;
  shape.dstHost = from.dstHost;
  shape.dstDevice = from.dstDevice;
  shape.dstArray = from.dstArray;
  shape.dstPitch = from.dstPitch;
  shape.WidthInBytes = from.WidthInBytes;
  shape.Height = from.Height;
  shape.Depth = 1;
  return shape;
}

CUresult makeCopy(Context &context, const CUDA_MEMCPY3D &shape, CopyWork *work) {
  work->shape = shape;
  work->width = shape.WidthInBytes;
  work->height = shape.Height;
  work->depth = shape.Depth;
  if (shape.srcLOD || shape.dstLOD || shape.reserved0 || shape.reserved1)
    return CUDA_ERROR_INVALID_VALUE;
  if (work->width == 0 || work->height == 0 || work->depth == 0)
    return CUDA_SUCCESS; // nothing to move, wherever
  Side to{shape.dstMemoryType, reinterpret_cast<CUdeviceptr>(shape.dstHost),
          shape.dstDevice,     shape.dstXInBytes,
          shape.dstY,          shape.dstZ,
          shape.dstPitch,      shape.dstHeight};
  Side from{shape.srcMemoryType, reinterpret_cast<CUdeviceptr>(shape.srcHost),
            shape.srcDevice,     shape.srcXInBytes,
            shape.srcY,          shape.srcZ,
            shape.srcPitch,      shape.srcHeight};
  if (CUresult result = resolve(context, to, shape, &work->to); result != CUDA_SUCCESS)
    return result;
  return resolve(context, from, shape, &work->from);
}

CUresult makeFill(Context &context, const CUDA_MEMSET_NODE_PARAMS &shape, FillWork *work) {
  work->shape = shape;
  unsigned bytes = shape.elementSize;
  if (bytes != 1 && bytes != 2 && bytes != 4)
    return CUDA_ERROR_INVALID_VALUE;
  if (shape.width == 0 || shape.height == 0)
    return CUDA_SUCCESS;
  if (shape.dst % bytes || shape.width > SIZE_MAX / bytes)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t width = shape.width * bytes;
  if (shape.height > 1 && (shape.pitch < width || shape.pitch % bytes || shape.pitch > MaxPitch))
    return CUDA_ERROR_INVALID_VALUE;
  CopyEnd end{nullptr, shape.dst, shape.pitch, 0};
  std::optional<uint64_t> extent = extentOf(end, width, shape.height, 1);
  auto [device, allocation] = findAllocation(context.device, shape.dst);
  if (!extent || !device || *extent > allocation.size - (shape.dst - allocation.base))
    return CUDA_ERROR_INVALID_VALUE;
  work->target = device;
  return CUDA_SUCCESS;
}

Outcome runCopy(const CopyWork &work, Device &device) {
  if (work.width == 0 || work.height == 0 || work.depth == 0)
    return {};
  uint64_t bytes = work.width * work.height * work.depth;
  Outcome outcome{CUDA_SUCCESS, copyNanoseconds(device.profile, bytes, work.to.device && work.from.device)};
  uint64_t rows = work.height, planes = work.depth, width = work.width;
  if (dense(work.to, work) && dense(work.from, work)) {
    width = bytes;
    rows = planes = 1;
  }
  for (uint64_t z = 0; z < planes; ++z)
    for (uint64_t y = 0; y < rows; ++y)
      if (!moveRow(work.to.device, work.to.address + z * work.to.slice + y * work.to.pitch, work.from.device,
                   work.from.address + z * work.from.slice + y * work.from.pitch, width)
               .ok())
        outcome.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  return outcome;
}

Outcome runFill(const FillWork &work, Device &device) {
  const CUDA_MEMSET_NODE_PARAMS &shape = work.shape;
  if (shape.width == 0 || shape.height == 0)
    return {};
  Outcome outcome{CUDA_SUCCESS, copyNanoseconds(device.profile, shape.width * shape.elementSize * shape.height, true)};
  for (uint64_t y = 0; y < shape.height; ++y)
    if (!work.target->memory.fill(shape.dst + y * shape.pitch, shape.value, shape.elementSize, shape.width).ok())
      outcome.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  return outcome;
}

} // namespace tessera::sim::driver
