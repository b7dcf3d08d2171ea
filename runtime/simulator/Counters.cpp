// Sums of counters over blocks, and the names of pipes and units.
#include "runtime/simulator/Counters.h"

#include <algorithm>

namespace tessera::sim {

std::string_view unitName(unsigned unit) {
  constexpr std::string_view names[unitCount] = {"fma", "fp16",    "fp64",  "alu",    "mufu",  "tensor", "shared",
                                                 "lsu", "control", "other", "folded", "issue", "l2",     "memory"};
  return names[unit];
}

std::string_view toString(Pipe pipe) { return unitName(static_cast<unsigned>(pipe)); }

unsigned UnitClocks::binding() const {
  return static_cast<unsigned>(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

UnitClocks &UnitClocks::operator+=(const UnitClocks &other) {
  for (unsigned i = 0; i < unitCount; ++i)
    busy[i] += other.busy[i];
  return *this;
}

namespace {
void add(GlobalTraffic &sum, const GlobalTraffic &part) {
  sum.requests += part.requests;
  sum.bytes += part.bytes;
  sum.sectors += part.sectors;
  sum.ideal += part.ideal;
}
void add(SharedTraffic &sum, const SharedTraffic &part) {
  sum.requests += part.requests;
  sum.bytes += part.bytes;
  sum.wavefronts += part.wavefronts;
  sum.ideal += part.ideal;
}
} // namespace

Counters &Counters::operator+=(const Counters &other) {
  warpInstructions += other.warpInstructions;
  for (unsigned i = 0; i < pipeCount; ++i)
    byPipe[i] += other.byPipe[i];
  mmaInstructions += other.mmaInstructions;
  mmaFlops += other.mmaFlops;
  ex2 += other.ex2;
  add(globalLoads, other.globalLoads);
  add(globalStores, other.globalStores);
  add(globalAtomics, other.globalAtomics);
  add(asyncCopies, other.asyncCopies);
  add(sharedLoads, other.sharedLoads);
  add(sharedStores, other.sharedStores);
  add(ldmatrix, other.ldmatrix);
  add(asyncWrites, other.asyncWrites);
  add(sharedAtomics, other.sharedAtomics);
  localBytes += other.localBytes;
  barrierWaits += other.barrierWaits;
  divergentBranches += other.divergentBranches;
  return *this;
}

} // namespace tessera::sim
