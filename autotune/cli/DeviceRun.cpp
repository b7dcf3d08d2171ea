// One launch with owned device memory around it.
#include "autotune/cli/DeviceRun.h"

#include <cstring>

namespace tessera::cli {
namespace {

constexpr std::byte kPoison{0xff}; ///< NaN in every element type

struct Upload {
  DeviceBuffer buffer;
  TensorView view;
};

Result<Upload> upload(const Device &device, Layout layout, DType type, const std::array<int64_t, 4> &shape,
                      const std::vector<std::byte> &bshd) {
  Result<DeviceBuffer> buffer = device.allocate(bshd.size());
  if (!buffer)
    return buffer.status();
  const std::vector<std::byte> stored = layout == Layout::Bshd ? bshd : toLayout(layout, bshd, shape, byteSize(type));
  if (Status status = buffer->upload(stored.data(), stored.size()); !status)
    return status;
  const TensorView view{buffer->pointer(), type, shape, stridesOf(layout, shape)};
  return Upload{*std::move(buffer), view};
}

} // namespace

Result<DeviceResult> runOnDevice(const Device &device, const Kernel &kernel, const HostProblem &host) {
  const AttentionSpec &spec = host.resolved.spec;
  const reference::Sizes &sizes = host.resolved.sizes;
  LaunchArguments arguments;
  std::vector<DeviceBuffer> owned;
  TensorView *const inputs[] = {&arguments.q, &arguments.k, &arguments.v};
  for (int which = 0; which < 3; ++which) {
    Result<Upload> up = upload(device, host.layout, spec.dtype, host.view(which).shape, host.tensors[which].bytes);
    if (!up)
      return up.status();
    *inputs[which] = up->view;
    owned.push_back(std::move(up->buffer));
  }

  DeviceResult result;
  const std::array<int64_t, 4> outShape{sizes.batch, sizes.queryLength, sizes.queryHeads, sizes.valueDim};
  const size_t outBytes = size_t(*reference::elementCount(outShape)) * byteSize(spec.outputType());
  result.out = {spec.outputType(), {outShape.begin(), outShape.end()}, std::vector<std::byte>(outBytes, kPoison)};
  Result<Upload> out = upload(device, host.layout, spec.outputType(), outShape, result.out.bytes);
  if (!out)
    return out.status();
  arguments.o = out->view;
  std::optional<DeviceBuffer> lse;
  if (contains(spec.outputs, Output::LSE)) {
    result.lse = files::HostTensor{DType::F32, {sizes.batch, sizes.queryHeads, sizes.queryLength}, {}};
    result.lse->bytes.assign(size_t(sizes.batch * sizes.queryHeads * sizes.queryLength) * sizeof(float), kPoison);
    Result<DeviceBuffer> buffer = device.allocate(result.lse->bytes.size());
    if (!buffer)
      return buffer.status();
    lse = *std::move(buffer);
    if (Status status = lse->upload(result.lse->bytes.data(), result.lse->bytes.size()); !status)
      return status;
    arguments.lse =
        RowView::contiguous(static_cast<float *>(lse->pointer()), sizes.batch, sizes.queryHeads, sizes.queryLength);
  }
  std::optional<DeviceBuffer> rescues;
  uint32_t count = 0;
  if (kernel.image().schedule.rescale == Rescale::Anchored) {
    Result<DeviceBuffer> buffer = device.allocate(sizeof count);
    if (!buffer)
      return buffer.status();
    rescues = *std::move(buffer);
    if (Status status = rescues->upload(&count, sizeof count); !status)
      return status;
    arguments.rescues = static_cast<uint32_t *>(rescues->pointer());
  }

  Result<Event> before = Event::create(device.context()), after = Event::create(device.context());
  if (!before || !after)
    return !before ? before.status() : after.status();
  if (Status status = before->record(nullptr); !status)
    return status;
  if (Status status = kernel.launch(arguments, nullptr); !status)
    return status;
  if (Status status = after->record(nullptr); !status)
    return status;
  if (Status status = device.synchronize(); !status)
    return status;
  const Result<float> elapsed = before->millisecondsTo(*after);
  if (!elapsed)
    return elapsed.status();
  result.milliseconds = *elapsed;

  if (Status status = out->buffer.download(result.out.bytes.data(), result.out.bytes.size()); !status)
    return status;
  if (host.layout != Layout::Bshd)
    result.out.bytes = fromLayout(host.layout, result.out.bytes, outShape, byteSize(spec.outputType()));
  if (lse)
    if (Status status = lse->download(result.lse->bytes.data(), result.lse->bytes.size()); !status)
      return status;
  if (rescues) {
    if (Status status = rescues->download(&count, sizeof count); !status)
      return status;
    result.rescues = count;
  }
  return result;
}

} // namespace tessera::cli
