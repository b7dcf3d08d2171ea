// Rig: what it takes to judge kernels, put together for one device.
#include "autotune/measure/Rig.h"

#include "autotune/measure/SimulatedWork.h"
#include "autotune/measure/Timing.h"
#include "autotune/measure/Verdict.h"
#include "autotune/measure/Verify.h"
#include "runtime/image/Digest.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tessera::tune {
namespace {

/// What the assembler says of the image; its registers estimated where no assembler was there.
Footprint footprintOf(const KernelImage &image, const Task &task) {
  Footprint footprint = estimateFootprint(task, image.schedule);
  footprint.sharedBytes = image.dynamicSharedBytes;
  footprint.threads = image.blockThreads;
  if (!image.registers)
    return footprint;
  footprint.registers = *image.registers;
  footprint.spillBytes = image.spillBytes.value_or(0);
  footprint.basis = Basis::Image;
  return footprint;
}

class DeviceRig final : public Rig {
public:
  DeviceRig(Device device, Gpu gpu, std::optional<Device> simulated)
      : device_(std::move(device)), gpu_(gpu), simulated_(std::move(simulated)) {}

  Result<Measurement> measure(const KernelImage &image, const Task &task, const Effort &effort) override {
    return alone([&] { return measureNow(image, task, effort); });
  }
  Result<Verification> verify(const KernelImage &image, const Task &task) override {
    return alone([&] { return verifyNow(image, task); });
  }
  Result<Prediction> predictCompiled(const KernelImage &image, const Task &task) override {
    return alone([&] { return predictNow(image, task); });
  }

private:
  /// No exception leaves a rig, and no code of one kernel stays loaded when the next comes.
  template <typename Call> auto alone(Call call) -> decltype(call()) {
    const auto answer = [&]() -> decltype(call()) {
      try {
        return call();
      } catch (const std::bad_alloc &) {
        return Status(Code::Internal, "this machine has too little memory for the tensors of the problem",
                      "choose a smaller problem, or a machine with more memory");
      } catch (const std::exception &error) {
        return Status(Code::Internal, error.what());
      }
    }();
    for (const Device *device : {&device_, simulated_ ? &*simulated_ : &device_})
      if (device->context()->retired() > 0)
        (void)device->context()->unloadRetired(); // what failed before fails again at the next call, which reports it
    return answer;
  }

  Result<Measurement> measureNow(const KernelImage &image, const Task &task, const Effort &effort) {
    if (!device_.simulated())
      return tessera::tune::measure(image, device_, task.problem, effort);
    const Result<Prediction> prediction = predictNow(image, task);
    if (!prediction)
      return prediction.status();
    if (!std::isfinite(prediction->milliseconds)) {
      const Footprint needs = footprintOf(image, task);
      return Status(Code::Unsupported,
                    fmt::format("no SM of {} holds a block of this kernel: {} threads with {} registers each, {} bytes "
                                "of shared memory",
                                gpu_.name, needs.threads, needs.registers, needs.sharedBytes),
                    "choose a smaller tile");
    }
    Measurement modelled;
    modelled.milliseconds = modelled.lowMs = modelled.highMs = prediction->milliseconds;
    modelled.modelled = true;
    modelled.method = "modelled";
    return modelled;
  }

  Result<Verification> verifyNow(const KernelImage &image, const Task &task) {
    const Result<Kernel> kernel = Kernel::load(image, device_);
    if (!kernel)
      return kernel.status();
    Result<Verification> small = verifySmall(*kernel, device_, task);
    if (!small || !small->right || device_.simulated()) // a task's own shape would keep the simulator busy for hours
      return small;
    const Result<Verification> own = verifyOwnShape(*kernel, device_, task, naive(image.spec));
    if (!own)
      return own.status();
    return both(*small, *own);
  }

  Result<Prediction> predictNow(const KernelImage &image, const Task &task) {
    const Result<BlockWork> work = workOf(image, task);
    if (!work)
      return work.status();
    Prediction prediction = predict(gpu_, task, image.schedule, footprintOf(image, task), *work);
    if (std::isnan(prediction.milliseconds))
      return Status(Code::Internal, fmt::format("the model's time for {} is no number", image.schedule.text()),
                    "report the task and this schedule");
    return prediction;
  }

  Result<BlockWork> workOf(const KernelImage &image, const Task &task) {
    if (!simulated_ || image.ptx.empty())
      return estimateWork(task, image.schedule);
    const std::string key =
        fmt::format("{} {}", hexText(digestOf(image.ptx)), CountingPlan::of(task, image.schedule).text());
    if (const auto known = counted_.find(key); known != counted_.end())
      return known->second;
    const Result<BlockWork> work = simulateWork(image, task, *simulated_);
    if (!work) // of a GPU the simulator is a help, not a condition
      return device_.simulated() ? Result<BlockWork>(work.status()) : estimateWork(task, image.schedule);
    return counted_[key] = *work;
  }

  const Result<NaiveAttention> &naive(const AttentionSpec &spec) {
    if (!naive_ || naiveSpec_ != spec.text()) {
      naiveSpec_ = spec.text();
      naive_ = NaiveAttention::create(device_, spec);
    }
    return *naive_;
  }

  Device device_;
  Gpu gpu_;
  std::optional<Device> simulated_; ///< poses as the same GPU; the device itself where it is simulated
  std::map<std::string, BlockWork> counted_;
  std::string naiveSpec_;
  std::optional<Result<NaiveAttention>> naive_; ///< of naiveSpec_
};

} // namespace

Result<std::unique_ptr<Rig>> Rig::open(const Device &device) {
  const Result<Gpu> gpu = Gpu::of(device.info());
  if (!gpu)
    return gpu.status();
  std::optional<Device> simulated;
  if (device.simulated()) {
    simulated = device;
  } else {
    // Its counts are worth having, but not needed: without, predictions say that their work is estimated.
    std::string_view profile = gpu->name;
    if (profile.starts_with("like "))
      profile.remove_prefix(5);
    if (Result<Device> opened = Device::open(fmt::format("sim:{}", profile)))
      simulated = *std::move(opened);
  }
  return std::unique_ptr<Rig>(std::make_unique<DeviceRig>(device, *gpu, std::move(simulated)));
}

} // namespace tessera::tune
