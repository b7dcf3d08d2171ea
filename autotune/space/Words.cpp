// Texts of attentions.
#include "autotune/space/Words.h"

#include <fmt/format.h>

namespace tessera::tune {

std::string typeWords(const AttentionSpec &spec) {
  std::string text(name(spec.dtype));
  if (spec.outputType() != spec.dtype)
    text += fmt::format(" to {}", name(spec.outputType()));
  return text;
}

std::string dimWords(const AttentionSpec &spec) {
  return spec.valueDim == spec.headDim ? fmt::format("d {}", spec.headDim)
                                       : fmt::format("d {} and {}", spec.headDim, spec.valueDim);
}

std::string maskWords(const Mask &mask) {
  if (mask.isFull())
    return "full";
  const std::string_view align = mask.align == Align::BottomRight ? "bottom-right" : "top-left";
  if (!mask.left && mask.right == 0)
    return fmt::format("causal, {}", align);
  const auto side = [](const std::optional<int64_t> &keys) { return keys ? fmt::format("{}", *keys) : "inf"; };
  return fmt::format("window {},{}, {}", side(mask.left), side(mask.right), align);
}

std::string scoreWords(const AttentionSpec &spec) {
  AttentionSpec usual = spec;
  usual.scale.reset();
  std::string text = maskWords(spec.mask);
  if (spec.effectiveScale() != usual.effectiveScale())
    text += fmt::format(", scale {}", spec.effectiveScale());
  if (spec.softcap)
    text += fmt::format(", softcap {}", *spec.softcap);
  if (contains(spec.outputs, Output::LSE))
    text += ", with LSE";
  return text;
}

std::string specWords(const AttentionSpec &spec) {
  std::string text = fmt::format("{}, {}, {}", typeWords(spec), dimWords(spec), scoreWords(spec));
  if (spec.dtype == DType::F32 && spec.precision == Precision::Precise)
    text += ", precise";
  if (spec.accessBytes != AttentionSpec{}.accessBytes)
    text += fmt::format(", accesses of {} bytes", spec.accessBytes);
  return text;
}

} // namespace tessera::tune
