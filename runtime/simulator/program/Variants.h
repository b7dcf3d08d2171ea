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

/// Bits of the mbarrier instructions.
enum MbarrierForm : uint8_t {
  ArriveDrop = 1,
  ArriveNoComplete = 2,
  ArriveExpectTx = 4,
  WaitParity = 8, ///< b is a parity, otherwise a state
  WaitTry = 16,   ///< try_wait
  NoIncrement = 32,
};

/// Shapes of the matrix instructions.
enum class MmaShape : uint8_t {
  M8N8K4Quads, ///< f16: four products, one per quad pair
  M8N8K4,
  M8N8K16,
  M8N8K32,
  M8N8K128,
  M16N8K4,
  M16N8K8,
  M16N8K16,
  M16N8K32,
  M16N8K64,
  M16N8K128,
  M16N8K256,
  M16N16K8, ///< from here on of wmma only
  M16N16K16,
  M32N8K16,
  M8N32K16,
};

struct MmaExtent {
  unsigned m, n, k;
};
constexpr MmaExtent extentOf(MmaShape shape) {
  constexpr MmaExtent extents[] = {{8, 8, 4},   {8, 8, 4},    {8, 8, 16},  {8, 8, 32},  {8, 8, 128},  {16, 8, 4},
                                   {16, 8, 8},  {16, 8, 16},  {16, 8, 32}, {16, 8, 64}, {16, 8, 128}, {16, 8, 256},
                                   {16, 16, 8}, {16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  return extents[static_cast<unsigned>(shape)];
}

/// Elements of A and B; Op::registerBytes and Op::sourceBytes of matrix instructions.
enum class MmaElement : uint8_t { F16, BF16, TF32, E4M3, E5M2, F64, S8, U8, S4, U4, B1 };

constexpr unsigned bitsOf(MmaElement element) {
  constexpr uint8_t bits[] = {16, 16, 32, 8, 8, 64, 8, 8, 4, 4, 1};
  return bits[static_cast<unsigned>(element)];
}

/// Which matrix a wmma.load or wmma.store moves.
enum class WmmaOperand : uint8_t { A, B, Accumulator };

} // namespace tessera::sim::program
