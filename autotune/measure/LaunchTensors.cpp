// Allocation, poison and copies of the tensors of one launch.
#include "autotune/measure/LaunchTensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr std::byte kPoison{0xff}; ///< NaN in every element type

/// Nothing where the product leaves 62 bits.
std::optional<uint64_t> byteCount(const std::array<int64_t, 4> &shape, DType type) {
  int64_t bytes = byteSize(type);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes >= int64_t(1) << 62)
      return std::nullopt;
  return uint64_t(bytes);
}

std::array<int64_t, 4> lseShape(const Problem &problem) { return {problem.batch, problem.heads, problem.seqlenQ, 1}; }

} // namespace

std::array<int64_t, 4> shapeOf(Input input, const AttentionSpec &spec, const Problem &problem) {
  const bool query = input == Input::Q;
  return {problem.batch, query ? problem.seqlenQ : problem.seqlenKv, query ? problem.heads : problem.kvHeads,
          input == Input::V ? spec.valueDim : spec.headDim};
}

std::array<int64_t, 4> outputShape(const AttentionSpec &spec, const Problem &problem) {
  return {problem.batch, problem.seqlenQ, problem.heads, spec.valueDim};
}

uint64_t tensorBytes(const AttentionSpec &spec, const Problem &problem) {
  uint64_t bytes = byteCount(outputShape(spec, problem), spec.outputType()).value_or(UINT64_MAX / 8);
  for (Input input : inputs)
    bytes += byteCount(shapeOf(input, spec, problem), spec.dtype).value_or(UINT64_MAX / 8);
  if (contains(spec.outputs, Output::LSE))
    bytes += byteCount(lseShape(problem), DType::F32).value_or(UINT64_MAX / 8);
  return bytes;
}

Status LaunchTensors::place(const Device &device, Tensor &tensor, const char *name, uint64_t bytes) {
  Result<DeviceBuffer> buffer = device.allocate(guardBytes_ + bytes + guardBytes_);
  if (!buffer)
    return buffer.status();
  tensor = {name, *std::move(buffer), bytes};
  return guardBytes_ ? tensor.buffer->fillAsync(static_cast<unsigned char>(kPoison), nullptr) : Status();
}

void *LaunchTensors::address(const Tensor &tensor) const {
  return reinterpret_cast<void *>(tensor.buffer->address() + guardBytes_);
}

Result<LaunchTensors> LaunchTensors::allocate(const Device &device, const KernelImage &image, const Problem &problem,
                                              MemoryOrder order, size_t guardBytes) {
  const AttentionSpec &spec = image.spec;
  if (Status status = problem.validate(); !status)
    return status;
  LaunchTensors tensors;
  tensors.guardBytes_ = guardBytes;
  const auto roomy = [&](const Status &status) {
    return Status(status.code(),
                  fmt::format("q, k, v and o of batch {}, {} heads on {} KV heads, {} queries and {} keys take {:.1f} "
                              "MiB; {} has {:.1f} in all: {}",
                              problem.batch, problem.heads, problem.kvHeads, problem.seqlenQ, problem.seqlenKv,
                              double(tensorBytes(spec, problem)) / 0x1p20, device.name(),
                              double(device.info().memoryBytes) / 0x1p20, status.message()),
                  status.hint().empty() ? "choose a smaller problem, or free memory of the device" : status.hint());
  };
  if (tensorBytes(spec, problem) >= uint64_t(1) << 62)
    return roomy(Status(Code::InvalidArgument, "no memory is that large"));
  const auto view = [&](const Tensor &tensor, DType type, const std::array<int64_t, 4> &shape) {
    const auto make = order == MemoryOrder::SequenceFirst ? &TensorView::contiguous : &TensorView::headMajor;
    return make(tensors.address(tensor), type, shape[0], shape[1], shape[2], shape[3]);
  };
  constexpr const char *names[] = {"q", "k", "v"};
  TensorView *const views[] = {&tensors.arguments_.q, &tensors.arguments_.k, &tensors.arguments_.v};
  for (Input input : inputs) {
    const unsigned n = unsigned(input);
    const std::array<int64_t, 4> shape = shapeOf(input, spec, problem);
    if (Status status = tensors.place(device, tensors.inputs_[n], names[n], *byteCount(shape, spec.dtype)); !status)
      return roomy(status);
    *views[n] = view(tensors.inputs_[n], spec.dtype, shape);
  }
  const std::array<int64_t, 4> outShape = outputShape(spec, problem);
  if (Status status = tensors.place(device, tensors.out_, "o", *byteCount(outShape, spec.outputType())); !status)
    return roomy(status);
  tensors.arguments_.o = view(tensors.out_, spec.outputType(), outShape);
  if (contains(spec.outputs, Output::LSE)) {
    if (Status status = tensors.place(device, tensors.lse_, "lse", *byteCount(lseShape(problem), DType::F32)); !status)
      return roomy(status);
    tensors.arguments_.lse = RowView::contiguous(static_cast<float *>(tensors.address(tensors.lse_)), problem.batch,
                                                 problem.heads, problem.seqlenQ);
  }
  if (image.schedule.rescale == Rescale::Anchored) {
    if (Status status = tensors.place(device, tensors.rescues_, "rescues", sizeof(uint32_t)); !status)
      return roomy(status);
    tensors.arguments_.rescues = static_cast<uint32_t *>(tensors.address(tensors.rescues_));
  }
  return tensors;
}

Status LaunchTensors::upload(Input input, const std::vector<std::byte> &bytes) const {
  const Tensor &tensor = inputs_[unsigned(input)];
  if (bytes.size() != tensor.bytes)
    return Status(Code::InvalidArgument,
                  fmt::format("{} holds {} bytes, {} were given", tensor.name, tensor.bytes, bytes.size()));
  return tensor.buffer->upload(bytes.data(), bytes.size(), guardBytes_);
}

Status LaunchTensors::uploadRepeated(Input input, const std::vector<std::byte> &bytes) const {
  const Tensor &tensor = inputs_[unsigned(input)];
  if (bytes.empty() && tensor.bytes)
    return Status(Code::InvalidArgument, fmt::format("nothing was given for {}", tensor.name));
  for (size_t at = 0; at < tensor.bytes; at += bytes.size())
    if (Status status =
            tensor.buffer->upload(bytes.data(), std::min(bytes.size(), tensor.bytes - at), guardBytes_ + at);
        !status)
      return status;
  return {};
}

Status LaunchTensors::copyInputs(const LaunchTensors &from, StreamHandle stream) const {
  for (unsigned n = 0; n < 3; ++n)
    if (Status status =
            inputs_[n].buffer->copyFromAsync(*from.inputs_[n].buffer, from.inputs_[n].buffer->bytes(), stream);
        !status)
      return status;
  return {};
}

Status LaunchTensors::poisonOutputs() const {
  for (const Tensor *tensor : {&out_, &lse_})
    if (tensor->buffer)
      if (Status status = tensor->buffer->fillAsync(static_cast<unsigned char>(kPoison), nullptr); !status)
        return status;
  const uint32_t none = 0;
  return rescues_.buffer ? rescues_.buffer->upload(&none, sizeof none, guardBytes_) : Status();
}

Result<LaunchOutputs> LaunchTensors::download() const {
  if (Status status = out_.buffer->context().synchronize(); !status)
    return status;
  LaunchOutputs outputs;
  outputs.out.resize(out_.bytes);
  if (Status status = out_.buffer->download(outputs.out.data(), out_.bytes, guardBytes_); !status)
    return status;
  outputs.lse.resize(lse_.bytes / sizeof(float));
  if (lse_.buffer)
    if (Status status = lse_.buffer->download(outputs.lse.data(), lse_.bytes, guardBytes_); !status)
      return status;
  if (rescues_.buffer) {
    uint32_t count = 0;
    if (Status status = rescues_.buffer->download(&count, sizeof count, guardBytes_); !status)
      return status;
    outputs.rescues = count;
  }
  return outputs;
}

Result<std::string> LaunchTensors::strayWrite() const {
  if (guardBytes_ == 0)
    return std::string();
  std::vector<std::byte> guard(guardBytes_);
  for (const Tensor *tensor : {&inputs_[0], &inputs_[1], &inputs_[2], &out_, &lse_, &rescues_}) {
    if (!tensor->buffer)
      continue;
    for (bool behind : {false, true}) {
      const size_t at = behind ? guardBytes_ + tensor->bytes : 0;
      if (Status status = tensor->buffer->download(guard.data(), guardBytes_, at); !status)
        return status;
      const auto found = std::ranges::find_if(guard, [](std::byte byte) { return byte != kPoison; });
      if (found != guard.end())
        return fmt::format("byte {} {} {} ({} bytes) was written", behind ? found - guard.begin() : guard.end() - found,
                           behind ? "behind" : "before", tensor->name, tensor->bytes);
    }
  }
  return std::string();
}

} // namespace tessera::tune
