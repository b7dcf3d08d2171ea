// Specs, problems and views between C and C++.
#include "runtime/engine/c/Conversions.h"

#include "runtime/engine/c/LastError.h"
#include "runtime/engine/c/SizedStruct.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::c {
namespace {

Status refuse(std::string message, std::string hint = {}) {
  return {Code::InvalidArgument, std::move(message), std::move(hint)};
}

/// Sets an optional where the flag says so.
Status toOptional(int32_t has, float value, const char *name, std::optional<float> &optional) {
  if (has != 0 && has != 1)
    return refuse(fmt::format("tessera_spec.has_{} must be 0 or 1, got {}", name, has));
  if (!has && value != 0)
    return refuse(fmt::format("tessera_spec.{} is {}, but has_{} is 0", name, value, name),
                  fmt::format("set has_{} to 1", name));
  if (has)
    optional = value;
  return {};
}

Status toBound(int64_t given, const char *side, std::optional<int64_t> &bound) {
  if (given == TESSERA_UNBOUNDED)
    return {};
  if (given < 0)
    return refuse(fmt::format("tessera_spec.window_{} must not be negative, got {}", side, given),
                  "use TESSERA_UNBOUNDED where the side is unbounded");
  bound = given;
  return {};
}

Status toMask(const tessera_spec &given, Mask &mask) {
  if (given.align < TESSERA_ALIGN_NONE || given.align > TESSERA_ALIGN_BOTTOM_RIGHT)
    return refuse(fmt::format("tessera_spec.align {} is none of TESSERA_ALIGN_...", given.align));
  if (given.mask < TESSERA_MASK_FULL || given.mask > TESSERA_MASK_WINDOW)
    return refuse(fmt::format("tessera_spec.mask {} is none of TESSERA_MASK_...", given.mask));
  if (given.mask != TESSERA_MASK_WINDOW && (given.window_left || given.window_right))
    return refuse(fmt::format("tessera_spec.window_left and window_right are {} and {}, but the mask is no window",
                              given.window_left, given.window_right),
                  "set mask to TESSERA_MASK_WINDOW");
  if (given.mask == TESSERA_MASK_FULL)
    return {};
  std::optional<int64_t> left, right = 0;
  if (given.mask == TESSERA_MASK_WINDOW) {
    right.reset();
    if (Status status = toBound(given.window_left, "left", left); !status)
      return status;
    if (Status status = toBound(given.window_right, "right", right); !status)
      return status;
  }
  if ((left || right) && given.align == TESSERA_ALIGN_NONE)
    return refuse("tessera_spec.align is not set, and a causal or window mask has no default alignment",
                  "TESSERA_ALIGN_BOTTOM_RIGHT lets the last query see the last key, TESSERA_ALIGN_TOP_LEFT the first "
                  "query the first key");
  mask = Mask::window(left, right, given.align == TESSERA_ALIGN_TOP_LEFT ? Align::TopLeft : Align::BottomRight);
  return {};
}

} // namespace

Status toDType(tessera_dtype number, const char *what, DType &type) {
  if (number < TESSERA_F16 || number > TESSERA_F32) [[unlikely]]
    return refuse(fmt::format("{} {} is no element type", what, number), "TESSERA_F16, TESSERA_BF16 or TESSERA_F32");
  type = number == TESSERA_F16 ? DType::F16 : number == TESSERA_BF16 ? DType::BF16 : DType::F32;
  return {};
}

tessera_dtype fromDType(DType type) {
  return type == DType::F16 ? TESSERA_F16 : type == DType::BF16 ? TESSERA_BF16 : TESSERA_F32;
}

Status toSpec(const tessera_spec *given, AttentionSpec &spec) {
  if (Status status = required({{"spec", given}}); !status)
    return status;
  tessera_spec own;
  if (Status status = readSized(*given, "tessera_spec", own); !status)
    return status;
  if (Status status = toDType(own.dtype, "tessera_spec.dtype", spec.dtype); !status)
    return status;
  if (own.out_dtype) {
    DType out;
    if (Status status = toDType(own.out_dtype, "tessera_spec.out_dtype", out); !status)
      return status;
    spec.outDType = out;
  }
  spec.headDim = own.head_dim;
  spec.valueDim = own.value_dim ? own.value_dim : own.head_dim;
  if (Status status = toMask(own, spec.mask); !status)
    return status;
  if (Status status = toOptional(own.has_scale, own.scale, "scale", spec.scale); !status)
    return status;
  if (Status status = toOptional(own.has_softcap, own.softcap, "softcap", spec.softcap); !status)
    return status;
  if (own.outputs & ~uint32_t(TESSERA_OUTPUT_O | TESSERA_OUTPUT_LSE))
    return refuse(fmt::format("tessera_spec.outputs {:#x} has bits that are none of TESSERA_OUTPUT_...", own.outputs));
  spec.outputs = own.outputs ? Output(own.outputs) : Output::O;
  if (own.precision != TESSERA_PRECISION_TF32 && own.precision != TESSERA_PRECISION_PRECISE)
    return refuse(fmt::format("tessera_spec.precision {} is none of TESSERA_PRECISION_...", own.precision));
  spec.precision = own.precision == TESSERA_PRECISION_PRECISE ? Precision::Precise : Precision::Tf32;
  spec.accessBytes = own.access_bytes ? own.access_bytes : 16;
  if (own.reserved)
    return refuse(fmt::format("tessera_spec.reserved must be 0, got {}", own.reserved));
  return {};
}

tessera_spec fromSpec(const AttentionSpec &spec) {
  tessera_spec own{};
  own.size = sizeof own;
  own.dtype = fromDType(spec.dtype);
  own.out_dtype = fromDType(spec.outputType());
  own.head_dim = spec.headDim;
  own.value_dim = spec.valueDim;
  const Mask &mask = spec.mask;
  if (!mask.isFull()) {
    own.align = mask.align == Align::TopLeft ? TESSERA_ALIGN_TOP_LEFT : TESSERA_ALIGN_BOTTOM_RIGHT;
    own.mask = !mask.left && mask.right == 0 ? TESSERA_MASK_CAUSAL : TESSERA_MASK_WINDOW;
    if (own.mask == TESSERA_MASK_WINDOW) {
      own.window_left = mask.left.value_or(TESSERA_UNBOUNDED);
      own.window_right = mask.right.value_or(TESSERA_UNBOUNDED);
    }
  }
  own.has_scale = spec.scale.has_value();
  own.scale = spec.scale.value_or(0);
  own.has_softcap = spec.softcap.has_value();
  own.softcap = spec.softcap.value_or(0);
  own.outputs = uint32_t(spec.outputs);
  own.precision = spec.precision == Precision::Precise ? TESSERA_PRECISION_PRECISE : TESSERA_PRECISION_TF32;
  own.access_bytes = spec.accessBytes;
  return own;
}

Status toProblem(const tessera_problem *given, Problem &problem) {
  if (Status status = required({{"problem", given}}); !status)
    return status;
  tessera_problem own;
  if (Status status = readSized(*given, "tessera_problem", own); !status)
    return status;
  problem = {own.batch, own.heads, own.kv_heads, own.seqlen_q, own.seqlen_kv};
  return problem.validate();
}

Status toView(const tessera_tensor *given, const char *name, TensorView &view) {
  if (Status status = required({{name, given}}); !status) [[unlikely]]
    return status;
  if (Status status = toDType(given->dtype, "tessera_tensor.dtype", view.dtype); !status) [[unlikely]]
    return {status.code(), fmt::format("{}: {}", name, status.message()), status.hint()};
  if (given->reserved) [[unlikely]]
    return refuse(fmt::format("{}: tessera_tensor.reserved must be 0, got {}", name, given->reserved));
  view.data = given->data;
  std::copy_n(given->shape, 4, view.shape.begin());
  std::copy_n(given->strides, 4, view.strides.begin());
  return {};
}

RowView toView(const tessera_rows &rows) {
  RowView view;
  view.data = rows.data;
  std::copy_n(rows.shape, 3, view.shape.begin());
  std::copy_n(rows.strides, 3, view.strides.begin());
  return view;
}

void fromView(const TensorView &view, tessera_tensor &tensor) {
  tensor = {view.data, fromDType(view.dtype), 0, {}, {}};
  std::copy_n(view.shape.begin(), 4, tensor.shape);
  std::copy_n(view.strides.begin(), 4, tensor.strides);
}

void fromView(const RowView &view, tessera_rows &rows) {
  rows = {view.data, {}, {}};
  std::copy_n(view.shape.begin(), 3, rows.shape);
  std::copy_n(view.strides.begin(), 3, rows.strides);
}

} // namespace tessera::c
