// Rotating tensors, warm-up, samples and when to stop.
#include "autotune/measure/Timing.h"

#include "autotune/measure/Clocks.h"
#include "autotune/measure/RepeatedInputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr size_t kMostSets = 4096;     ///< a graph of so many launches is instantiated in milliseconds
constexpr double kShortestRunMs = 0.5; ///< events tell half a microsecond
constexpr double kWarmUpMs = 10;       ///< at least, for clocks that rise from idle
constexpr double kWarmUpShare = 0.25;  ///< at most, of what the effort allows
constexpr double kStill = 0.01;        ///< relative difference of runs whose clock is stable
constexpr size_t kFewestSamples = 3;
constexpr double kClearlySlower = 1.5; ///< of a run in the warm-up against the best so far
constexpr double kClockFell = 0.98;    ///< end of the clock against its begin

/// Runs a replay and keeps its times per launch.
struct Sampler {
  const Replay &replay;
  std::vector<double> samples;
  double spentMs = 0;

  Status take(const std::function<void()> &whileBusy = {}) {
    const Result<double> elapsed = replay.run(whileBusy);
    if (!elapsed)
      return elapsed.status();
    spentMs += *elapsed;
    samples.push_back(*elapsed / double(replay.launches()));
    return {};
  }
};

} // namespace

Quartiles Quartiles::of(std::vector<double> samples) {
  if (samples.empty())
    return {};
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    const double place = share * double(samples.size() - 1);
    const size_t below = size_t(place), above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (place - double(below)) * (samples[above] - samples[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

Rotation Rotation::of(uint64_t bytesPerSet, uint64_t l2Bytes, uint64_t memoryBytes) {
  const uint64_t bytes = std::max<uint64_t>(bytesPerSet, 1), wanted = 2 * l2Bytes / bytes + 1;
  const uint64_t possible = std::clamp<uint64_t>(memoryBytes / 2 / bytes, 1, kMostSets);
  return {size_t(std::min(wanted, possible)), wanted <= possible};
}

Result<Measurement> time(const std::function<Result<Replay>(size_t rounds)> &make, const Device &device,
                         const Effort &effort) {
  Result<Replay> replay = make(1);
  if (!replay)
    return replay.status();
  Result<double> first = replay->run();
  double spentMs = first ? *first : 0;
  if (first && *first < effort.mostMilliseconds) { // again: code and graph may have been loaded while the first ran
    first = replay->run();
    spentMs += first ? *first : 0;
  }
  if (!first)
    return first.status();
  if (*first < kShortestRunMs) {
    replay = make(size_t(std::ceil(kShortestRunMs / std::max(*first, kShortestRunMs / 1000))));
    if (!replay)
      return replay.status();
  }

  Measurement result;
  result.modelled = device.simulated();
  result.method = replay->isGraph() ? "graph replay" : "events";
  Sampler warmUp{*replay, {}};
  const double enough = std::min(kWarmUpMs, kWarmUpShare * effort.mostMilliseconds);
  bool hopeless = false;
  for (bool still = false; !hopeless && !still && spentMs + warmUp.spentMs < kWarmUpShare * effort.mostMilliseconds;) {
    if (Status status = warmUp.take(); !status)
      return status;
    const std::vector<double> &runs = warmUp.samples;
    const size_t n = runs.size();
    still = n >= 3 && warmUp.spentMs >= enough && std::fabs(runs[n - 1] - runs[n - 2]) <= kStill * runs[n - 1] &&
            std::fabs(runs[n - 2] - runs[n - 3]) <= kStill * runs[n - 2];
    hopeless =
        effort.stopAboveMs > 0 && n >= 2 && *std::ranges::min_element(runs) > kClearlySlower * effort.stopAboveMs;
  }

  Sampler sampler{*replay, {}};
  const Clocks clocks(device.info());
  std::optional<ClockReading> before, after;
  if (hopeless) {
    sampler.samples = warmUp.samples;
    result.stoppedEarly = true;
  }
  while (!result.stoppedEarly) {
    const bool begins = sampler.samples.empty();
    if (Status status = sampler.take([&] { (begins ? before : after) = clocks.read(); }); !status)
      return status;
    if (sampler.spentMs >= effort.mostMilliseconds)
      break;
    if (sampler.samples.size() < kFewestSamples)
      continue;
    const Quartiles now = Quartiles::of(sampler.samples);
    const uint64_t repeats = sampler.samples.size() * replay->launches();
    result.stoppedEarly = effort.stopAboveMs > 0 && now.low > effort.stopAboveMs;
    if (repeats >= effort.maxRepeats ||
        (repeats >= effort.minRepeats && now.high - now.low <= effort.wantedSpread * now.median))
      break;
  }
  const Quartiles quartiles = Quartiles::of(sampler.samples);
  result.milliseconds = quartiles.median;
  result.lowMs = quartiles.low;
  result.highMs = quartiles.high;
  result.repeats = uint32_t(std::min<uint64_t>(sampler.samples.size() * replay->launches(), UINT32_MAX));
  if (before) {
    const ClockReading last = after.value_or(*before);
    result.clockMHz = (before->smMHz + last.smMHz) / 2;
    result.throttled = before->slowed || last.slowed || last.smMHz < kClockFell * before->smMHz;
  }
  return result;
}

Result<Measurement> measure(const KernelImage &image, const Device &device, const Problem &problem,
                            const Effort &effort) {
  const Result<Kernel> kernel = Kernel::load(image, device);
  if (!kernel)
    return kernel.status();
  const Rotation rotation =
      Rotation::of(tensorBytes(image.spec, problem), device.info().l2Bytes, device.info().memoryBytes);
  const RepeatedInputs values = RepeatedInputs::make(image.spec.dtype, /*seed=*/4);
  std::vector<LaunchTensors> sets;
  for (size_t n = 0; n < rotation.sets; ++n) {
    Result<LaunchTensors> set = LaunchTensors::allocate(device, image, problem);
    if (!set)
      return set.status();
    sets.push_back(*std::move(set));
    if (Status status = n == 0 ? values.upload(sets.front()) : sets.back().copyInputs(sets.front(), nullptr); !status)
      return status;
    if (Status status = sets.back().poisonOutputs(); !status)
      return status;
  }
  if (Status status = device.synchronize(); !status)
    return status;
  const auto make = [&](size_t rounds) {
    std::vector<Launch> launches;
    for (size_t round = 0; round < rounds; ++round)
      for (const LaunchTensors &set : sets)
        launches.push_back([&](StreamHandle stream) { return kernel->launch(set.arguments(), stream); });
    return Replay::create(device, std::move(launches));
  };
  Result<Measurement> result = time(make, device, effort);
  if (result)
    result->method += rotation.cold ? ", cold L2" : ", warm L2";
  return result;
}

} // namespace tessera::tune
