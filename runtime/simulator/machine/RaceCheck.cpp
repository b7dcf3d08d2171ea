// Compares accesses with earlier ones and reports those that nothing orders.
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Order;
using program::Scope;
using program::Space;

void synchronise(Warp &w, const Op &op, Flag &flag, Intent intent);

namespace {

/// Reads kept for judgement at one time.
constexpr size_t mostGuesses = 1024;

constexpr unsigned partyMask = partiesPerBlock - 1;

uint64_t blockOf(const Mark &mark) { return mark.party >> partyBits; }
unsigned partyOf(const Mark &mark) { return mark.party & partyMask; }
bool isCopy(const Mark &mark) { return partyOf(mark) >= partiesPerBlock / 2; }

/// Strong accesses that count for each other do not race.
bool bothStrong(const Mark &a, const Mark &b) {
  uint8_t both = a.flags & b.flags;
  return (both & Mark::Strong) && ((both & Mark::Wide) || blockOf(a) == blockOf(b));
}

/// One access by one warp, against what the warp knows.
struct Accessor {
  Warp &w;
  const Op &op;
  const WarpKnowledge &k;
  Space space;
  Mark mark;
  bool write;
  StoredValue stored = {};
  unsigned lanesEach = 1; ///< from mark.lane on, that access a cell together

  /// The write leaves the value as it was.
  bool leavesValue() const {
    for (unsigned lane = mark.lane; stored.isThere && lane < mark.lane + lanesEach; ++lane)
      if (!stored.isThere(stored.context, lane))
        return false;
    return stored.isThere != nullptr;
  }

  bool knows(const Mark &other) const {
    uint64_t block = blockOf(other);
    if (block == blockOf(mark))
      return k.own[partyOf(other)] >= other.clock;
    auto found = k.others.blocks.find(block);
    return found != k.others.blocks.end() && found->second[partyOf(other)] >= other.clock;
  }
  bool sameInterval(const Mark &other) const {
    return other.party == mark.party && other.clock == mark.clock &&
           (other.flags & Mark::Wide) == (mark.flags & Mark::Wide);
  }
  /// Of the same kind and in the same interval as before: nothing can have come between.
  bool repeats(const Cell &cell) const {
    return write ? sameInterval(cell.write) && !cell.read.clock && !(cell.read.flags & Mark::Many)
                 : sameInterval(cell.read) && !(cell.read.flags & Mark::Many);
  }
  bool weak(const Mark &other) const {
    return other.clock && blockOf(other) == blockOf(mark) &&
           (!(other.flags & Mark::Strong) || other.flags & Mark::WeakBefore);
  }
  bool conflicts(const Mark &other) const {
    return other.clock && other.party != mark.party && !knows(other) && !bothStrong(other, mark);
  }

  void guess(uint32_t reader, uint64_t address, Evidence e) const;
  void report(const Mark &other, bool otherWrote, uint64_t address, unsigned bytes) const;
  void visit(CellTable &table, Cell &cell, uint64_t address, unsigned bytes) const;
};

void Accessor::report(const Mark &other, bool otherWrote, uint64_t address, unsigned bytes) const {
  Block &block = *w.block;
  unsigned party = partyOf(other), otherWarp = party % (partiesPerBlock / 2);
  bool sameBlock = blockOf(other) == blockOf(mark);
  // A copy that not even its issuer has waited for is still in flight.
  bool inFlight = isCopy(other) && sameBlock && block.races->warps[otherWarp].own[party] < other.clock;
  Evidence e;
  e.kind = inFlight ? FindingKind::AsyncHazard : FindingKind::DataRace;
  e.lane = mark.laneOf(address);
  e.hasAddress = true;
  e.address = address;
  e.bytes = bytes;
  e.space = ptx::toString(space);
  e.object = space == Space::Shared ? describeShared(block, static_cast<uint32_t>(address))
                                    : describeGlobal(*block.launch->memory, address);
  const char *verb = isCopy(mark) ? write ? "copies asynchronously over" : "copies asynchronously"
                     : write      ? "writes"
                                  : "reads";
  const char *otherVerb = isCopy(other) ? otherWrote ? "copied there asynchronously" : "copies from asynchronously"
                          : otherWrote  ? "wrote"
                                        : "read";
  if (inFlight)
    e.message = fmt::format("warp {} {} what an asynchronous copy of warp {} {}, and the copy has not been waited for",
                            w.index, verb, otherWarp, otherWrote ? "is writing" : "is reading");
  else if (sameBlock)
    e.message =
        fmt::format("warp {} {} what warp {} {}, and nothing orders the two", w.index, verb, otherWarp, otherVerb);
  else
    e.message = fmt::format("the block {} what another block {}, and nothing orders the two", verb, otherVerb);
  describeOther(*block.launch, e, blockOf(other), otherWarp, other.laneOf(address), other.instruction);
  const Mark &reading = write ? other : mark, &writing = write ? mark : other;
  bool oneReads = write != otherWrote;
  if (oneReads && (writing.flags & Mark::Update) && !(reading.flags & Mark::Strong) && !isCopy(reading))
    guess(reading.party, address, std::move(e));
  else
    machine::report(w, op, std::move(e));
}

void Accessor::guess(uint32_t reader, uint64_t address, Evidence e) const {
  Block &block = *w.block;
  GuessedReads &guesses = space == Space::Shared ? block.races->sharedGuesses : *block.races->globalGuesses;
  for (const GuessedRead &earlier : guesses)
    if (earlier.reader == reader && earlier.address == address)
      return;
  if (guesses.size() < mostGuesses)
    guesses.push_back({reader, address, block.linear, op.instruction,
                       makeFinding(*block.launch, std::move(e), op.instruction, block.linear, w.index)});
  else
    machine::report(w, op, std::move(e));
}

void Accessor::visit(CellTable &table, Cell &cell, uint64_t address, unsigned bytes) const {
  bool many = cell.read.flags & Mark::Many;
  if (conflicts(cell.write) && !(!isCopy(cell.write) && blockOf(cell.write) == blockOf(mark) && leavesValue()))
    report(cell.write, true, address, bytes);
  if (write) {
    if (many) {
      for (const Mark &reader : table.readers(cell))
        if (conflicts(reader)) {
          report(reader, false, address, bytes);
          break;
        }
    } else if (conflicts(cell.read)) {
      report(cell.read, false, address, bytes);
    }
    bool weakBefore = many || weak(cell.read) || weak(cell.write);
    table.clearReads(cell);
    cell.write = mark;
    if (weakBefore)
      cell.write.flags |= Mark::WeakBefore;
    return;
  }
  if (!many) {
    if (!cell.read.clock || cell.read.party == mark.party || knows(cell.read))
      cell.read = mark;
    else
      table.addReader(cell, mark);
    return;
  }
  for (Mark &reader : table.readers(cell))
    if (reader.party == mark.party) {
      reader = mark;
      return;
    }
  table.addReader(cell, mark);
}

Mark markOf(const Warp &w, const Op &op, unsigned party, uint32_t clock) {
  Mark mark;
  mark.clock = clock;
  mark.party = static_cast<uint32_t>(w.block->linear << partyBits | party);
  mark.instruction = op.instruction;
  if (op.order != Order::Weak)
    mark.flags = op.scope == Scope::Device || op.scope == Scope::System ? Mark::Strong | Mark::Wide : Mark::Strong;
  if (op.code == program::Opcode::Atom || op.code == program::Opcode::Red)
    mark.flags |= Mark::Update;
  return mark;
}

/// Lane after lane from a granule's begin.
bool areConsecutive(const uint64_t *addresses, unsigned bytes) {
  if (addresses[0] % granuleBytes)
    return false;
  uint64_t wrong = 0;
  for (unsigned i = 0; i < warpSize; ++i)
    wrong |= addresses[i] ^ (addresses[0] + uint64_t(i) * bytes);
  return wrong == 0;
}

bool isCompareAndSwap(const Op &op) {
  return op.code == program::Opcode::Atom && static_cast<program::AtomicKind>(op.variant) == program::AtomicKind::Cas;
}

} // namespace

void recordAccess(Warp &w, const Op &op, Space space, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                  Intent intent, StoredValue stored) {
  RaceState &r = *w.block->races;
  bool isShared = space == Space::Shared;
  if (op.order != Order::Weak) {
    Flags &flags = isShared ? r.sharedFlags : *r.globalFlags;
    for (uint32_t m = lanes; m; m &= m - 1)
      synchronise(w, op, flags[addresses[__builtin_ctz(m)] / 4], intent);
  }
  const WarpKnowledge &k = r.warps[w.index];
  CellTable &table = isShared ? r.shared : *r.global;
  Accessor accessor{w, op, k, space, markOf(w, op, w.index, k.own[w.index]), intent != Intent::Load};
  accessor.stored = stored;
  auto visit = [&](Cell &cell, uint64_t address, unsigned size) {
    if (!accessor.repeats(cell))
      accessor.visit(table, cell, address, size);
  };
  if (lanes == allLanes && bytes < granuleBytes && areConsecutive(addresses, bytes)) {
    // Granule by granule instead of lane by lane.
    accessor.mark.shift = static_cast<uint8_t>(__builtin_ctz(bytes));
    const unsigned lanesEach = granuleBytes / bytes;
    accessor.lanesEach = lanesEach;
    for (unsigned lane = 0; lane < warpSize; lane += lanesEach) {
      accessor.mark.lane = static_cast<uint8_t>(lane);
      table.forRange(addresses[lane], granuleBytes, visit);
    }
  } else {
    uint64_t last = ~uint64_t(0);
    for (uint32_t m = lanes; m; m &= m - 1) {
      auto lane = static_cast<unsigned>(__builtin_ctz(m));
      if (addresses[lane] == last)
        continue;
      last = addresses[lane];
      accessor.mark.lane = static_cast<uint8_t>(lane);
      table.forRange(last, bytes, visit);
    }
  }
  GuessedReads &guesses = isShared ? r.sharedGuesses : *r.globalGuesses;
  if (!guesses.empty() && isCompareAndSwap(op))
    for (uint32_t m = lanes; m; m &= m - 1)
      std::erase_if(guesses, [&, at = addresses[__builtin_ctz(m)]](const GuessedRead &guess) {
        return guess.reader == accessor.mark.party && guess.address - at < bytes;
      });
}

void recordCopy(Warp &w, const Op &op, Space space, const uint64_t *addresses, uint32_t lanes, const uint8_t *bytes,
                Intent intent, uint32_t interval) {
  RaceState &r = *w.block->races;
  CellTable &table = space == Space::Shared ? r.shared : *r.global;
  Accessor accessor{
      w, op, r.warps[w.index], space, markOf(w, op, asyncParty(w.index), interval), intent == Intent::AsyncWrite};
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    accessor.mark.lane = static_cast<uint8_t>(lane);
    table.forRange(addresses[lane], bytes[lane],
                   [&](Cell &cell, uint64_t address, unsigned size) { accessor.visit(table, cell, address, size); });
  }
}

} // namespace tessera::sim::machine
