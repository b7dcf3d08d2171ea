// One launch with owned device memory around it.
#include "autotune/cli/DeviceRun.h"

#include "autotune/measure/LaunchTensors.h"

namespace tessera::cli {

Result<DeviceResult> runOnDevice(const Device &device, const Kernel &kernel, const HostProblem &host) {
  const AttentionSpec &spec = host.resolved.spec;
  const reference::Sizes &sizes = host.resolved.sizes;
  const Problem problem = host.resolved.problem();
  const bool sequenceFirst = host.layout == Layout::Bshd;
  const Result<tune::LaunchTensors> tensors = tune::LaunchTensors::allocate(
      device, kernel.image(), problem, sequenceFirst ? tune::MemoryOrder::SequenceFirst : tune::MemoryOrder::HeadFirst);
  if (!tensors)
    return tensors.status();
  for (tune::Input input : tune::inputs) {
    const std::vector<std::byte> &bytes = host.tensors[unsigned(input)].bytes;
    const std::array<int64_t, 4> shape = tune::shapeOf(input, spec, problem);
    if (Status status =
            tensors->upload(input, sequenceFirst ? bytes : toLayout(host.layout, bytes, shape, byteSize(spec.dtype)));
        !status)
      return status;
  }
  if (Status status = tensors->poisonOutputs(); !status)
    return status;

  Result<Event> before = Event::create(device.context()), after = Event::create(device.context());
  if (!before || !after)
    return !before ? before.status() : after.status();
  if (Status status = before->record(nullptr); !status)
    return status;
  if (Status status = kernel.launch(tensors->arguments(), nullptr); !status)
    return status;
  if (Status status = after->record(nullptr); !status)
    return status;
  if (Status status = device.synchronize(); !status)
    return status;
  const Result<float> elapsed = before->millisecondsTo(*after);
  if (!elapsed)
    return elapsed.status();

  Result<tune::LaunchOutputs> outputs = tensors->download();
  if (!outputs)
    return outputs.status();
  DeviceResult result;
  result.milliseconds = *elapsed;
  result.rescues = outputs->rescues;
  const std::array<int64_t, 4> shape = tune::outputShape(spec, problem);
  result.out = {spec.outputType(),
                {shape.begin(), shape.end()},
                sequenceFirst ? std::move(outputs->out)
                              : fromLayout(host.layout, outputs->out, shape, byteSize(spec.outputType()))};
  if (contains(spec.outputs, Output::LSE)) {
    const auto bytes = std::as_bytes(std::span(outputs->lse));
    result.lse =
        files::HostTensor{DType::F32, {sizes.batch, sizes.queryHeads, sizes.queryLength}, {bytes.begin(), bytes.end()}};
  }
  return result;
}

} // namespace tessera::cli
