// Vector clocks over warps; barriers carry them. A warp is one party: its own lanes are not told apart.
#include "runtime/simulator/machine/Races.h"

#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Report.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::sim::machine {

void raceStart(Block &block) {
  if (!block.races)
    block.races = std::make_unique<RaceState>();
  RaceState &r = *block.races;
  size_t warps = block.warps.size();
  r.words.assign((block.launch->sharedBytes + 3) / 4, WordAccess{});
  r.clocks.assign(warps, std::vector<uint32_t>(warps, 0));
  for (size_t i = 0; i < warps; ++i)
    r.clocks[i][i] = 1;
  for (auto &clock : r.arrived)
    clock.assign(warps, 0);
  r.flags.clear();
}

void raceArrive(Block &block, Warp &warp, unsigned barrier) {
  RaceState &r = *block.races;
  auto &sum = r.arrived[barrier];
  const auto &own = r.clocks[warp.index];
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] = std::max(sum[i], own[i]);
}

/// Those that wait learn what all who arrived knew; everyone who arrived starts a new interval.
void raceBarrier(Block &block, unsigned barrier, uint64_t warps) {
  RaceState &r = *block.races;
  auto &sum = r.arrived[barrier];
  for (Warp &w : block.warps) {
    if (!(warps >> w.index & 1))
      continue;
    bool waits = false;
    for (const Split &s : w.splits)
      waits |= s.wait == Wait::Barrier && s.barrier == barrier;
    auto &own = r.clocks[w.index];
    if (waits)
      for (size_t i = 0; i < sum.size(); ++i)
        own[i] = std::max(own[i], sum[i]);
    ++own[w.index];
  }
  std::fill(sum.begin(), sum.end(), 0);
}

void raceRelease(Warp &w, Clock &into) {
  if (!w.block->races)
    return;
  std::vector<uint32_t> &own = w.block->races->clocks[w.index];
  into.join(w.block->linear, own);
  ++own[w.index];
}

void raceAcquire(Warp &w, const Clock &from) {
  if (!w.block->races)
    return;
  std::vector<uint32_t> &own = w.block->races->clocks[w.index];
  if (auto known = from.blocks.find(w.block->linear); known != from.blocks.end())
    for (size_t i = 0; i < known->second.size(); ++i)
      own[i] = std::max(own[i], known->second[i]);
}

namespace {

void race(Warp &w, const Op &op, unsigned lane, uint64_t address, unsigned bytes, bool write, unsigned otherWarp,
          uint32_t otherInstruction, bool otherWrote) {
  Block &block = *w.block;
  const program::SourceInstruction &other = block.launch->program->instructions[otherInstruction];
  Evidence e;
  e.kind = FindingKind::DataRace;
  e.lane = lane;
  e.hasAddress = true;
  e.address = address;
  e.bytes = bytes;
  e.space = "shared";
  e.object = describeShared(block, static_cast<uint32_t>(address));
  e.message = fmt::format("warp {} {} what warp {} {}, and no barrier orders the two", w.index,
                          write ? "writes" : "reads", otherWarp, otherWrote ? "wrote" : "read");
  e.other = fmt::format("the other access is at line {}: {}", other.line, other.text);
  e.otherLine = other.line;
  report(w, op, std::move(e));
}

/// Atomic, volatile and ordered accesses are flags: whoever reads one knows what its writers knew. (Whether they
/// also acquire and release is not judged here.)
void synchronise(Warp &w, const uint64_t *addresses, uint32_t lanes, Intent intent) {
  RaceState &r = *w.block->races;
  std::vector<uint32_t> &own = r.clocks[w.index];
  for (uint32_t m = lanes; m; m &= m - 1) {
    std::vector<uint32_t> &flag = r.flags[addresses[__builtin_ctz(m)] / 4];
    flag.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) {
      if (intent != Intent::Store)
        own[i] = std::max(own[i], flag[i]);
      if (intent != Intent::Load)
        flag[i] = std::max(flag[i], own[i]);
    }
  }
  if (intent != Intent::Load)
    ++own[w.index];
}

} // namespace

void recordShared(Warp &w, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes, Intent intent) {
  RaceState &r = *w.block->races;
  std::vector<uint32_t> &known = r.clocks[w.index];
  bool write = intent != Intent::Load && intent != Intent::AsyncRead,
       atomic = intent == Intent::Atomic || op.order != program::Order::Weak;
  if (atomic)
    synchronise(w, addresses, lanes, intent);
  uint32_t now = known[w.index];
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t begin = addresses[lane], end = begin + bytes;
    for (uint64_t word = begin / 4; word * 4 < end; ++word) {
      WordAccess &a = r.words[word];
      uint8_t mask = 15;
      if (word * 4 < begin)
        mask = static_cast<uint8_t>(mask & (15 << (begin - word * 4)));
      if (word * 4 + 4 > end)
        mask = static_cast<uint8_t>(mask & (15 >> (word * 4 + 4 - end)));
      bool ordered = a.writeWarp == w.index || a.writeClock <= known[a.writeWarp];
      if (!ordered && (a.writeBytes & mask) && !(atomic && a.atomic))
        race(w, op, lane, begin, bytes, write, a.writeWarp, a.writeInstruction, true);
      if (!write) {
        if (a.readClock && a.readWarp != w.index && a.readClock > known[a.readWarp])
          a.readMany = 1; // one unordered reader is remembered; that is enough to see a write that comes too early
        if (!a.readMany || a.readWarp == w.index || a.readClock <= known[a.readWarp]) {
          a.readMany = 0;
          a.readWarp = static_cast<uint16_t>(w.index);
          a.readClock = now;
          a.readBytes = mask;
          a.readInstruction = op.instruction;
          a.readAtomic = atomic;
        }
        continue;
      }
      bool readOrdered = !a.readClock || a.readWarp == w.index || a.readClock <= known[a.readWarp];
      if (!readOrdered && (a.readBytes & mask) && !(atomic && a.readAtomic))
        race(w, op, lane, begin, bytes, true, a.readWarp, a.readInstruction, false);
      bool sameEpoch = a.writeWarp == w.index && a.writeClock == now;
      a.writeBytes = sameEpoch ? a.writeBytes | mask : mask;
      a.writeWarp = static_cast<uint16_t>(w.index);
      a.writeClock = now;
      a.writeInstruction = op.instruction;
      a.atomic = atomic;
    }
  }
}

} // namespace tessera::sim::machine
