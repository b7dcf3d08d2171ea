// NaiveAttention: a second opinion on a device, where the f64 reference on the CPU would take too long.
#pragma once

#include "autotune/reference/Attention.h"
#include "runtime/driver/Module.h"
#include "runtime/engine/Device.h"
#include "runtime/engine/LaunchValues.h"

namespace tessera::tune {

/// The kernel's CUDA C++; needs no header.
extern const char *const naiveSource;

/// Both answers for one head, as reference::attention and reference::plainAttention give them: N14's ref and pt.
struct NaiveAnswers {
  reference::Answer exact, plain;
};

/// Sums in f32 for 16-bit inputs and in f64 for f32 ones, in three passes without a running state. Movable;
/// thread-compatible.
class NaiveAttention {
public:
  /// Compiled by NVRTC and loaded. Unsupported without NVRTC.
  static Result<NaiveAttention> create(const Device &device, const AttentionSpec &spec);

  /// Of query head `head` of batch element `batch` of these tensors in device memory. Waits for the device.
  Result<NaiveAnswers> answer(const LaunchArguments &arguments, int64_t batch, int64_t head) const;

  /// Multiplications and additions that the answers of one head take.
  static double flopsPerHead(const AttentionSpec &spec, const Problem &problem);

private:
  NaiveAttention(Device device, const AttentionSpec &spec, Function exact, Function plain)
      : device_(std::move(device)), spec_(spec), exact_(std::move(exact)), plain_(std::move(plain)) {}
  Result<reference::Answer> run(const Function &function, const LaunchArguments &arguments, int64_t batch, int64_t head,
                                bool roundOutput) const;

  Device device_;
  AttentionSpec spec_;
  Function exact_, plain_;
};

} // namespace tessera::tune
