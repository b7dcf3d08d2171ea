// Gpu: what the cost model knows of one GPU: limits, rates and calibration constants, each with where it came from.
#pragma once

#include "runtime/driver/Context.h"
#include "runtime/spec/Target.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::tune {

/// A figure and where it came from, e.g. "data sheet", "estimate: <how>", "measured: <date, driver>".
struct Figure {
  double value = 0;
  std::string_view origin; ///< static storage
  constexpr operator double() const { return value; }
};

/// Rates are per SM and clock unless the name says otherwise. A row of the one table (Gpu.cpp; from design/devices.md).
struct Gpu {
  std::string_view name;    ///< "a100"; "like a100" where limits are those that another product's driver told
  std::string_view product; ///< part of the name that the driver gives: "A100-SXM4-80GB"
  unsigned major = 0, minor = 0;
  Figure sms, clockMHz, memoryGBps, l2Bytes;
  Figure sharedBytesPerSm, sharedBytesReservedPerBlock, registersPerSm, warpsPerSm, blocksPerSm;
  Figure schedulers;                                                          ///< warp instructions issued per clock
  Figure mma16, mma16Sum16, mmaTf32;                                          ///< FMA, as mma.sync reaches them
  Figure fma, alu, mufu, shuffle;                                             ///< lanes
  Figure sharedBytes, fillBytes;                                              ///< bytes
  Figure l2BytesPerClock;                                                     ///< bytes
  Figure latencyMma, latencyShared, latencyL2, latencyMemory, latencyBarrier; ///< clocks
  Figure launchMicroseconds;

  // Calibration of the model: one value for all attentions and schedules, never fitted to single rows of a table of
  // winners.
  Figure latencyDependent; ///< clocks from an f32 or integer instruction to one that needs its result
  Figure memoryShare;      ///< of memoryGBps that a streaming kernel reaches
  Figure l2Share;          ///< of l2Bytes that holds what is read again before it is evicted
  Figure overlapPower;     ///< p of the p-norm of the units' clocks: how much near-equal units get in each other's way
  Figure chainShare; ///< of the shorter of a warp's matrix work and softmax that its own instructions do not overlap
  Figure blockStartClocks; ///< from the end of a block to the first instruction of the next in its place

  static std::span<const Gpu> all();
  /// The row of a simulated profile, or the one whose product stands in the driver's name; else the row of the same
  /// compute capability with SMs, clock, L2 and shared memory as the driver says (`name` is then "like a100"). NotFound
  /// lists the known.
  static Result<Gpu> of(const DeviceInfo &info);
  static Result<Gpu> find(std::string_view name);
};

} // namespace tessera::tune
