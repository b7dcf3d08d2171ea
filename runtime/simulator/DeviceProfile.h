// DeviceProfile: the GPUs that the simulator can pose as, with their limits and rates, each figure with its origin.
#pragma once

#include "runtime/spec/Result.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::sim {

/// Where a figure of a profile comes from; a measurement of ours replaces an estimate.
enum class Origin : uint8_t {
  DataSheet, ///< the vendor's data sheet or white paper of that product
  Guide,     ///< the compute-capability tables of the CUDA C++ programming guide
  Estimate,  ///< measured by others in public, or inferred from such measurements (≈ in design/devices.md)
  Measured,  ///< measured by this project on the device
};

/// "data sheet", "programming guide", "estimate" or "measured".
std::string_view toString(Origin origin);

/// A figure and where it comes from; reads as the figure.
template <typename T> struct Sourced {
  T value;
  Origin origin;
  constexpr operator T() const { return value; }
};

/// Limits that a launch is refused by. Shared with every device of the same compute capability.
struct DeviceLimits {
  Sourced<uint32_t> sharedBytesPerSm;
  Sourced<uint32_t> sharedBytesPerBlock;         ///< with opt-in (cuFuncSetAttribute)
  Sourced<uint32_t> sharedBytesPerBlockDefault;  ///< static, or dynamic without opt-in
  Sourced<uint32_t> sharedBytesReservedPerBlock; ///< taken by the system out of the SM's amount
  Sourced<uint32_t> registersPerSm;
  Sourced<uint32_t> registersPerBlock;
  Sourced<uint32_t> registersPerThread;
  Sourced<uint32_t> registerAllocationUnit; ///< registers per warp are rounded up to a multiple of this
  Sourced<uint32_t> threadsPerBlock;
  Sourced<uint32_t> warpsPerSm;
  Sourced<uint32_t> blocksPerSm;
  Sourced<uint32_t> clusterBlocks; ///< portable cluster size; 1 where there are no clusters
};

/// Rates per SM and clock unless a unit says otherwise. A warp instruction occupies its pipe for 32/rate clocks.
struct DeviceRates {
  Sourced<double> clockMHz;        ///< boost
  Sourced<double> memoryGBps;      ///< 1e9 bytes per second
  Sourced<double> l2BytesPerClock; ///< per SM
  Sourced<double> l1FillBytes;     ///< per SM: global loads and cp.async into L1 or shared memory
  Sourced<double> sharedBytes;     ///< shared memory, without bank conflicts
  Sourced<double> schedulers;      ///< warp instructions issued per clock
  Sourced<double> fma;             ///< f32 add, multiply, FMA lanes
  Sourced<double> half;            ///< f16x2 arithmetic: lanes, each of two results
  Sourced<double> bfloat;          ///< bf16x2 arithmetic: the same
  Sourced<double> fp64;            ///< f64 add, multiply, FMA
  Sourced<double> integerMultiply; ///< 32-bit multiply and multiply-add
  Sourced<double> alu;             ///< max/min, compare, select, logic, shift, integer add
  Sourced<double> mufu;            ///< ex2, lg2, rcp, rsqrt; bit counts; conversions between integers and floats
  Sourced<double> convert;         ///< f32 to packed 16-bit results
  Sourced<double> convert64;       ///< from and to 64-bit types
  Sourced<double> shuffle;         ///< lanes
  Sourced<double> reduce;          ///< redux, match
  Sourced<double> lsu;             ///< lanes of accesses to global, local and generic memory
  Sourced<double> mma16Sum32;      ///< FMA of 16-bit inputs with f32 sum, best instruction of the architecture
  Sourced<double> mma16Sum16;      ///< the same with f16 sum
  Sourced<double> mma8;            ///< FMA of fp8 inputs with f32 sum; before sm_89, which has none, as of 8-bit data
  Sourced<double> mmaInt8;         ///< FMA of s8 and u8 inputs
  Sourced<double> mmaTf32;         ///< FMA of tf32 inputs
  Sourced<double> mmaFp64;         ///< FMA of f64 inputs
  Sourced<double> mmaSyncShare; ///< share of the rates above that mma.sync reaches (1 where it is the best instruction)
  Sourced<double> latencyMma;   ///< clocks, mma.sync m16n8k16
  Sourced<double> latencyShared;      ///< clocks
  Sourced<double> latencyL1;          ///< clocks
  Sourced<double> latencyL2;          ///< clocks
  Sourced<double> latencyMemory;      ///< clocks
  Sourced<double> launchMicroseconds; ///< from launch to first instruction of a kernel on an idle device
  Sourced<double> copyMicroseconds;   ///< from call to first byte of a copy over the host link
  Sourced<double> hostLinkGBps;       ///< 1e9 bytes per second, one direction
};

/// One simulated GPU. Rows of a static table; compare by name.
struct DeviceProfile {
  std::string_view name;         ///< "a100", as in "sim:a100"
  std::string_view product;      ///< what cuDeviceGetName tells, e.g. "NVIDIA A100-SXM4-80GB (Tessera simulator)"
  std::string_view architecture; ///< "sm_80", "sm_90a"
  unsigned major, minor;         ///< compute capability
  bool archSpecific;             ///< runs PTX of the architecture-specific target ("a" suffix)
  Sourced<uint32_t> smCount;
  Sourced<uint64_t> memoryBytes;
  Sourced<uint64_t> l2Bytes;
  DeviceLimits limits;
  DeviceRates rates;

  /// All profiles, oldest first.
  static std::span<const DeviceProfile> all();
  /// By name; NotFound lists the known names.
  static Result<const DeviceProfile *> find(std::string_view name);

  /// Blocks of this need that fit on one SM at once, 0 when one does not fit. sharedBytes is static plus dynamic.
  unsigned blocksPerSm(unsigned threadsPerBlock, unsigned registersPerThread, uint64_t sharedBytes) const;

  friend bool operator==(const DeviceProfile &a, const DeviceProfile &b) { return a.name == b.name; }
};

} // namespace tessera::sim
