// The parameters that a kernel may declare: one table of names and types that the compiler writes from and the engine
// fills by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

enum class ParameterType : uint8_t { Pointer, I64, I32 };

/// Size, and natural alignment, in the kernel's parameter space.
constexpr unsigned byteSize(ParameterType type) { return type == ParameterType::I32 ? 4 : 8; }

/// Everything the engine can pass. Strides are in elements; tensors are (batch, sequence, head, dim) with dim
/// contiguous, the LSE is (batch, head, sequence) in f32. A row is one position of the sequence.
enum class Argument : uint8_t {
  Q,
  K,
  V,
  O,
  Lse,     ///< null where the outputs do not hold it
  Rescues, ///< u32 counter of query tiles done again (anchored), or null
  QBatch,
  QHead,
  KBatch,
  KHead,
  VBatch,
  VHead,
  OBatch,
  OHead,
  LseBatch,
  LseHead,
  QRow,
  KRow,
  VRow,
  ORow,
  LseRow,
  Heads, ///< query heads
  Group, ///< query heads per KV head
  SeqlenQ,
  SeqlenKv,
  QTiles, ///< ceil(rows / tile_q), where rows is seqlen_q, or seqlen_q * group where heads are packed
  Pairs,  ///< batch * heads, or batch * KV heads where heads are packed
};
constexpr unsigned argumentCount = unsigned(Argument::Pairs) + 1;

/// The name in metadata and IR, e.g. "q_batch".
std::string_view name(Argument argument);
/// Pointers q k v o lse rescues; i64 batch and head strides; i32 row strides and counts.
ParameterType typeOf(Argument argument);
/// The inverse of name().
std::optional<Argument> parseArgument(std::string_view name);

/// ptr, i64, i32.
std::string_view name(ParameterType type);
std::optional<ParameterType> parseParameterType(std::string_view text);

/// Every Argument, in order. A kernel declares those that it uses.
std::span<const Argument> allArguments();

} // namespace tessera
