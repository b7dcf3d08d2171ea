// The roofline of modelled times, from a launch's counters and the device's profile.
#include "runtime/simulator/driver/Model.h"

#include <algorithm>

namespace tessera::sim::driver {

double launchNanoseconds(const DeviceProfile &profile, const Counters &counters, uint64_t blocks,
                         uint64_t touchedBytes) {
  const DeviceRates &rates = profile.rates;
  double overhead = rates.launchMicroseconds * 1e3;
  if (blocks == 0)
    return overhead;

  // Work is even over blocks, whole blocks go to SMs, and the SM with most of them finishes last.
  const auto mostOfOneSm = (blocks + profile.smCount - 1) / profile.smCount;
  double share = double(mostOfOneSm) / double(blocks);
  auto pipe = [&](Pipe which) { return double(counters.byPipe[size_t(which)]); };

  // mma.sync reaches this part of the matrix rate; other matrix instructions are not told apart yet.
  double matrixRate = rates.mma16Sum32 * rates.mmaSyncShare;
  double sharedWavefronts =
      double(counters.sharedLoads.wavefronts + counters.sharedStores.wavefronts + counters.ldmatrix.wavefronts +
             counters.asyncWrites.wavefronts + counters.sharedAtomics.wavefronts);
  double sectors = double(counters.globalLoads.sectors + counters.globalStores.sectors +
                          counters.globalAtomics.sectors + counters.asyncCopies.sectors);
  const double clocks[] = {
      double(counters.mmaFlops) / 2 / matrixRate,
      pipe(Pipe::Fma) * 32 / rates.fma,
      pipe(Pipe::Alu) * 32 / rates.alu,
      pipe(Pipe::Mufu) * 32 / rates.mufu,
      double(counters.warpInstructions) / rates.schedulers,
      sharedWavefronts * 128 / rates.sharedBytes,
      sectors * 32 / rates.l2BytesPerClock,
  };
  double busiest = *std::max_element(std::begin(clocks), std::end(clocks)) * share / (rates.clockMHz * 1e-3);
  double memory = std::min(sectors * 32, double(touchedBytes)) / rates.memoryGBps;
  double latency = rates.latencyMemory / (rates.clockMHz * 1e-3);
  return overhead + std::max({busiest, memory, latency});
}

double copyNanoseconds(const DeviceProfile &profile, uint64_t bytes, bool insideDevice) {
  // Inside the device every byte is read and written; over the link a copy engine starts within some microseconds.
  if (insideDevice)
    return profile.rates.launchMicroseconds * 1e3 + 2 * double(bytes) / profile.rates.memoryGBps;
  return profile.rates.copyMicroseconds * 1e3 + double(bytes) / profile.rates.hostLinkGBps;
}

} // namespace tessera::sim::driver
