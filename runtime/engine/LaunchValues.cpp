// The checks of a launch. Texts are made on failure only: a good launch costs some dozen comparisons.
#include "runtime/engine/LaunchValues.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::detail {
namespace {

using Shape = std::array<int64_t, 4>;

Status refuse(std::string message, std::string hint = {}) {
  return {Code::InvalidArgument, std::move(message), std::move(hint)};
}

std::string tupleText(const int64_t *values, unsigned rank) {
  std::string text;
  for (unsigned i = 0; i < rank; ++i)
    text += fmt::format("{}{}", i ? ", " : "(", values[i]);
  return text + ")";
}

/// Strides that a kernel may multiply with indices below the extents without leaving 64 bits. Where an extent is 1 the
/// index is always 0.
Status checkStrides(const char *name, const int64_t *shape, const int64_t *strides, unsigned rank,
                    unsigned elementBytes, bool output) {
  int64_t span = elementBytes;
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (shape[dim] <= 1)
      continue;
    if (strides[dim] < 0) [[unlikely]]
      return refuse(fmt::format("stride {} of {} is negative: {}", dim, name, strides[dim]),
                    "pass a copy that runs forward");
    if (output && strides[dim] == 0) [[unlikely]]
      return refuse(fmt::format("stride {} of {} is 0 with extent {}: its elements would overwrite each other", dim,
                                name, shape[dim]));
    int64_t reach;
    if (__builtin_mul_overflow(shape[dim] - 1, strides[dim], &reach) ||
        __builtin_mul_overflow(reach, int64_t(elementBytes), &reach) || __builtin_add_overflow(span, reach, &span))
        [[unlikely]]
      return refuse(fmt::format("{} of shape {} and strides {} spans more than 2^63 bytes", name,
                                tupleText(shape, rank), tupleText(strides, rank)));
  }
  return {};
}

Status checkAlignment(const char *name, const TensorView &view, unsigned bytes, unsigned accessBytes) {
  auto remedy = [&] {
    return accessBytes > byteSize(view.dtype)
               ? fmt::format(
                     "prepare the kernel with AttentionSpec::accessBytes from accessBytesFor(q, k, v, o), or align {}",
                     name)
               : fmt::format("align {} to its elements", name);
  };
  if (uintptr_t(view.data) % bytes) [[unlikely]]
    return refuse(
        fmt::format("{} at address {} is not aligned to the kernel's accesses of {} bytes", name, view.data, bytes),
        remedy());
  for (unsigned dim = 0; dim < 3; ++dim)
    if (view.shape[dim] > 1 && uint64_t(view.strides[dim]) * byteSize(view.dtype) % bytes) [[unlikely]]
      return refuse(
          fmt::format("stride {} of {} is {} elements of {} bytes, no multiple of the kernel's accesses of {} bytes",
                      dim, name, view.strides[dim], byteSize(view.dtype), bytes),
          remedy());
  return {};
}

Status checkTensor(const char *name, const TensorView &view, DType dtype, const Shape &shape, unsigned accessBytes,
                   bool output) {
  if (view.dtype != dtype) [[unlikely]]
    return refuse(fmt::format("{} holds {}, the kernel was prepared for {}", name, tessera::name(view.dtype),
                              tessera::name(dtype)));
  if (view.shape != shape) [[unlikely]]
    return refuse(fmt::format("{} has shape {}, expected {} (batch, sequence, head, dim)", name,
                              tupleText(view.shape.data(), 4), tupleText(shape.data(), 4)));
  if (std::ranges::find(shape, 0) != shape.end())
    return {};
  if (!view.data) [[unlikely]]
    return refuse(fmt::format("{} of shape {} is null", name, tupleText(shape.data(), 4)));
  if (view.strides[3] != 1) [[unlikely]]
    return refuse(fmt::format("the last dimension of {} must be contiguous, its stride is {}", name, view.strides[3]),
                  "pass a contiguous copy");
  if (Status status = checkStrides(name, view.shape.data(), view.strides.data(), 4, byteSize(dtype), output); !status)
      [[unlikely]]
    return status;
  if (view.shape[1] > 1 && view.strides[1] > INT32_MAX) [[unlikely]]
    return refuse(
        fmt::format("the row stride of {} is {} elements, at most {} are possible", name, view.strides[1], INT32_MAX));
  return checkAlignment(name, view, std::max(accessBytes, byteSize(dtype)), accessBytes);
}

Status checkLse(const RowView &lse, const std::array<int64_t, 3> &shape) {
  if (lse.shape != shape) [[unlikely]]
    return refuse(fmt::format("lse has shape {}, expected {} (batch, head, sequence)", tupleText(lse.shape.data(), 3),
                              tupleText(shape.data(), 3)));
  if (std::ranges::find(shape, 0) != shape.end())
    return {};
  if (!lse.data) [[unlikely]]
    return refuse("lse is null, and the kernel was prepared to write it",
                  "leave Output::LSE out of the spec's outputs");
  if (uintptr_t(lse.data) % 4) [[unlikely]]
    return refuse(fmt::format("lse at address {} is not aligned to f32", static_cast<void *>(lse.data)));
  if (shape[2] > 1 && lse.strides[2] > INT32_MAX) [[unlikely]]
    return refuse(
        fmt::format("the row stride of lse is {} elements, at most {} are possible", lse.strides[2], INT32_MAX));
  return checkStrides("lse", lse.shape.data(), lse.strides.data(), 3, 4, true);
}

/// The stride that the kernel gets: 0 for a dimension whose stride has no meaning.
uint64_t passed(int64_t extent, int64_t stride) { return extent > 1 ? uint64_t(stride) : 0; }

} // namespace

Status fillLaunchValues(const KernelImage &image, const LaunchArguments &arguments, LaunchValues &launch) {
  const AttentionSpec &spec = image.spec;
  const auto &[q, k, v, o, lse, rescues] = arguments;
  const Problem problem = problemOf(q, k);
  if (Status status = problem.validate(); !status) [[unlikely]]
    return status;
  const auto &[batch, heads, kvHeads, seqlenQ, seqlenKv] = problem;
  const int64_t dim = spec.headDim, valueDim = spec.valueDim;
  if (Status status = checkTensor("q", q, spec.dtype, {batch, seqlenQ, heads, dim}, spec.accessBytes, false); !status)
      [[unlikely]]
    return status;
  if (Status status = checkTensor("k", k, spec.dtype, {batch, seqlenKv, kvHeads, dim}, spec.accessBytes, false);
      !status) [[unlikely]]
    return status;
  if (Status status = checkTensor("v", v, spec.dtype, {batch, seqlenKv, kvHeads, valueDim}, spec.accessBytes, false);
      !status) [[unlikely]]
    return status;
  if (Status status = checkTensor("o", o, spec.outputType(), {batch, seqlenQ, heads, valueDim}, spec.accessBytes, true);
      !status) [[unlikely]]
    return status;
  const bool writesLse = contains(spec.outputs, Output::LSE);
  if (writesLse) {
    if (Status status = checkLse(lse, {batch, heads, seqlenQ}); !status) [[unlikely]]
      return status;
  } else if (lse.data) [[unlikely]] {
    return refuse("lse is given, and the kernel was prepared without it", "add Output::LSE to the spec's outputs");
  }
  if (uintptr_t(rescues) % 4) [[unlikely]]
    return refuse(fmt::format("rescues at address {} is not aligned to u32", static_cast<void *>(rescues)));

  const bool packed = image.schedule.packHeads;
  const int64_t group = kvHeads ? heads / kvHeads : 1, packedHeads = packed ? group : 1;
  if (seqlenQ * packedHeads > INT32_MAX) [[unlikely]]
    return refuse(fmt::format("{} queries x {} heads packed into one tile sequence are more than {} rows", seqlenQ,
                              packedHeads, INT32_MAX),
                  "prepare the kernel with a schedule without \"pack\"");
  const int64_t tiles = (seqlenQ * packedHeads + image.tileQ - 1) / image.tileQ, parts = packed ? kvHeads : heads;
  int64_t total;
  if (__builtin_mul_overflow(tiles * parts, batch, &total) || total > INT32_MAX) [[unlikely]]
    return refuse(fmt::format("{} query tiles x {} {} x batch {} are more than {} blocks", tiles, parts,
                              packed ? "KV heads" : "heads", batch, INT32_MAX),
                  "launch parts of the batch");
  launch.tiles = unsigned(total);

  auto set = [&](Argument argument, uint64_t value) { launch.values[unsigned(argument)] = value; };
  auto setTensor = [&](const TensorView &view, Argument data, Argument batchStride, Argument headStride,
                       Argument rowStride) {
    set(data, uint64_t(uintptr_t(view.data)));
    set(batchStride, passed(view.shape[0], view.strides[0]));
    set(rowStride, passed(view.shape[1], view.strides[1]));
    set(headStride, passed(view.shape[2], view.strides[2]));
  };
  setTensor(q, Argument::Q, Argument::QBatch, Argument::QHead, Argument::QRow);
  setTensor(k, Argument::K, Argument::KBatch, Argument::KHead, Argument::KRow);
  setTensor(v, Argument::V, Argument::VBatch, Argument::VHead, Argument::VRow);
  setTensor(o, Argument::O, Argument::OBatch, Argument::OHead, Argument::ORow);
  set(Argument::Lse, uint64_t(uintptr_t(lse.data)));
  set(Argument::LseBatch, writesLse ? passed(batch, lse.strides[0]) : 0);
  set(Argument::LseHead, writesLse ? passed(heads, lse.strides[1]) : 0);
  set(Argument::LseRow, writesLse ? passed(seqlenQ, lse.strides[2]) : 0);
  set(Argument::Rescues, uint64_t(uintptr_t(rescues)));
  set(Argument::Heads, uint64_t(heads));
  set(Argument::Group, uint64_t(group));
  set(Argument::SeqlenQ, uint64_t(seqlenQ));
  set(Argument::SeqlenKv, uint64_t(seqlenKv));
  set(Argument::QTiles, uint64_t(tiles));
  set(Argument::Pairs, uint64_t(parts) * uint64_t(batch)); // fits where there are tiles
  return {};
}

} // namespace tessera::detail
