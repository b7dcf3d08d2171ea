// Traffic: sectors of global memory and wavefronts of shared memory, counted from real addresses (counters on).
#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Touched.h"

#include <algorithm>

namespace tessera::sim::machine {

using program::Opcode;

void countGlobal(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 GlobalTraffic &sum) {
  constexpr uint64_t sectorBytes = 32;
  uint64_t sorted[warpSize];
  unsigned n = 0;
  for (uint32_t m = lanes; m; m &= m - 1)
    sorted[n++] = addresses[__builtin_ctz(m)];
  if (!std::is_sorted(sorted, sorted + n))
    std::sort(sorted, sorted + n);
  // Runs of bytes without holes. Sectors are counted run by run: the first may be the last of the run before.
  Touched *touched = warp.block->launch->touched;
  bool writes = op.code == Opcode::St || op.code == Opcode::Atom || op.code == Opcode::Red,
       reads = op.code != Opcode::St;
  uint64_t distinctBytes = 0, sectors = 0, nextSector = 0;
  for (unsigned i = 0; i < n;) {
    uint64_t begin = sorted[i], end = begin + bytes;
    for (++i; i < n && sorted[i] <= end; ++i)
      end = sorted[i] + bytes;
    distinctBytes += end - begin;
    uint64_t first = std::max(begin / sectorBytes, nextSector);
    nextSector = (end - 1) / sectorBytes + 1;
    sectors += nextSector > first ? nextSector - first : 0;
    if (touched)
      touched->mark(begin, end - begin, reads, writes);
  }
  uint64_t asked = uint64_t(n) * bytes, ideal = (distinctBytes + sectorBytes - 1) / sectorBytes;
  sum.requests += 1;
  sum.bytes += asked;
  sum.sectors += sectors;
  sum.ideal += ideal;
  InstructionCount &count = warp.block->counts[op.instruction];
  count.sectors += sectors;
  count.idealSectors += ideal;
  count.bytes += asked;
}

/// Shared memory serves 32 banks of 4 bytes per wavefront. Accesses of 8 bytes go by half warps, of 16 by quarters
/// (as the hardware groups them); equal words in one group are one access.
void countShared(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 SharedTraffic &sum) {
  unsigned group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  uint64_t waves = 0, ideal = 0;
  for (unsigned first = 0; first < warpSize; first += group) {
    uint32_t words[warpSize * 2];
    unsigned n = 0;
    for (unsigned lane = first; lane < first + group; ++lane)
      if (lanes >> lane & 1) {
        auto low = static_cast<uint32_t>(addresses[lane] / 4),
             high = static_cast<uint32_t>((addresses[lane] + bytes - 1) / 4);
        for (uint32_t word = low; word <= high && n < std::size(words); ++word)
          words[n++] = word;
      }
    if (!n)
      continue;
    if (!std::is_sorted(words, words + n))
      std::sort(words, words + n);
    n = static_cast<unsigned>(std::unique(words, words + n) - words);
    unsigned banks[32] = {}, most = 0;
    for (unsigned i = 0; i < n; ++i)
      most = std::max(most, ++banks[words[i] % 32]);
    waves += most;
    ideal += (n + 31) / 32;
  }
  uint64_t asked = uint64_t(__builtin_popcount(lanes)) * bytes;
  sum.requests += 1;
  sum.bytes += asked;
  sum.wavefronts += waves;
  sum.ideal += ideal;
  InstructionCount &count = warp.block->counts[op.instruction];
  count.wavefronts += waves;
  count.ideal += ideal;
}

} // namespace tessera::sim::machine
