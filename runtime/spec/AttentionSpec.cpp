// Validation and canonical text of AttentionSpec.
#include "runtime/spec/AttentionSpec.h"

#include "runtime/spec/CanonicalText.h"

#include <cmath>
#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::string_view exampleText =
    "v1:in=bf16,out=bf16,d=128,dv=128,mask=*:0:bottom-right,scale=0.088388346,softcap=none,"
    "outputs=o+lse,precision=tf32,access=16";
constexpr int64_t maxBound = INT32_MAX; // lengths end there (N13), so a larger bound is an unbounded side

std::string_view name(Align align) { return align == Align::TopLeft ? "top-left" : "bottom-right"; }

std::string boundText(const std::optional<int64_t> &bound) { return bound ? fmt::format("{}", *bound) : "*"; }

std::string maskText(const Mask &mask) {
  if (mask.isFull())
    return "full";
  return fmt::format("{}:{}:{}", boundText(mask.left), boundText(mask.right), name(mask.align));
}

/// "*" or a number without sign.
bool readBound(std::string_view text, std::optional<int64_t> &bound) {
  if (text == "*")
    return true;
  int64_t value = 0;
  if (text.starts_with('-') || !detail::readNumber(text, value))
    return false;
  bound = value;
  return true;
}

bool readMask(std::string_view text, Mask &mask) {
  if (text == "full")
    return true;
  size_t first = text.find(':');
  size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos)
    return false;
  std::string_view align = text.substr(second + 1);
  if (align != name(Align::TopLeft) && align != name(Align::BottomRight))
    return false;
  mask.align = align == name(Align::TopLeft) ? Align::TopLeft : Align::BottomRight;
  return readBound(text.substr(0, first), mask.left) &&
         readBound(text.substr(first + 1, second - first - 1), mask.right) &&
         !mask.isFull(); // "*:*" has the canonical form "full"
}

Status checkDim(std::string_view what, unsigned dim) {
  if (dim >= 8 && dim <= 256 && dim % 8 == 0)
    return {};
  if (dim == 0 || dim > 256)
    return {Code::Unsupported, fmt::format("{} must be 8 to 256, got {}", what, dim),
            dim ? "split the head into parts of at most 256" : ""};
  return {Code::Unsupported, fmt::format("{} must be a multiple of 8, got {}", what, dim),
          fmt::format("pad the tensors with zeros to {} and state the scale 1/sqrt({})", (dim + 7) / 8 * 8, dim)};
}

Status checkBound(std::string_view side, const std::optional<int64_t> &bound) {
  if (bound && *bound < 0)
    return {Code::InvalidArgument, fmt::format("the window's {} bound must not be negative, got {}", side, *bound),
            "leave the bound out where the side is unbounded"};
  if (bound && *bound > maxBound)
    return {Code::InvalidArgument,
            fmt::format("the window's {} bound must be at most {}, got {}", side, maxBound, *bound),
            "leave the bound out where the side is unbounded"};
  return {};
}

} // namespace

float AttentionSpec::effectiveScale() const { return scale.value_or(float(1.0 / std::sqrt(double(headDim)))); }

Status AttentionSpec::validate() const {
  if (uint8_t(dtype) > uint8_t(DType::F32) || uint8_t(outputType()) > uint8_t(DType::F32))
    return {Code::InvalidArgument, fmt::format("unknown element type {} -> {}", int(dtype), int(outputType())),
            "f16, bf16 or f32"};
  if (Status status = checkDim("head_dim", headDim); !status.ok())
    return status;
  if (Status status = checkDim("value_dim", valueDim); !status.ok())
    return status;
  if (Status status = checkBound("left", mask.left); !status.ok())
    return status;
  if (Status status = checkBound("right", mask.right); !status.ok())
    return status;
  if (scale && !std::isfinite(*scale))
    return {Code::InvalidArgument, fmt::format("the scale must be finite, got {}", *scale)};
  if (softcap && !(std::isfinite(*softcap) && *softcap > 0))
    return {Code::InvalidArgument, fmt::format("softcap must be positive and finite, got {}", *softcap),
            "leave it out for none"};
  if (!contains(outputs, Output::O) || (uint8_t(outputs) & ~uint8_t(Output::O | Output::LSE)))
    return {Code::InvalidArgument, fmt::format("outputs must be O or O and LSE, got the bits {}", int(outputs))};
  if (precision != Precision::Tf32 && precision != Precision::Precise)
    return {Code::InvalidArgument, fmt::format("unknown precision {}", int(precision))};
  if (precision == Precision::Precise && dtype != DType::F32)
    return {Code::InvalidArgument, fmt::format("precise has a meaning for f32 inputs only, got {}", name(dtype)),
            "leave it out: products of 16-bit inputs are exact in f32 anyway"};
  if (accessBytes != 16 && accessBytes != 8 && accessBytes != 4 && accessBytes != 2)
    return {Code::InvalidArgument, fmt::format("access width must be 16, 8, 4 or 2 bytes, got {}", accessBytes)};
  if (accessBytes < byteSize(dtype))
    return {Code::InvalidArgument,
            fmt::format("access width of {} bytes is less than one element of {} bytes ({})", accessBytes,
                        byteSize(dtype), name(dtype)),
            "align the tensors to their elements"};
  return {};
}

std::string AttentionSpec::text() const {
  return fmt::format("v1:in={},out={},d={},dv={},mask={},scale={},softcap={},outputs={},precision={},access={}",
                     name(dtype), name(outputType()), headDim, valueDim, maskText(mask),
                     detail::floatText(effectiveScale()), softcap ? detail::floatText(*softcap) : "none",
                     contains(outputs, Output::LSE) ? "o+lse" : "o",
                     precision == Precision::Precise ? "precise" : "tf32", accessBytes);
}

Result<AttentionSpec> AttentionSpec::parse(std::string_view text) {
  detail::FieldReader reader(text, "attention", exampleText);
  AttentionSpec spec;
  auto readType = [&](std::string_view prefix) {
    std::string_view value = reader.field(prefix);
    std::optional<DType> type = parseDType(value);
    if (!type)
      reader.fail(prefix, value, "f16, bf16 or f32");
    return type.value_or(DType::BF16);
  };
  spec.dtype = readType("in=");
  spec.outDType = readType("out=");
  spec.headDim = reader.number<unsigned>("d=");
  spec.valueDim = reader.number<unsigned>("dv=");
  if (std::string_view value = reader.field("mask="); !readMask(value, spec.mask))
    reader.fail("mask=", value, "full, or left:right:top-left or left:right:bottom-right with * for an unbounded side");
  spec.scale = reader.number<float>("scale=");
  if (std::string_view value = reader.field("softcap="); value != "none") {
    float cap = 0;
    if (!detail::readNumber(value, cap))
      reader.fail("softcap=", value, "none or a number");
    spec.softcap = cap;
  }
  std::string_view outputs = reader.field("outputs=");
  if (outputs != "o" && outputs != "o+lse")
    reader.fail("outputs=", outputs, "o or o+lse");
  spec.outputs = outputs == "o+lse" ? Output::O | Output::LSE : Output::O;
  std::string_view precision = reader.field("precision=");
  if (precision != "tf32" && precision != "precise")
    reader.fail("precision=", precision, "tf32 or precise");
  spec.precision = precision == "precise" ? Precision::Precise : Precision::Tf32;
  spec.accessBytes = reader.number<unsigned>("access=");
  if (Status status = reader.finish(); !status.ok())
    return status;
  if (Status status = spec.validate(); !status.ok())
    return status;
  return spec;
}

} // namespace tessera
