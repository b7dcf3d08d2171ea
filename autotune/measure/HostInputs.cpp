// Normal values, and a trend along the keys that the first channel of q and k carries.
#include "autotune/measure/HostInputs.h"

#include "autotune/reference/Random.h"

#include <cmath>
#include <numbers>

namespace tessera::tune {
namespace {

/// Rewrites channel 0, whose product is the trend: q holds the same value in every row, k a stair.
void addTrend(HostInputs &inputs, const ScoreTrend &trend) {
  const AttentionSpec &spec = inputs.spec;
  const double product = trend.growth * std::numbers::ln2 / double(spec.effectiveScale()); // of q and one stair of k
  const float query = std::exp2(std::round(std::log2(std::sqrt(std::fabs(product)) + 1))); // exact in every type
  const float key = float(product / query);
  if (query > 0x1p12f) // no 16-bit input moves scores of so small a scale
    return;
  const auto set = [&](Input input, auto value) {
    const auto [batch, length, heads, dim] = shapeOf(input, spec, inputs.problem);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < length; ++s)
        for (int64_t h = 0; h < heads; ++h)
          reference::storeElement(inputs.bytes[unsigned(input)].data() +
                                      size_t(((b * length + s) * heads + h) * dim) * byteSize(spec.dtype),
                                  spec.dtype, value(b, s));
  };
  set(Input::Q, [&](int64_t, int64_t) { return query; });
  set(Input::K, [&](int64_t b, int64_t s) {
    const int64_t stair = s / trend.period;
    return (b % 2 ? -key : key) * float(stair);
  });
}

} // namespace

HostInputs HostInputs::make(const AttentionSpec &spec, const Problem &problem, uint64_t seed, ScoreTrend trend) {
  HostInputs made{spec, problem, {}};
  for (Input input : inputs) {
    const auto [b, s, h, d] = shapeOf(input, spec, problem);
    made.bytes[unsigned(input)] = reference::normalValues(spec.dtype, size_t(b * s * h * d), seed, uint64_t(input));
  }
  if (trend.growth != 0 && spec.effectiveScale() != 0)
    addTrend(made, trend);
  return made;
}

reference::View HostInputs::view(Input input) const {
  return reference::View::dense(bytes[unsigned(input)].data(), spec.dtype, shapeOf(input, spec, problem));
}

Status HostInputs::upload(const LaunchTensors &tensors) const {
  for (Input input : inputs)
    if (Status status = tensors.upload(input, bytes[unsigned(input)]); !status)
      return status;
  return {};
}

} // namespace tessera::tune
