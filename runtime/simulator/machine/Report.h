// Findings: how detectors tell what they saw.
#pragma once

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

/// What a detector knows; the rest (kernel, block, thread, source line) comes from the warp and op.
struct Evidence {
  FindingKind kind = FindingKind::Trap;
  bool fatal = false;
  unsigned lane = 0;
  bool hasAddress = false;
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::string_view space;
  std::string object;
  std::string other;
  uint32_t otherLine = 0;
  std::string otherInstruction;
  Dim3 otherBlock{0, 0, 0};
  uint32_t otherWarp = 0;
  std::string message; ///< one sentence without place
};

/// Fills in the other party: the instruction that a thread of a warp of the launch has executed.
void describeOther(const LaunchState &launch, Evidence &evidence, uint64_t block, unsigned warp, unsigned lane,
                   uint32_t instruction);
/// report() of a finding made before.
void addFinding(Block &block, uint32_t instruction, Finding finding);
Finding makeFinding(const LaunchState &launch, Evidence evidence, uint32_t instruction, uint64_t block, unsigned warp);

/// Adds a finding to the block, or counts a repetition. A fatal one stops the block.
void report(Warp &warp, const Op &op, Evidence evidence);

/// The allocation or red zone that a global address lies in, in words.
std::string describeGlobal(const GlobalMemory &memory, uint64_t address);
/// The variable that a shared address lies in, in words.
std::string describeShared(const Block &block, uint32_t address);

/// PTX line of an op.
uint32_t lineOf(const Block &block, const Op &op);
/// "thread (3,0,0) of warp 1" for the lane.
Dim3 threadOf(const Warp &warp, unsigned lane);

/// A lane of undefined value reached `what` ("an address", "a branch"). Not fatal; the value is defined from then on.
void reportUndefined(Warp &warp, const Op &op, uint32_t offset, uint32_t lanes, std::string_view what);

} // namespace tessera::sim::machine
