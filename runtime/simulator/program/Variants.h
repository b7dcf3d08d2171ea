// Op::variant by opcode.
#pragma once

#include <cstdint>

namespace tessera::sim::program {

enum class AtomicKind : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class ShuffleMode : uint8_t { Up, Down, Bfly, Idx };
enum class VoteMode : uint8_t { All, Any, Uni, Ballot };
enum class ReduxKind : uint8_t { Add, Min, Max, And, Or, Xor };
enum class BarrierReduction : uint8_t { Popc, And, Or };
enum class FenceKind : uint8_t { Memory, Proxy };

/// mma.sync shapes, m16n8 all.
enum class MmaShape : uint8_t { K4, K8, K16, K32 };

} // namespace tessera::sim::program
