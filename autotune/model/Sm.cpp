// Clocks of the units from counts, and of the chain of one warp from counts and latencies.
#include "autotune/model/Sm.h"

#include <cmath>

namespace tessera::tune {
namespace {

double mmaRate(const Gpu &gpu, const AttentionSpec &spec) { return spec.dtype == DType::F32 ? gpu.mmaTf32 : gpu.mma16; }

/// Clocks that each unit of one SM is busy for this work. Spills go through L1, which shares the pipe of shared memory.
Clocks clocksOf(const Gpu &gpu, const AttentionSpec &spec, const Work &work) {
  Clocks clocks{};
  clocks[Tensor] = work.mmaFlops / 2 / mmaRate(gpu, spec);
  clocks[Exponent] = 32 * work.mufu / gpu.mufu;
  clocks[Fma] = 32 * work.fma / gpu.fma;
  clocks[Alu] = 32 * work.alu / gpu.alu;
  clocks[Issue] = work.instructions / gpu.schedulers;
  clocks[Shared] = (work.sharedWavefronts * 128 + work.localBytes) / gpu.sharedBytes + 32 * work.shuffle / gpu.shuffle;
  clocks[Fill] = work.fillBytes / gpu.fillBytes;
  clocks[L2] = (work.fillBytes + work.storeBytes) / gpu.l2BytesPerClock;
  return clocks;
}

/// What one warp alone on its scheduler takes for its part of a step, if nothing of it overlapped.
struct Chain {
  double tensor, softmax;
};

Chain chainOf(const Gpu &gpu, const AttentionSpec &spec, const Work &block, double warps) {
  // A scheduler has its part of every unit.
  const double parts = gpu.schedulers;
  auto clocks = [&](double count, double rate) { return 32 * count / warps * parts / rate; };
  const double matrix = block.mmaFlops / 2 / warps * parts / mmaRate(gpu, spec);
  const double mmaInstructions = block.mmaFlops / (spec.dtype == DType::F32 ? 2048 : 4096);
  const double issued = (block.instructions - mmaInstructions) / warps;
  const double softmax =
      std::max({clocks(block.mufu, gpu.mufu), clocks(block.alu, gpu.alu), clocks(block.fma, gpu.fma), issued});
  const double reloads = block.localBytes / warps * parts / gpu.sharedBytes; // their results are waited for
  return {matrix, softmax + reloads};
}

/// Latencies of a step that a warp meets one after the other.
double latencyOf(const Gpu &gpu, const Schedule &s, const Work &step) {
  // Barriers, and the way from shared memory through the matrix unit to the first result of both products.
  double latency = step.barriers * gpu.latencyBarrier + 2 * (gpu.latencyShared + gpu.latencyMma);
  if (s.rescale != Rescale::Anchored) {
    // The row max: a chain of maxima along the columns of a thread, which its few rows overlap, and two exchanges.
    const double rows = s.tileQ / (8.0 * s.warps), columns = s.tileKv / 4.0, issueClocks = 2;
    latency += std::max(columns * (gpu.latencyDependent - issueClocks * rows), 0.0);
    latency += 2 * (gpu.latencyShared + gpu.latencyDependent);
  }
  if (s.rescale != Rescale::Every)
    latency += 4 * gpu.latencyDependent; // compare, vote, branch
  return latency;
}

} // namespace

Sm::Sm(const Gpu &gpu, const Task &task, const Schedule &s, const BlockWork &work)
    : gpu_(gpu), step_(clocksOf(gpu, task.spec, work.perTile)), fixed_(clocksOf(gpu, task.spec, work.fixed)),
      share_(std::min(s.warps / gpu.schedulers, 1.0)) {
  const Chain chain = chainOf(gpu, task.spec, work.perTile, s.warps);
  exposedStep_ = std::min(chain.tensor, chain.softmax) * gpu.chainShare + latencyOf(gpu, s, work.perTile);
  chainStep_ = std::max(chain.tensor, chain.softmax) + exposedStep_;
  exposedFixed_ = gpu.latencyMemory + gpu.latencyL2 + 4 * gpu.latencyBarrier;
  if (!s.persistent)
    exposedFixed_ += gpu.blockStartClocks;
  // With one buffer K has the time of P V to arrive, and V that of Q K; with several both have the steps between.
  const bool ring = s.stages > 1;
  loadAhead_ = ring ? s.stages - 1 : 0.5;
  loadClocks_ = gpu.latencyL2 + (ring ? 1 : 0.5) * work.perTile.fillBytes / gpu.l2BytesPerClock;
}

double Sm::overlapped(const Clocks &clocks, double blocks) const {
  const double most = *std::max_element(clocks.begin(), clocks.end());
  if (most <= 0)
    return 0;
  double sum = 0;
  for (double one : clocks)
    sum += std::pow(one / most, gpu_.overlapPower);
  return blocks * most * std::pow(sum, 1 / gpu_.overlapPower);
}

double Sm::stepClocks(double resident) const {
  const double others = hiding(resident);
  const double clocks = std::max(overlapped(step_, resident) + exposedStep_ / others, chainStep_);
  return clocks + std::max(loadClocks_ - loadAhead_ * clocks, 0.0) / others;
}

double Sm::blockClocks(double resident, double steps) const {
  return steps * stepClocks(resident) + overlapped(fixed_, resident) + exposedFixed_ / hiding(resident);
}

double Sm::busyClocks(double resident, double steps) const {
  return steps * overlapped(step_, resident) + overlapped(fixed_, resident);
}

} // namespace tessera::tune
