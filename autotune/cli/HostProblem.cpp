// Inputs from files or from a seed.
#include "autotune/cli/HostProblem.h"

#include "autotune/cli/files/TensorFile.h"
#include "autotune/reference/Random.h"

#include <fmt/format.h>

#include <cstring>
#include <unistd.h>

namespace tessera::cli {
namespace {

std::array<int64_t, 4> shapeOf(const reference::Sizes &sizes, int which) {
  return {sizes.batch, which == 0 ? sizes.queryLength : sizes.keyLength, which == 0 ? sizes.queryHeads : sizes.keyHeads,
          which == 2 ? sizes.valueDim : sizes.headDim};
}

/// Inputs, output, their copies and the two references must fit into this machine.
Status fitsMemory(const reference::Sizes &sizes) {
  double elements = double(sizes.batch) * double(sizes.queryLength) * double(sizes.queryHeads) *
                    double(sizes.headDim + sizes.valueDim);
  elements +=
      double(sizes.batch) * double(sizes.keyLength) * double(sizes.keyHeads) * double(sizes.headDim + sizes.valueDim);
  const double needed = elements * 8, present = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  if (needed <= present)
    return {};
  return Status(Code::InvalidArgument,
                fmt::format("these sizes need about {:.1f} GiB of memory; this machine has {:.1f}", needed / 0x1p30,
                            present / 0x1p30),
                "make --batch, --heads or the lengths smaller");
}

template <typename Copy> void forEachRow(Layout layout, const std::array<int64_t, 4> &shape, size_t width, Copy copy) {
  const std::array<int64_t, 4> strides = stridesOf(layout, shape);
  size_t dense = 0;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t s = 0; s < shape[1]; ++s)
      for (int64_t h = 0; h < shape[2]; ++h, dense += size_t(shape[3]) * width)
        copy(dense, size_t(b * strides[0] + s * strides[1] + h * strides[2]) * width, size_t(shape[3]) * width);
}

} // namespace

void InputFlags::addTo(CLI::App &app) {
  const std::string group = "Data";
  const auto file = [&](const char *flag, std::string &field, const char *what) {
    app.add_option(flag, field,
                   fmt::format("{} from a .npy or .safetensors file (batch, sequence, head, dim); "
                               "FILE.safetensors:NAME chooses a tensor",
                               what))
        ->type_name("FILE")
        ->group(group);
  };
  file("--q", q, "queries");
  file("--k", k, "keys");
  file("--v", v, "values");
  addValue(app, "--seed", seed, parseSeed, "of generated data, standard normal values (default 0)", "N")->group(group);
  addValue(app, "--layout", layout, parseLayout, "order of the tensors in device memory (default bshd)", "bshd|bhsd")
      ->group(group);
}

Result<HostProblem> makeHostProblem(const ProblemFlags &flags, const InputFlags &inputs) {
  HostProblem host;
  host.layout = inputs.layout.value_or(Layout::Bshd);
  const int given = !inputs.q.empty() + !inputs.k.empty() + !inputs.v.empty();
  if (given != 0 && given != 3)
    return Status(Code::InvalidArgument,
                  fmt::format("{} of --q, --k and --v {} given", given, given == 1 ? "is" : "are"),
                  "give all three, or none for generated data");
  if (given == 3) {
    if (inputs.seed)
      return Status(Code::InvalidArgument,
                    fmt::format("--seed {} is for generated data, and --q, --k and --v are given", *inputs.seed),
                    "leave --seed out");
    const std::string *paths[] = {&inputs.q, &inputs.k, &inputs.v};
    constexpr const char *roles[] = {"q", "k", "v"};
    for (int which = 0; which < 3; ++which) {
      Result<files::HostTensor> tensor = files::readTensorFile(*paths[which], roles[which]);
      if (!tensor)
        return tensor.status();
      host.tensors[which] = *std::move(tensor);
    }
    Result<ResolvedProblem> resolved = flags.resolve(host.tensors);
    if (!resolved)
      return resolved.status();
    host.resolved = *std::move(resolved);
  } else {
    Result<ResolvedProblem> resolved = flags.resolve();
    if (!resolved)
      return resolved.status();
    host.resolved = *std::move(resolved);
    host.generated = true;
    host.seed = inputs.seed.value_or(0);
    for (int which = 0; which < 3; ++which)
      if (!reference::elementCount(shapeOf(host.resolved.sizes, which)))
        return Status(Code::InvalidArgument, "the product of these sizes leaves 62 bits");
    if (Status status = fitsMemory(host.resolved.sizes); !status)
      return status;
    for (int which = 0; which < 3; ++which) {
      const std::array<int64_t, 4> shape = shapeOf(host.resolved.sizes, which);
      host.tensors[which] = {host.resolved.spec.dtype,
                             {shape.begin(), shape.end()},
                             reference::normalValues(host.resolved.spec.dtype, size_t(*reference::elementCount(shape)),
                                                     host.seed, uint64_t(which))};
    }
  }
  const auto viewOf = [&](int which) {
    const std::array<int64_t, 4> shape = shapeOf(host.resolved.sizes, which);
    return TensorView{nullptr, host.resolved.spec.dtype, shape, stridesOf(host.layout, shape)};
  };
  TensorView o = viewOf(0);
  o.dtype = host.resolved.spec.outputType();
  o.shape[3] = host.resolved.sizes.valueDim;
  o.strides = stridesOf(host.layout, o.shape);
  host.resolved.spec.accessBytes = accessBytesFor(viewOf(0), viewOf(1), viewOf(2), o);
  return host;
}

reference::View HostProblem::view(int which) const {
  return reference::View::dense(tensors[which].bytes.data(), resolved.spec.dtype, shapeOf(resolved.sizes, which));
}

std::array<int64_t, 4> stridesOf(Layout layout, const std::array<int64_t, 4> &shape) {
  const auto [b, s, h, d] = shape;
  if (layout == Layout::Bshd)
    return {s * h * d, h * d, d, 1};
  return {h * s * d, d, s * d, 1};
}

std::vector<std::byte> toLayout(Layout layout, const std::vector<std::byte> &bshd, const std::array<int64_t, 4> &shape,
                                size_t width) {
  std::vector<std::byte> stored(bshd.size());
  forEachRow(layout, shape, width, [&](size_t dense, size_t place, size_t bytes) {
    std::memcpy(stored.data() + place, bshd.data() + dense, bytes);
  });
  return stored;
}

std::vector<std::byte> fromLayout(Layout layout, const std::vector<std::byte> &stored,
                                  const std::array<int64_t, 4> &shape, size_t width) {
  std::vector<std::byte> bshd(stored.size());
  forEachRow(layout, shape, width, [&](size_t dense, size_t place, size_t bytes) {
    std::memcpy(bshd.data() + dense, stored.data() + place, bytes);
  });
  return bshd;
}

} // namespace tessera::cli
