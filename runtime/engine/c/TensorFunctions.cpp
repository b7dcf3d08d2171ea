// The C functions of tensors: dense ones, those of DLPack, and what access they allow.
#include "runtime/engine/c/Conversions.h"
#include "runtime/engine/c/Handles.h"
#include "runtime/engine/c/LastError.h"
#include "tessera/dlpack.h"

#include <array>
#include <fmt/ranges.h>
#include <span>

using namespace tessera;
using namespace tessera::c;

namespace {

/// InvalidArgument for negative extents, and where the dense tensor has more than 2^63 bytes.
Status checkDense(std::span<const int64_t> shape, int64_t elementBytes) {
  int64_t bytes = elementBytes;
  for (int64_t extent : shape) {
    if (extent < 0)
      return {Code::InvalidArgument, fmt::format("the shape ({}) has a negative extent", fmt::join(shape, ", "))};
    // The strides of a tensor with an extent of 0 multiply the other extents all the same.
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      return {Code::InvalidArgument,
              fmt::format("a tensor of shape ({}) has more than 2^63 bytes", fmt::join(shape, ", "))};
  }
  return {};
}

using MakeDense = TensorView (*)(void *, DType, int64_t, int64_t, int64_t, int64_t);

tessera_code makeDense(MakeDense make, void *data, tessera_dtype dtype, std::array<int64_t, 4> shape,
                       tessera_tensor *tensor) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"tensor", tensor}}); !status)
      return status;
    DType type;
    if (Status status = toDType(dtype, "dtype", type); !status)
      return status;
    if (Status status = checkDense(shape, byteSize(type)); !status)
      return status;
    fromView(make(data, type, shape[0], shape[1], shape[2], shape[3]), *tensor);
    return {};
  });
}

/// DLTensor as the C ABI of every DLPack version has it.
struct DlTensor {
  void *data;
  struct {
    int32_t device_type, device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
};
static_assert(sizeof(DlTensor) == 48);

} // namespace

tessera_code tessera_tensor_contiguous(void *data, tessera_dtype dtype, int64_t batch, int64_t sequence, int64_t heads,
                                       int64_t dim, tessera_tensor *tensor) noexcept {
  return makeDense(TensorView::contiguous, data, dtype, {batch, sequence, heads, dim}, tensor);
}

tessera_code tessera_tensor_head_major(void *data, tessera_dtype dtype, int64_t batch, int64_t sequence, int64_t heads,
                                       int64_t dim, tessera_tensor *tensor) noexcept {
  return makeDense(TensorView::headMajor, data, dtype, {batch, sequence, heads, dim}, tensor);
}

tessera_code tessera_rows_contiguous(float *data, int64_t batch, int64_t heads, int64_t sequence,
                                     tessera_rows *rows) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"rows", rows}}); !status)
      return status;
    if (Status status = checkDense(std::array{batch, heads, sequence}, sizeof(float)); !status)
      return status;
    fromView(RowView::contiguous(data, batch, heads, sequence), *rows);
    return {};
  });
}

tessera_code tessera_tensor_from_dlpack(const tessera_device *device, const void *dltensor,
                                        tessera_tensor *tensor) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"device", device}, {"dltensor", dltensor}, {"tensor", tensor}}); !status)
      return status;
    Result<TensorView> view = viewOf(*static_cast<const DlTensor *>(dltensor), device->device);
    if (!view)
      return view.status();
    fromView(*view, *tensor);
    return {};
  });
}

tessera_code tessera_rows_from_dlpack(const tessera_device *device, const void *dltensor, tessera_rows *rows) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"device", device}, {"dltensor", dltensor}, {"rows", rows}}); !status)
      return status;
    Result<RowView> view = rowViewOf(*static_cast<const DlTensor *>(dltensor), device->device);
    if (!view)
      return view.status();
    fromView(*view, *rows);
    return {};
  });
}

tessera_code tessera_access_bytes(const tessera_tensor *q, const tessera_tensor *k, const tessera_tensor *v,
                                  const tessera_tensor *o, uint32_t *bytes) noexcept {
  return guarded([&]() -> Status {
    if (Status status = required({{"bytes", bytes}}); !status)
      return status;
    const NamedPointer given[] = {{"q", q}, {"k", k}, {"v", v}, {"o", o}};
    TensorView views[4];
    for (unsigned i = 0; i < 4; ++i)
      if (Status status = toView(static_cast<const tessera_tensor *>(given[i].pointer), given[i].name, views[i]);
          !status)
        return status;
    *bytes = accessBytesFor(views[0], views[1], views[2], views[3]);
    return {};
  });
}
