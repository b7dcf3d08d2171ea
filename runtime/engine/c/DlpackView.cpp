// The checks between a DLPack tensor and a view of it.
#include "tessera/dlpack.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <optional>
#include <span>

namespace tessera::detail {
namespace {

// DLDeviceType and DLDataTypeCode, whose numbers are the same in every version of DLPack.
enum : int64_t { CpuDevice = 1, CudaDevice = 2, CudaHostDevice = 3, CudaManagedDevice = 13 };
enum : unsigned { FloatCode = 2, BfloatCode = 4 };

Status refuse(std::string message, std::string hint = {}) {
  return {Code::InvalidArgument, std::move(message), std::move(hint)};
}

Status checkDevice(const DlpackTensor &tensor, const Device &device) {
  if (tensor.deviceType == CudaManagedDevice)
    return {};
  const int ordinal = device.context()->ordinal();
  if (tensor.deviceType == CudaDevice && tensor.deviceId == ordinal)
    return {};
  const std::string where = tensor.deviceType == CpuDevice        ? "in host memory"
                            : tensor.deviceType == CudaHostDevice ? "in pinned host memory"
                            : tensor.deviceType == CudaDevice
                                ? fmt::format("on CUDA device {}", tensor.deviceId)
                                : fmt::format("on DLPack device {}:{}", tensor.deviceType, tensor.deviceId);
  return refuse(fmt::format("the tensor is {}, not on {} (CUDA device {})", where, device.name(), ordinal),
                "copy it to that device, or open the device that it is on");
}

std::optional<DType> typeOf(const DlpackTensor &tensor) {
  if (tensor.typeLanes != 1)
    return std::nullopt;
  if (tensor.typeCode == BfloatCode && tensor.typeBits == 16)
    return DType::BF16;
  if (tensor.typeCode == FloatCode && tensor.typeBits == 16)
    return DType::F16;
  if (tensor.typeCode == FloatCode && tensor.typeBits == 32)
    return DType::F32;
  return std::nullopt;
}

Status checkRank(const DlpackTensor &tensor, int64_t rank, const char *dimensions) {
  if (tensor.rank != rank)
    return refuse(fmt::format("the tensor has {} dimensions, {} are needed: {}", tensor.rank, rank, dimensions));
  if (!tensor.shape)
    return refuse("the tensor has no shape");
  return {};
}

/// Copies shape and strides; those of a dense tensor where it has none, and 1 where an extent of 1 makes a stride
/// meaningless.
Status copyExtents(const DlpackTensor &tensor, unsigned elementBytes, std::span<int64_t> shape,
                   std::span<int64_t> strides) {
  const size_t rank = shape.size();
  std::copy_n(tensor.shape, rank, shape.begin());
  auto outOf64Bits = [&] {
    return refuse(fmt::format(
        "the tensor of shape ({}) and strides ({}) spans more than 2^63 bytes", fmt::join(shape, ", "),
        tensor.strides ? fmt::format("{}", fmt::join(tensor.strides, tensor.strides + rank, ", ")) : "dense"));
  };
  int64_t dense = 1, span = elementBytes;
  for (size_t dim = rank; dim-- > 0;) {
    if (shape[dim] < 0)
      return refuse(fmt::format("the tensor's shape ({}) has a negative extent", fmt::join(shape, ", ")));
    strides[dim] = !tensor.strides ? dense : shape[dim] > 1 ? tensor.strides[dim] : 1;
    if (strides[dim] < 0)
      return refuse(fmt::format("stride {} of the tensor is negative: {}", dim, strides[dim]),
                    "pass a copy that runs forward");
    int64_t reach;
    if (shape[dim] > 1 &&
        (__builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach) ||
         __builtin_mul_overflow(reach, int64_t(elementBytes), &reach) || __builtin_add_overflow(span, reach, &span)))
      return outOf64Bits();
    if (shape[dim] > 1 && !tensor.strides && __builtin_mul_overflow(dense, shape[dim], &dense))
      return outOf64Bits();
  }
  return {};
}

/// The address of the first element.
Status addressOf(const DlpackTensor &tensor, std::span<const int64_t> shape, void *&address) {
  uint64_t sum;
  if (__builtin_add_overflow(uint64_t(uintptr_t(tensor.data)), tensor.byteOffset, &sum))
    return refuse(fmt::format("the tensor's byte_offset {} leads beyond 64 bits from address {}", tensor.byteOffset,
                              tensor.data));
  if (!tensor.data && std::ranges::find(shape, 0) == shape.end())
    return refuse(fmt::format("the tensor of shape ({}) has no data", fmt::join(shape, ", ")));
  address = reinterpret_cast<void *>(uintptr_t(sum));
  return {};
}

Status refuseType(const DlpackTensor &tensor, const char *wanted) {
  return refuse(fmt::format("the tensor's element type is DLPack code {}, {} bits, {} lanes; {} is needed",
                            tensor.typeCode, tensor.typeBits, tensor.typeLanes, wanted));
}

} // namespace

Result<TensorView> viewOf(const DlpackTensor &tensor, const Device &device) {
  TensorView view;
  if (Status status = checkDevice(tensor, device); !status)
    return status;
  if (Status status = checkRank(tensor, 4, "(batch, sequence, head, dim)"); !status)
    return status;
  const std::optional<DType> type = typeOf(tensor);
  if (!type)
    return refuseType(tensor, "f16, bf16 or f32");
  view.dtype = *type;
  if (Status status = copyExtents(tensor, byteSize(*type), view.shape, view.strides); !status)
    return status;
  if (view.strides[3] != 1)
    return refuse(fmt::format("the last dimension of the tensor must be contiguous, its stride is {}", view.strides[3]),
                  "pass a contiguous copy");
  if (Status status = addressOf(tensor, view.shape, view.data); !status)
    return status;
  return view;
}

Result<RowView> rowViewOf(const DlpackTensor &tensor, const Device &device) {
  RowView view;
  if (Status status = checkDevice(tensor, device); !status)
    return status;
  if (Status status = checkRank(tensor, 3, "(batch, head, sequence)"); !status)
    return status;
  if (typeOf(tensor) != DType::F32)
    return refuseType(tensor, "f32");
  if (Status status = copyExtents(tensor, byteSize(DType::F32), view.shape, view.strides); !status)
    return status;
  void *address = nullptr;
  if (Status status = addressOf(tensor, view.shape, address); !status)
    return status;
  view.data = static_cast<float *>(address);
  return view;
}

} // namespace tessera::detail
