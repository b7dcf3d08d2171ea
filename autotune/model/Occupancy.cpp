// The rules of the CUDA occupancy calculator.
#include "autotune/model/Occupancy.h"

#include <algorithm>

namespace tessera::tune {
namespace {

constexpr unsigned threadsPerBlockLimit = 1024, registersPerThreadLimit = 255, registerUnit = 256;

} // namespace

unsigned blocksPerSm(const Gpu &gpu, const Footprint &footprint) {
  const uint64_t reserved = uint64_t(gpu.sharedBytesReservedPerBlock), shared = uint64_t(gpu.sharedBytesPerSm);
  if (footprint.threads == 0 || footprint.threads > threadsPerBlockLimit ||
      footprint.registers > registersPerThreadLimit)
    return 0;
  const uint64_t warps = (footprint.threads + 31) / 32;
  // A warp lives on one scheduler and takes its registers from that one's part.
  const uint64_t schedulers = uint64_t(gpu.schedulers);
  const uint64_t perWarp = (uint64_t(footprint.registers) * 32 + registerUnit - 1) / registerUnit * registerUnit;
  const uint64_t byRegisters =
      perWarp ? uint64_t(gpu.registersPerSm) / schedulers / perWarp * schedulers / warps : uint64_t(gpu.blocksPerSm);
  return unsigned(std::min({uint64_t(gpu.warpsPerSm) / warps, byRegisters, shared / (footprint.sharedBytes + reserved),
                            uint64_t(gpu.blocksPerSm)}));
}

} // namespace tessera::tune
