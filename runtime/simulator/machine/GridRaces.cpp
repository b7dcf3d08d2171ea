// Races between blocks that run independently: their accesses to global memory, compared when they have ended.
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

namespace {

/// Of a run, lanes go on from its first granule.
unsigned laneAt(const AccessRun &run, uint64_t address) {
  uint64_t first = run.address & ~uint64_t(granuleBytes - 1);
  return static_cast<unsigned>(run.mark.lane + ((address - first) >> run.mark.shift)) % warpSize;
}

/// Adds a cell's access to the last run when it goes on where that ends.
void extend(BlockAccesses &runs, size_t &last, const Mark &mark, uint64_t address, unsigned bytes, bool write) {
  if (last < runs.size()) {
    AccessRun &run = runs[last];
    if (run.address + run.bytes == address && run.mark.party == mark.party &&
        run.mark.instruction == mark.instruction && run.mark.flags == mark.flags && run.mark.shift == mark.shift &&
        laneAt(run, address) == mark.laneOf(address)) {
      run.bytes += bytes;
      return;
    }
  }
  last = runs.size();
  runs.push_back({address, bytes, mark, write});
}

bool bothStrongAmongBlocks(const Mark &a, const Mark &b) {
  return (a.flags & b.flags & Mark::Wide) && !((a.flags | b.flags) & Mark::WeakBefore);
}

} // namespace

BlockAccesses takeAccesses(Block &block) {
  CellTable &table = block.races->ownGlobal;
  BlockAccesses writes, reads;
  size_t lastWrite = ~size_t(0), lastRead = ~size_t(0);
  table.forAll([&](Cell &cell, uint64_t address, unsigned bytes) {
    if (cell.write.clock)
      extend(writes, lastWrite, cell.write, address, bytes, true);
    if (cell.read.flags & Mark::Many)
      extend(reads, lastRead, table.readers(cell)[0], address, bytes, false);
    else if (cell.read.clock)
      extend(reads, lastRead, cell.read, address, bytes, false);
  });
  writes.insert(writes.end(), reads.begin(), reads.end());
  return writes;
}

std::vector<std::pair<uint64_t, Finding>> GridRaces::add(uint64_t block, BlockAccesses accesses) {
  std::vector<std::pair<uint64_t, Finding>> found;
  std::lock_guard lock(mutex_);
  waiting_[block] = std::move(accesses);
  for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; it = waiting_.erase(it), ++next_)
    compare(it->first, it->second, found);
  return found;
}

/// Writes come before reads in `accesses`, so that a block's own reads never hide those of an earlier block.
void GridRaces::compare(uint64_t block, const BlockAccesses &accesses,
                        std::vector<std::pair<uint64_t, Finding>> &found) {
  for (const AccessRun &run : accesses) {
    bool reported = false;
    auto report = [&](const Mark &other, bool otherWrote, uint64_t address, unsigned bytes) {
      if (reported)
        return;
      reported = true;
      Evidence e;
      e.kind = FindingKind::DataRace;
      e.lane = laneAt(run, address);
      e.hasAddress = true;
      e.address = address;
      e.bytes = bytes;
      e.space = "global";
      e.object = describeGlobal(*state_.memory, address);
      e.message = fmt::format("the block {} what another block {}, and nothing orders the two",
                              run.write ? "writes" : "reads", otherWrote ? "wrote" : "read");
      constexpr unsigned warps = partiesPerBlock / 2;
      describeOther(state_, e, other.party >> partyBits, other.party % warps, other.laneOf(address), other.instruction);
      found.emplace_back(block, makeFinding(state_, std::move(e), run.mark.instruction, block, run.mark.party % warps));
    };
    cells.forRange(run.address, run.bytes, [&](Cell &cell, uint64_t address, unsigned bytes) {
      auto foreign = [&](const Mark &other) {
        return other.clock && other.party >> partyBits != run.mark.party >> partyBits &&
               !bothStrongAmongBlocks(other, run.mark);
      };
      Mark mark = run.mark;
      mark.lane = static_cast<uint8_t>(laneAt(run, address & ~uint64_t(granuleBytes - 1)));
      if (foreign(cell.write))
        report(cell.write, true, address, bytes);
      if (!run.write) {
        if (!cell.read.clock || (!(run.mark.flags & Mark::Wide) && (cell.read.flags & Mark::Wide)))
          cell.read = mark; // one reader is enough, and a weak one conflicts with more
        return;
      }
      if (foreign(cell.read))
        report(cell.read, false, address, bytes);
      cell.write = mark;
    });
  }
}

} // namespace tessera::sim::machine
