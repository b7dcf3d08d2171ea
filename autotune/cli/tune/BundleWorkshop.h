// BundleWorkshop: a search whose candidates are the kernels of a bundle, so that nothing is compiled where the GPU is.
#pragma once

#include "autotune/search/Search.h"
#include "runtime/engine/BundleSelection.h"

#include <memory>

namespace tessera::cli {

/// The schedules that the bundle holds of this attention in the code that an engine would take on the device: of the
/// nearest target that it runs (nearestCode), for what is for a farther one is never chosen. Sorted by their texts.
std::vector<Schedule> offeredSchedules(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device,
                                       const AttentionSpec &spec);

/// Who made them, and for what: the target of that code, which need not be the device's; the builds and assemblers,
/// joined where kernels of several were merged, since what is timed side by side is compared all the same; the digests
/// of the cubins. What cannot be read is left out, and said when it is its turn.
tune::OfferedCode offeredCode(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device,
                              const AttentionSpec &spec);

class BundleWorkshop : public tune::Workshop {
public:
  /// `inner` verifies, measures and predicts; it outlives this object.
  BundleWorkshop(std::shared_ptr<const Bundle> bundle, DeviceFacts device, tune::Workshop &inner)
      : bundle_(std::move(bundle)), device_(std::move(device)), inner_(inner) {}

  unsigned width() const override { return inner_.width(); }
  void compile(std::span<const tune::Candidate> candidates, const tune::Done<tune::Compiled> &done,
               const tune::Stopped &stopped) override;
  void predictCompiled(std::span<const tune::Job> jobs, const tune::Done<tune::Prediction> &done,
                       const tune::Stopped &stopped) override {
    inner_.predictCompiled(jobs, done, stopped);
  }
  void measure(std::span<const tune::Job> jobs, const tune::Effort &effort, const tune::Done<tune::Measurement> &done,
               const tune::Stopped &stopped) override {
    inner_.measure(jobs, effort, done, stopped);
  }
  void verify(std::span<const tune::Job> jobs, const tune::Done<tune::Verification> &done,
              const tune::Stopped &stopped) override {
    inner_.verify(jobs, done, stopped);
  }

private:
  std::shared_ptr<const Bundle> bundle_;
  DeviceFacts device_;
  tune::Workshop &inner_;
};

} // namespace tessera::cli
