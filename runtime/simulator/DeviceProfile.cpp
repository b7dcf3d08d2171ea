// The table of simulated GPUs; the figures are those of design/devices.md.
#include "runtime/simulator/DeviceProfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::sim {

std::string_view toString(Origin origin) {
  switch (origin) {
  case Origin::DataSheet:
    return "data sheet";
  case Origin::Guide:
    return "programming guide";
  case Origin::Estimate:
    return "estimate";
  case Origin::Measured:
    return "measured";
  }
  return "unknown";
}

namespace {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

template <typename T> constexpr Sourced<T> sheet(T value) { return {value, Origin::DataSheet}; }
template <typename T> constexpr Sourced<T> guide(T value) { return {value, Origin::Guide}; }
template <typename T> constexpr Sourced<T> about(T value) { return {value, Origin::Estimate}; }

/// The limits that differ between compute capabilities; the rest is the same on all of them.
constexpr DeviceLimits limits(uint32_t sharedKiBPerSm, uint32_t warpsPerSm, uint32_t blocksPerSm,
                              uint32_t clusterBlocks) {
  return {
      .sharedBytesPerSm = guide<uint32_t>(sharedKiBPerSm * KiB),
      .sharedBytesPerBlock = guide<uint32_t>((sharedKiBPerSm - 1) * KiB),
      .sharedBytesPerBlockDefault = guide<uint32_t>(48 * KiB),
      .sharedBytesReservedPerBlock = guide<uint32_t>(1 * KiB),
      .registersPerSm = guide<uint32_t>(65536),
      .registersPerBlock = guide<uint32_t>(65536),
      .registersPerThread = guide<uint32_t>(255),
      .registerAllocationUnit = guide<uint32_t>(256),
      .threadsPerBlock = guide<uint32_t>(1024),
      .warpsPerSm = guide<uint32_t>(warpsPerSm),
      .blocksPerSm = guide<uint32_t>(blocksPerSm),
      .clusterBlocks = guide<uint32_t>(clusterBlocks),
  };
}

/// Per SM and clock; `half`, `bfloat` and `fp64` are of the ordinary pipes, the rest of the matrix unit.
struct ArchitectureRates {
  double sum32, sum16, bytes, int8, tf32, matrix64, syncShare;
  double half, bfloat, fp64, convert64;
};

/// The rates that differ between products; the rest is the same on all of them.
constexpr DeviceRates rates(double clockMHz, double memoryGBps, double fmaLanes, double hostLinkGBps,
                            const ArchitectureRates &of) {
  return {
      .clockMHz = sheet(clockMHz),
      .memoryGBps = sheet(memoryGBps),
      .l2BytesPerClock = about(48.0),
      .l1FillBytes = about(64.0),
      .sharedBytes = guide(128.0),
      .schedulers = guide(4.0),
      .fma = guide(fmaLanes),
      .half = guide(of.half),
      .bfloat = guide(of.bfloat),
      .fp64 = guide(of.fp64),
      .integerMultiply = guide(64.0),
      .alu = guide(64.0),
      .mufu = guide(16.0),
      .convert = about(64.0),
      .convert64 = guide(of.convert64),
      .shuffle = guide(32.0),
      .reduce = guide(16.0),
      .lsu = about(32.0),
      .mma16Sum32 = sheet(of.sum32),
      .mma16Sum16 = sheet(of.sum16),
      .mma8 = sheet(of.bytes),
      .mmaInt8 = sheet(of.int8),
      .mmaTf32 = sheet(of.tf32),
      .mmaFp64 = sheet(of.matrix64),
      .mmaSyncShare = about(of.syncShare),
      .latencyMma = about(29.0),
      .latencyShared = about(27.0),
      .latencyL1 = about(37.0),
      .latencyL2 = about(235.0),
      .latencyMemory = about(535.0),
      .launchMicroseconds = about(3.0),
      .copyMicroseconds = about(8.0),
      .hostLinkGBps = about(hostLinkGBps),
  };
}

// clang-format off
//                                          sum32 sum16 bytes  int8  tf32  f64  sync  half bfloat fp64 convert64
constexpr ArchitectureRates Ampere100    = {1024, 1024, 2048, 2048,  512,  64, 1,     128,  64,  32,  16};
constexpr ArchitectureRates Ampere86     = { 256,  512,  512, 1024,  128,   2, 1,      64,  64,   2,   2};
constexpr ArchitectureRates Ada          = { 256,  512,  512, 1024,  128,   2, 1,      64,  64,   2,   2};
constexpr ArchitectureRates Hopper       = {2048, 2048, 4096, 4096, 1024, 128, 0.62,  128, 128,  64,  16};
constexpr ArchitectureRates Blackwell100 = {4096, 4096, 8192, 8192, 2048,  64, 0.31,  128, 128,  64,  16};
constexpr ArchitectureRates Blackwell120 = { 256,  512,  512, 1024,  128,   2, 1,      64,  64,   2,   2};
// clang-format on

constexpr std::array<DeviceProfile, 7> Profiles = {{
    {"a100", "NVIDIA A100-SXM4-80GB (Tessera simulator)", "sm_80", 8, 0, false, sheet<uint32_t>(108), sheet(80 * GiB),
     sheet(40 * MiB), limits(164, 64, 32, 1), rates(1410, 2039, 64, 25, Ampere100)},
    {"rtx3090", "NVIDIA GeForce RTX 3090 (Tessera simulator)", "sm_86", 8, 6, false, sheet<uint32_t>(82),
     sheet(24 * GiB), sheet(6 * MiB), limits(100, 48, 16, 1), rates(1695, 936, 128, 25, Ampere86)},
    {"rtx4090", "NVIDIA GeForce RTX 4090 (Tessera simulator)", "sm_89", 8, 9, false, sheet<uint32_t>(128),
     sheet(24 * GiB), sheet(72 * MiB), limits(100, 48, 24, 1), rates(2520, 1008, 128, 25, Ada)},
    {"h100", "NVIDIA H100 80GB HBM3 (Tessera simulator)", "sm_90a", 9, 0, true, sheet<uint32_t>(132), sheet(80 * GiB),
     sheet(50 * MiB), limits(228, 64, 32, 8), rates(1830, 3350, 128, 52, Hopper)},
    {"h200", "NVIDIA H200 (Tessera simulator)", "sm_90a", 9, 0, true, sheet<uint32_t>(132), sheet(141 * GiB),
     sheet(50 * MiB), limits(228, 64, 32, 8), rates(1830, 4800, 128, 52, Hopper)},
    {"b200", "NVIDIA B200 (Tessera simulator)", "sm_100a", 10, 0, true, sheet<uint32_t>(148), sheet(180 * GiB),
     sheet(126 * MiB), limits(228, 64, 32, 8), rates(1850, 8000, 128, 52, Blackwell100)},
    {"rtx5090", "NVIDIA GeForce RTX 5090 (Tessera simulator)", "sm_120", 12, 0, true, sheet<uint32_t>(170),
     sheet(32 * GiB), sheet(96 * MiB), limits(100, 48, 24, 8), rates(2407, 1792, 128, 52, Blackwell120)},
}};

} // namespace

std::span<const DeviceProfile> DeviceProfile::all() { return Profiles; }

Result<const DeviceProfile *> DeviceProfile::find(std::string_view name) {
  std::string known;
  for (const DeviceProfile &profile : Profiles) {
    if (profile.name == name)
      return &profile;
    known += known.empty() ? "" : ", ";
    known += profile.name;
  }
  return Status(Code::NotFound, fmt::format("no simulated GPU is called \"{}\"", name), "known are " + known);
}

unsigned DeviceProfile::blocksPerSm(unsigned threadsPerBlock, unsigned registersPerThread, uint64_t sharedBytes) const {
  if (threadsPerBlock == 0 || threadsPerBlock > limits.threadsPerBlock ||
      registersPerThread > limits.registersPerThread || sharedBytes > limits.sharedBytesPerBlock)
    return 0;
  uint64_t warps = (threadsPerBlock + 31) / 32;
  uint64_t unit = limits.registerAllocationUnit;
  uint64_t registersPerWarp = (uint64_t(registersPerThread) * 32 + unit - 1) / unit * unit;
  uint64_t byWarps = limits.warpsPerSm / warps;
  // Registers are handed out per scheduler: a warp lives on one of the four and takes its registers from that quarter.
  uint64_t schedulers = 4;
  uint64_t byRegisters = registersPerWarp == 0
                             ? limits.blocksPerSm
                             : limits.registersPerSm / schedulers / registersPerWarp * schedulers / warps;
  uint64_t byShared = limits.sharedBytesPerSm / (sharedBytes + limits.sharedBytesReservedPerBlock);
  return unsigned(std::min({byWarps, byRegisters, byShared, uint64_t(limits.blocksPerSm)}));
}

} // namespace tessera::sim
