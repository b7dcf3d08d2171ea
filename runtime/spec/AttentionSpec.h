// AttentionSpec: everything that changes the meaning or the machine code of an attention kernel. What, never how.
#pragma once

#include "runtime/spec/DType.h"
#include "runtime/spec/Mask.h"
#include "runtime/spec/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// What the kernel writes, as a set of bits.
enum class Output : uint8_t { O = 1, LSE = 2 };
constexpr Output operator|(Output a, Output b) { return Output(uint8_t(a) | uint8_t(b)); }
constexpr bool contains(Output set, Output one) { return (uint8_t(set) & uint8_t(one)) != 0; }

/// How f32 operands reach the tensor cores. No meaning for 16-bit inputs (then Tf32).
enum class Precision : uint8_t {
  Tf32,    ///< operands rounded to tf32 (10 mantissa bits)
  Precise, ///< operands split into two tf32 parts each, three products: error like that of f32 arithmetic
};

/// One attention: O = softmax(modify(scale * Q K^T) + mask) V. A value type. Lengths, batch, head counts and strides
/// are run-time arguments of the kernel and not part of it.
struct AttentionSpec {
  DType dtype = DType::BF16;             ///< of q, k and v
  std::optional<DType> outDType;         ///< of o; absent: dtype
  unsigned headDim = 128;                ///< d_qk: a multiple of 8, 8 to 256
  unsigned valueDim = 128;               ///< d_v: a multiple of 8, 8 to 256
  Mask mask;                             ///< full, causal or window
  std::optional<float> scale;            ///< absent: 1/sqrt(headDim), with the requested headDim (N1)
  std::optional<float> softcap;          ///< scores become cap * tanh(score / cap); positive
  Output outputs = Output::O;            ///< O always; LSE on request
  Precision precision = Precision::Tf32; ///< f32 inputs only
  /// Widest access that base pointers and strides of q, k, v and o allow: 16, 8, 4 or 2, at least one element of q
  /// (N13). Where an element of o is wider, o is aligned to its elements.
  unsigned accessBytes = 16;

  DType outputType() const { return outDType.value_or(dtype); }
  float effectiveScale() const; ///< the given scale, or 1/sqrt(headDim) rounded once to f32

  /// InvalidArgument or Unsupported with the offending value where the spec cannot be compiled.
  Status validate() const;

  /// The one canonical text, versioned: equal specs have equal texts, and parse() is its inverse. Defaults are spelled
  /// out, so that outDType absent and outDType == dtype give the same text; floats are written so that they read back
  /// to the same bits.
  std::string text() const;
  static Result<AttentionSpec> parse(std::string_view text);

  friend bool operator==(const AttentionSpec &a, const AttentionSpec &b) { return a.text() == b.text(); }
};

} // namespace tessera
