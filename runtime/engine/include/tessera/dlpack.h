// Views of DLPack tensors, for whatever version of dlpack.h the program has; includes none itself.
#pragma once

#include "runtime/engine/Device.h"
#include "runtime/engine/TensorView.h"

#include <cstdint>

namespace tessera {

namespace detail {

/// The members of a DLTensor.
struct DlpackTensor {
  void *data = nullptr;
  int64_t deviceType = 0, deviceId = 0;
  int64_t rank = 0;
  unsigned typeCode = 0, typeBits = 0, typeLanes = 0;
  const int64_t *shape = nullptr, *strides = nullptr;
  uint64_t byteOffset = 0;
};

Result<TensorView> viewOf(const DlpackTensor &tensor, const Device &device);
Result<RowView> rowViewOf(const DlpackTensor &tensor, const Device &device);

template <typename Tensor> DlpackTensor dlpackTensor(const Tensor &tensor) {
  DlpackTensor own{.data = tensor.data,
                   .rank = tensor.ndim,
                   .typeCode = tensor.dtype.code,
                   .typeBits = tensor.dtype.bits,
                   .typeLanes = tensor.dtype.lanes,
                   .shape = tensor.shape,
                   .strides = tensor.strides,
                   .byteOffset = tensor.byte_offset};
  auto setDevice = [&](const auto &device) {
    own.deviceType = int64_t(device.device_type);
    own.deviceId = int64_t(device.device_id);
  };
  if constexpr (requires { tensor.device; })
    setDevice(tensor.device);
  else
    setDevice(tensor.ctx); // before DLPack 0.5
  return own;
}

} // namespace detail

/// A type with the members of DLTensor.
template <typename Tensor>
concept DlpackTensorLike = requires(const Tensor &tensor) {
  tensor.data;
  tensor.ndim;
  tensor.dtype.lanes;
  tensor.shape;
  tensor.strides;
  tensor.byte_offset;
};

/// The view of a DLTensor (batch, sequence, head, dim) of f16, bf16 or f32, which must be in memory of `device`:
/// kDLCUDA of its ordinal, as which a simulated device poses too, or kDLCUDAManaged. No strides mean a dense tensor;
/// byte_offset is added to the address. The view owns nothing and consumes nothing: the tensor's owner keeps it alive
/// until the work that uses it is done. InvalidArgument, with the value and the remedy, for another device, rank or
/// type, a last dimension that is not contiguous, negative strides, and extents that leave 64 bits. Thread-safe.
template <DlpackTensorLike Tensor> Result<TensorView> viewOf(const Tensor &tensor, const Device &device) {
  return detail::viewOf(detail::dlpackTensor(tensor), device);
}

/// The same for one f32 for each (batch, head, sequence), such as the LSE.
template <DlpackTensorLike Tensor> Result<RowView> rowViewOf(const Tensor &tensor, const Device &device) {
  return detail::rowViewOf(detail::dlpackTensor(tensor), device);
}

} // namespace tessera
