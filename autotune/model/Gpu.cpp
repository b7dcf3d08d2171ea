// The table of GPUs that the model knows. Where a figure differs from the data sheet, its origin says so.
#include "autotune/model/Gpu.h"

#include <fmt/format.h>

#include <array>

namespace tessera::tune {
namespace {

constexpr double KiB = 1024, MiB = 1024 * KiB;

constexpr Figure sheet(double value) { return {value, "data sheet"}; }
constexpr Figure guide(double value) { return {value, "CUDA programming guide"}; }
constexpr Figure about(double value) { return {value, "estimate: measured by others on several products"}; }

/// What products of one compute capability share.
struct Architecture {
  unsigned major, minor;
  double sharedKiB, warps, blocks, fmaLanes;
  Figure mma16, mma16Sum16, mmaTf32, l2BytesPerClock;
};

constexpr std::string_view halfRate = "estimate: mma.sync reaches 0.62 of the wgmma rate, measured by others";
constexpr std::string_view thirdRate = "estimate: mma.sync reaches 0.31 of the tcgen05 rate";

constexpr Figure bigL2 = {48, "estimate: 5,120 bytes per clock of an A100 (data sheet) over its SMs"};
constexpr Figure smallL2 = {20,
                            "estimate: 16 (5 TB/s of an RTX 4090, measured by others) to 24 (48 slices of 64 bytes)"};

constexpr Architecture ampere100 = {8, 0, 164, 64, 32, 64, sheet(1024), sheet(1024), sheet(512), bigL2};
constexpr Architecture ampere86 = {8, 6, 100, 48, 16, 128, sheet(256), sheet(512), sheet(128), smallL2};
constexpr Architecture ada = {8, 9, 100, 48, 24, 128, sheet(256), sheet(512), sheet(128), smallL2};
constexpr Architecture hopper = {9, 0, 228, 64, 32, 128, {1270, halfRate}, {1270, halfRate}, {635, halfRate}, bigL2};
constexpr Architecture blackwell100 = {
    10, 0, 228, 64, 32, 128, {1270, thirdRate}, {1270, thirdRate}, {635, thirdRate}, bigL2};
constexpr Architecture blackwell120 = {12, 0, 100, 48, 24, 128, sheet(256), sheet(512), sheet(128), smallL2};

constexpr Gpu row(std::string_view name, std::string_view product, const Architecture &of, double sms, double clockMHz,
                  double memoryGBps, double l2MiB) {
  return {
      .name = name,
      .product = product,
      .major = of.major,
      .minor = of.minor,
      .sms = sheet(sms),
      .clockMHz = sheet(clockMHz),
      .memoryGBps = sheet(memoryGBps),
      .l2Bytes = sheet(l2MiB * MiB),
      .sharedBytesPerSm = guide(of.sharedKiB * KiB),
      .sharedBytesReservedPerBlock = guide(1 * KiB),
      .registersPerSm = guide(65536),
      .warpsPerSm = guide(of.warps),
      .blocksPerSm = guide(of.blocks),
      .schedulers = guide(4),
      .mma16 = of.mma16,
      .mma16Sum16 = of.mma16Sum16,
      .mmaTf32 = of.mmaTf32,
      .fma = guide(of.fmaLanes),
      .alu = guide(64),
      .mufu = guide(16),
      .shuffle = guide(32),
      .sharedBytes = guide(128),
      .fillBytes = about(64),
      .l2BytesPerClock = of.l2BytesPerClock,
      .latencyMma = {29, "estimate: 25 to 33, measured by others"},
      .latencyShared = {27, "estimate: 23 to 30, measured by others"},
      .latencyL2 = {235, "estimate: 200 to 270, measured by others"},
      .latencyMemory = {535, "estimate: 470 to 600, measured by others"},
      .latencyBarrier = {20, "estimate: measured by others"},
      .launchMicroseconds = {3, "estimate: a launch in a graph or a full stream"},
      .latencyDependent = {4.5, "estimate: 4 to 5, measured by others"},
      .memoryShare = {0.9, "estimate: copies reach 0.88 to 0.93 of the data sheet, measured by others"},
      .l2Share = {0.8, "estimate: hashing of sets and two partitions leave about this before misses grow"},
      .overlapPower = {3, "estimate: near-equal units cost a quarter; the loop of FlashAttention-2 then reaches 78 % "
                          "of an A100 at d 128, 73 % are published"},
      .chainShare = {0.75, "estimate: a part of the softmax stands among the products of P V, which run on meanwhile"},
      .blockStartClocks = {300, "estimate: a block of several warps is launched within a few hundred clocks"},
  };
}

constexpr std::array<Gpu, 7> table = {{
    row("a100", "A100-SXM4-80GB", ampere100, 108, 1410, 2039, 40),
    row("rtx3090", "RTX 3090", ampere86, 82, 1695, 936, 6),
    row("rtx4090", "RTX 4090", ada, 128, 2520, 1008, 72),
    row("h100", "H100 80GB HBM3", hopper, 132, 1830, 3350, 50),
    row("h200", "H200", hopper, 132, 1830, 4800, 50),
    row("b200", "B200", blackwell100, 148, 1850, 8000, 126),
    row("rtx5090", "RTX 5090", blackwell120, 170, 2407, 1792, 96),
}};

std::string known() {
  std::string names;
  for (const Gpu &gpu : table)
    names += fmt::format("{}{} ({}.{})", names.empty() ? "" : ", ", gpu.name, gpu.major, gpu.minor);
  return names;
}

/// Whether the driver's name is that of the product, or of its simulation: "RTX 3090 Ti" is another one.
bool isProduct(std::string_view name, std::string_view product) {
  name = name.substr(0, name.find(" (Tessera simulator)"));
  return name.ends_with(product);
}

constexpr std::array<std::string_view, 7> likeNames = {"like a100", "like rtx3090", "like rtx4090", "like h100",
                                                       "like h200", "like b200",    "like rtx5090"};

} // namespace

std::span<const Gpu> Gpu::all() { return table; }

Result<Gpu> Gpu::find(std::string_view name) {
  for (const Gpu &gpu : table)
    if (gpu.name == name)
      return gpu;
  return Status(Code::NotFound, fmt::format("the model knows no GPU called '{}'", name), "known are " + known());
}

Result<Gpu> Gpu::of(const DeviceInfo &info) {
  for (const Gpu &gpu : table)
    if (gpu.major == info.major && gpu.minor == info.minor && isProduct(info.name, gpu.product))
      return gpu;
  for (size_t i = 0; i < table.size(); ++i) {
    Gpu gpu = table[i];
    if (gpu.major != info.major || gpu.minor != info.minor)
      continue;
    constexpr std::string_view told = "told by the driver";
    gpu.name = likeNames[i];
    gpu.product = {};
    gpu.sms = {double(info.smCount), told};
    if (info.clockKHz) {
      gpu.clockMHz = {info.clockKHz / 1000.0, told};
    }
    if (info.l2Bytes)
      gpu.l2Bytes = {double(info.l2Bytes), told};
    if (info.sharedBytesPerSm)
      gpu.sharedBytesPerSm = {double(info.sharedBytesPerSm), told};
    // The width of its memory bus is not told: as much per SM as the relative has.
    gpu.memoryGBps = {table[i].memoryGBps / table[i].sms * gpu.sms,
                      "estimate: as much per SM as the product it is like"};
    return gpu;
  }
  return Status(
      Code::NotFound,
      fmt::format("the model knows no GPU of compute capability {}.{} ({})", info.major, info.minor, info.name),
      "known are " + known());
}

} // namespace tessera::tune
