// Rig: one device with what it takes to time and to check kernels on it; in the process that calls it.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/model/Model.h"
#include "runtime/engine/Kernel.h"

#include <memory>

namespace tessera::tune {

/// Not thread-safe. A kernel that faults on a GPU ends the usefulness of the process for that device: the search runs
/// rigs in processes of their own.
class Rig {
public:
  virtual ~Rig() = default;

  /// On a GPU: warm-up, then launches with inputs rotated so that L2 is cold, by graph replay. On a simulated device:
  /// the model on the simulator's counts of this kernel, labelled so. The image is loaded for it and unloaded again.
  virtual Result<Measurement> measure(const KernelImage &image, const Task &task, const Effort &effort) = 0;

  /// Runs the kernel alone on poisoned outputs and compares: with the f64 reference at small sizes that have the task's
  /// mask, group and ragged lengths; at the task's own shape with a naive kernel compiled by NVRTC (on a GPU). A wrong
  /// answer is no failure of the call: `right` is false.
  virtual Result<Verification> verify(const KernelImage &image, const Task &task) = 0;

  /// The prediction on what is known of the kernel after its compile: footprint of the image and, where the simulator
  /// is at hand, its counts.
  virtual Result<Prediction> predictCompiled(const KernelImage &image, const Task &task) = 0;

  static Result<std::unique_ptr<Rig>> open(const Device &device);
};

} // namespace tessera::tune
