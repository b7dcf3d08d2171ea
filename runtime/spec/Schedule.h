// Schedule: how one thread block computes its tile of an attention. Never changes what is computed beyond rounding
// (N12).
#pragma once

#include "runtime/spec/AttentionSpec.h"
#include "runtime/spec/Target.h"

#include <string>
#include <string_view>

namespace tessera {

/// When the reference of the online softmax moves (relax-rescale).
enum class Rescale : uint8_t {
  Every,    ///< at every tile
  Lazy,     ///< when some row's max has grown past lazyThreshold (log2) over the reference
  Anchored, ///< in the head tiles until every row has a finite reference, then only when l passes its limit; rescue at
            ///< the end
};

/// How the row sum of the probabilities is formed.
enum class RowSum : uint8_t {
  Add, ///< f32 additions per thread, reduced across the quad once at the end
  Mma, ///< one more column of P V: an mma with a fragment of ones. Sums the rounded weights: 16-bit inputs, and not
       ///< with a bf16 LSE
};

/// Which form of the softmax the pipeline keeps.
enum class Loops : uint8_t {
  Online, ///< one KV loop (fuse-online-softmax)
  Three,  ///< row max, row sum, weighted sum: slow and right, the witness for the fusion pass
};

/// In which order the query tiles of one head run.
enum class TileOrder : uint8_t {
  LastFirst,  ///< the longest first under a causal mask
  FirstFirst, ///< along the sequence
};

struct Schedule {
  unsigned tileQ = 128; ///< query rows per block: a multiple of 16 * warps
  unsigned tileKv = 64; ///< keys per step of the loop: a multiple of 16, 16 to 256
  unsigned warps = 4;   ///< 1, 2, 4 or 8; all along the query rows
  unsigned stages = 1;  ///< buffers per K and V: 1 to 4
  Rescale rescale = Rescale::Lazy;
  float lazyThreshold = 8.0f; ///< log2 units; Lazy only
  RowSum rowSum = RowSum::Add;
  bool queryInRegisters = false; ///< keep Q's fragments in registers for the whole loop
  Loops loops = Loops::Online;
  /// The rows of a tile are (position, query head of one KV head's group), position major: packed row R is query head
  /// R % group of the group at position R / group.
  bool packHeads = false;
  /// So many (batch, head) pairs, or (batch, KV head) pairs where heads are packed, take their tiles in turn, so that
  /// their K and V share the L2: 1 to 64. 1: all tiles of one head, then those of the next.
  unsigned headGroup = 1;
  TileOrder order = TileOrder::LastFirst;
  bool persistent = false; ///< as many blocks as are resident at once, each of which takes every so many-th tile

  /// Canonical versioned text that round-trips, e.g. "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online". The fields from
  /// packHeads on stand in it only where they differ from the default: "...,online,pack,h8,first,persist".
  std::string text() const;
  static Result<Schedule> parse(std::string_view text);

  /// Shared memory of one block in bytes (see SharedLayout.h).
  uint64_t sharedBytes(const AttentionSpec &spec) const;

  /// Whether this schedule can run this spec on this target; the message carries the value that is in the way.
  Status legal(const AttentionSpec &spec, const Target &target) const;

  /// lazyThreshold counts only where rescale is Lazy, so equal schedules are those with equal texts.
  friend bool operator==(const Schedule &a, const Schedule &b);
};

/// The schedule used where no tuned record answers (design: schedules.md). Always legal for a valid spec and a known
/// target.
Schedule defaultSchedule(const AttentionSpec &spec, const Target &target);

} // namespace tessera
