// Sums of counters over blocks, and the names of pipes.
#include "runtime/simulator/Counters.h"

namespace tessera::sim {

std::string_view toString(Pipe pipe) {
  constexpr std::string_view names[pipeCount] = {"fma", "alu", "mufu", "lsu", "tensor", "other"};
  return names[static_cast<unsigned>(pipe)];
}

namespace {
void add(GlobalTraffic &sum, const GlobalTraffic &part) {
  sum.requests += part.requests;
  sum.bytes += part.bytes;
  sum.sectors += part.sectors;
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
