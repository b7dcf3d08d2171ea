// Races: conflicts in shared memory between warps that no barrier orders, by vector clocks.
#pragma once

#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Clock.h"

#include <unordered_map>

namespace tessera::sim::machine {

/// Last accesses of one four-byte word. A clock of 0 means none.
struct WordAccess {
  uint32_t writeClock = 0;
  uint16_t writeWarp = 0;
  uint8_t writeBytes = 0; ///< mask of the bytes written
  uint8_t readMany = 0;   ///< more than one warp read since the write
  uint32_t readClock = 0;
  uint16_t readWarp = 0;
  uint8_t readBytes = 0;
  uint8_t atomic = 0;     ///< the last write was an atomic
  uint8_t readAtomic = 0; ///< so was the remembered read
  uint32_t writeInstruction = 0, readInstruction = 0;
};

struct RaceState {
  std::vector<WordAccess> words;
  std::vector<std::vector<uint32_t>> clocks;                 ///< per warp: what it knows of every warp
  std::array<std::vector<uint32_t>, barrierCount> arrived;   ///< joined clocks of those that arrived
  std::unordered_map<uint64_t, std::vector<uint32_t>> flags; ///< by word: clocks that atomic and ordered stores carry
};

void raceStart(Block &block);
void raceArrive(Block &block, Warp &warp, unsigned barrier);
void raceBarrier(Block &block, unsigned barrier, uint64_t warps);

/// A release: `into` learns what the warp knows, and the warp begins a new interval. Nothing without races.
void raceRelease(Warp &warp, Clock &into);
/// An acquire: the warp learns what `from` holds.
void raceAcquire(Warp &warp, const Clock &from);

} // namespace tessera::sim::machine
