// Warp: the state of 32 lanes while they execute, and of the splits into which divergence divides them.
//
//   frame of registers, structure of arrays:   offset ──► [ lane 0 | lane 1 | … | lane 31 ]   (predicates: one 32-bit
//   mask) definedness, one pair per 64-byte slot:    offset / 64 ──► { undefined lanes, computed lanes }
#pragma once

#include "runtime/simulator/program/Program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::sim::machine {

using program::Handler;
using program::Op;

struct Block;
struct AsyncCopies;

constexpr uint32_t allLanes = ~0u;
constexpr unsigned warpSize = 32;

/// Where generic addresses point to: windows above all that a process can map, since kernels reach page-locked host
/// memory at its own address. Generic = window + address in the space.
constexpr uint64_t sharedWindow = 0x1'0000'0000'0000;
constexpr uint64_t localWindow = 0x1'0100'0000'0000;
constexpr uint64_t paramWindow = 0x1'0200'0000'0000;
constexpr uint64_t windowBytes = uint64_t(1) << 32;

/// Lanes whose value is undefined. `computed` lanes went through arithmetic since, so that storing them to global
/// memory is a defect; the others may still be a copy of padding. Computed lanes that are not undefined are garbage of
/// which a mask made some bits zero, the first step of writing a bit field.
struct Undefined {
  uint32_t lanes = 0;
  uint32_t computed = 0;
};

/// One activation of a function.
struct Frame {
  const program::DecodedFunction *function = nullptr;
  std::byte *regs = nullptr;      ///< function->frameBytes, aligned to 64
  Undefined *undefined = nullptr; ///< function->frameBytes / 64
  Frame *caller = nullptr;
  const Op *call = nullptr; ///< the call op in the caller; null for the kernel
  const program::CallSite *site = nullptr;
  uint32_t localBase = 0; ///< of this frame's variables in local memory
  uint32_t lanes = 0;     ///< that have not returned
};

enum class Wait : uint8_t { None, Join, Barrier, Lanes };

/// The last look of a warp at something that others change: a strong load, an atomic, a test of an mbarrier (`op`
/// tells). For reports of deadlock.
struct Polling {
  uint64_t count = 0;         ///< looks since the warp was created
  uint64_t countAtChange = 0; ///< `count` when something in the block last changed
  uint64_t countAtTurn = 0;   ///< `count` when its turn began
  const Op *op = nullptr;
  uint64_t address = 0; ///< in its space
  uint64_t phase = 0;   ///< mbarriers: that has to complete
  // Mbarriers: a test that fails twice with equal registers fails for ever, unless something else changes.
  uint64_t registers = 0; ///< hash of them at the last test
  uint64_t repeats = 0;   ///< tests since the last change that found them as the test before did
};

/// Lanes with one program counter. `join` is where they expect to meet the rest of the lanes they split from.
struct Split {
  const Op *pc = nullptr;
  uint32_t mask = 0;
  int join = -1;
  Frame *frame = nullptr;
  Wait wait = Wait::None;
  uint32_t barrier = 0;    ///< Wait::Barrier: its number
  uint32_t waitMask = 0;   ///< Wait::Lanes: lanes asked for
  uint32_t waitActive = 0; ///< Wait::Lanes: lanes of this split that execute the instruction
  bool gaveWay = false;    ///< runs again when all others of the warp have had a turn
};

/// A reconvergence point that lanes are on their way to.
struct JoinNode {
  const Op *pc = nullptr; ///< null: unused
  Frame *frame = nullptr;
  int parent = -1;
  uint32_t expected = 0; ///< lanes that have not exited
  uint32_t arrived = 0;
};

/// A recently used allocation, for quick bounds checks.
struct GlobalWindow {
  uint64_t base = 1, size = 0;
  std::byte *data = nullptr;
  uint8_t *shadow = nullptr; ///< null: not tracked
  bool writable = true;
};
constexpr unsigned windowCount = 16;

struct Warp {
  // Used by every op.
  std::byte *regs = nullptr;
  Undefined *undefined = nullptr;
  uint32_t active = 0; ///< lanes that execute the op at hand
  uint32_t exec = 0;   ///< lanes of the current split
  bool checks = false;
  bool counting = false;
  bool stress = false; ///< approximations are perturbed within their bounds

  // Shared memory of the block: addresses [sharedBegin, sharedEnd).
  std::byte *shared = nullptr; ///< address 0
  uint8_t *sharedShadow = nullptr;
  uint32_t sharedBegin = 0, sharedEnd = 0;
  std::byte *local = nullptr; ///< lane l at l * localBytes
  uint8_t *localShadow = nullptr;
  uint32_t localBytes = 0;
  const std::byte *parameters = nullptr;
  uint32_t parameterBytes = 0;
  GlobalWindow *windows = nullptr; ///< windowCount of them, of the host thread

  Block *block = nullptr;
  Frame *frame = nullptr;
  uint32_t live = 0;     ///< lanes that have not exited
  uint32_t launched = 0; ///< lanes that exist
  unsigned index = 0;    ///< %warpid
  alignas(64) uint32_t tid[3][warpSize] = {};

  std::vector<Split> splits;
  size_t current = 0;
  int join = -1; ///< of the current split
  std::vector<JoinNode> joins;
  std::vector<Frame *> frames; ///< owned; freed by the block
  uint32_t joinTicks = 0;      ///< fairness among splits
  uint64_t instructions = 0;   ///< executed, for clocks and limits
  uint64_t budget = 0;         ///< Schedule::Random: instructions until another warp has a turn; 0: no limit
  Polling polling;
  bool yielded = false; ///< the warp gives way to others (nanosleep, polling)
  AsyncCopies *async = nullptr;
  uint64_t carry = 0; ///< low 32 bits: the carry flag per lane

  template <typename T> T *reg(uint32_t offset) { return reinterpret_cast<T *>(regs + offset); }
  uint32_t &predicate(uint32_t offset) { return *reinterpret_cast<uint32_t *>(regs + offset); }
  Undefined &undef(uint32_t offset) { return undefined[offset >> 6]; }
};

} // namespace tessera::sim::machine
