// A block's life: storage, warps, turns, and the end or the deadlock.
#include "runtime/simulator/machine/Block.h"

#include "runtime/simulator/machine/Async.h"
#include "runtime/simulator/machine/Mbarrier.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace tessera::sim::machine {

Block::Block() = default;

Block::~Block() {
  for (Warp &w : warps)
    while (!w.frames.empty())
      releaseFrame(w, w.frames.back());
  for (auto &[bytes, storage] : framePool)
    std::free(storage);
}

void Block::start(const LaunchState &state, uint64_t number) {
  for (Warp &w : warps)
    while (!w.frames.empty())
      releaseFrame(w, w.frames.back());
  bool sameLaunch = launch == &state;
  launch = &state;
  linear = number;
  const Dim3 &grid = state.config->grid, &dim = state.config->block;
  index = {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(number / grid.x % grid.y),
           static_cast<uint32_t>(number / grid.x / grid.y)};
  bool checks = state.options->checks;
  uint32_t localBytes = state.kernel->localBytes;
  if (!sameLaunch) {
    windows.fill(GlobalWindow{});
    warps = std::vector<Warp>(state.warps);
    asyncStorage.clear();
    for (uint32_t i = 0; i < state.warps; ++i)
      asyncStorage.push_back(std::make_unique<AsyncCopies>());
    sharedStorage.resize(state.sharedBytes + 64);
    localStorage.resize(uint64_t(localBytes) * warpSize * state.warps);
    if (checks) {
      sharedShadowStorage.resize(state.sharedBytes + 64);
      localShadowStorage.resize(localStorage.size());
    }
  }
  random.state = Random::mix(state.options->seed) ^ number * 0xd6e8feb86659fd93;
  effects = effectsSeen = 0;
  stalled = false;
  // Zeros where nothing was written, so that what such reads see does not depend on earlier blocks.
  std::fill(sharedStorage.begin(), sharedStorage.end(), std::byte(0));
  std::fill(localStorage.begin(), localStorage.end(), std::byte(0));
  if (checks) {
    std::fill(sharedShadowStorage.begin(), sharedShadowStorage.end(), uint8_t(0));
    std::fill(localShadowStorage.begin(), localShadowStorage.end(), uint8_t(0));
  }
  auto *sharedBase =
      reinterpret_cast<std::byte *>((reinterpret_cast<uintptr_t>(sharedStorage.data()) + 63) & ~uintptr_t(63));
  barriers.fill(BarrierState{});
  mbarriers = std::make_unique<Mbarriers>();
  liveThreads = state.threads;
  status = BlockStatus::Running;
  known.clear();
  findings.clear();
  suppressed = 0;
  printed.clear();
  counters = {};
  if (state.options->counters)
    counts.assign(state.program->instructions.size(), InstructionCount{});
  if (checks && state.options->races)
    raceStart(*this);
  for (uint32_t i = 0; i < state.warps; ++i) {
    Warp &w = warps[i];
    w = Warp{};
    w.block = this;
    w.index = i;
    w.checks = checks;
    w.counting = state.options->counters;
    w.stress = state.options->mma == MmaMode::Stress;
    w.shared = sharedBase;
    w.sharedShadow = checks ? sharedShadowStorage.data() : nullptr;
    w.sharedBegin = state.kernel->sharedBase;
    w.sharedEnd = state.sharedBytes;
    w.local = localStorage.data() + uint64_t(i) * warpSize * localBytes;
    w.localShadow = checks ? localShadowStorage.data() + uint64_t(i) * warpSize * localBytes : nullptr;
    w.localBytes = localBytes;
    w.parameters = state.config->parameters.data();
    w.parameterBytes = static_cast<uint32_t>(state.config->parameters.size());
    w.windows = windows.data();
    uint32_t lanes = std::min(state.threads - i * warpSize, uint32_t(warpSize));
    w.launched = w.live = w.active = lanes == warpSize ? allLanes : (1u << lanes) - 1;
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t thread = i * warpSize + lane;
      w.tid[0][lane] = thread % dim.x;
      w.tid[1][lane] = thread / dim.x % dim.y;
      w.tid[2][lane] = thread / dim.x / dim.y;
    }
    *asyncStorage[i] = AsyncCopies{};
    w.async = asyncStorage[i].get();
    const program::DecodedFunction &function = state.program->functions[state.kernel->function];
    Frame *frame = pushFrame(w, function, nullptr, nullptr);
    Split split;
    split.pc = function.ops.data();
    split.mask = w.launched;
    split.frame = frame;
    w.splits.push_back(split);
  }
}

namespace {

bool runnable(const Warp &w) {
  for (const Split &s : w.splits)
    if (s.wait == Wait::None)
      return true;
  return false;
}

/// Looks at unchanged memory by every warp that could go on, until it counts as a deadlock.
constexpr uint64_t pollsBeforeStalled = 1 << 18;
/// The same for tests of mbarriers that repeat themselves exactly.
constexpr uint64_t repeatsBeforeStalled = 64;

} // namespace

/// Says who waits on what.
void Block::reportDeadlock() {
  Block &block = *this;
  std::string who;
  const Op *first = nullptr;
  Warp *firstWarp = nullptr;
  unsigned lane = 0, listed = 0, left = 0;
  for (Warp &w : block.warps) {
    for (const Split &s : w.splits) {
      if (!first) {
        first = s.pc;
        firstWarp = &w;
        lane = static_cast<unsigned>(__builtin_ctz(s.mask));
      }
      if (++listed > 12) {
        ++left;
        continue;
      }
      std::string_view line = who.empty() ? "" : "\n  ";
      if (s.wait == Wait::None && w.polling.op && w.polling.op->code == program::Opcode::MbarTestWait)
        who += fmt::format("{}warp {} lanes {:#010x} at line {}: for phase {} of the {}", line, w.index, s.mask,
                           lineOf(block, *w.polling.op), w.polling.phase,
                           describeMbarrier(block, static_cast<uint32_t>(w.polling.address)));
      else if (s.wait == Wait::None && w.polling.op)
        who +=
            fmt::format("{}warp {} lanes {:#010x}: looked {} times at line {}, address {:#x}, and nothing changes it",
                        line, w.index, s.mask, w.polling.count, lineOf(block, *w.polling.op), w.polling.address);
      else if (s.wait == Wait::Barrier)
        who += fmt::format("{}warp {} lanes {:#010x} at line {}: {}", who.empty() ? "" : "\n  ", w.index, s.mask,
                           lineOf(block, *s.pc), describeBarrier(block, s.barrier));
      else
        who += fmt::format("{}warp {} lanes {:#010x} at line {}: for lanes {:#010x}", who.empty() ? "" : "\n  ",
                           w.index, s.mask, lineOf(block, *s.pc), s.waitMask & w.live & ~s.waitActive);
    }
    for (const JoinNode &node : w.joins)
      if (node.pc && node.arrived && ++listed <= 12)
        who += fmt::format("\n  warp {} lanes {:#010x} at line {}: to be joined by lanes {:#010x}", w.index,
                           node.arrived, lineOf(block, *node.pc), node.expected & ~node.arrived);
  }
  unsigned exited = block.launch->threads - block.liveThreads;
  if (left)
    who += fmt::format("\n  and {} more", left);
  if (exited)
    who += fmt::format("\n  {} threads have exited", exited);
  Evidence e;
  e.kind = FindingKind::Deadlock;
  e.fatal = true;
  e.lane = lane;
  e.message = "no warp of the block can go on";
  e.other = std::move(who);
  report(*firstWarp, *first, std::move(e));
}

void Block::watchPolls() {
  if (effects != effectsSeen) {
    effectsSeen = effects;
    for (Warp &w : warps)
      w.polling.countAtChange = w.polling.count, w.polling.repeats = 0;
  }
  stalled = std::all_of(warps.begin(), warps.end(), [](const Warp &w) {
    return !w.live || !runnable(w) || w.polling.repeats >= repeatsBeforeStalled ||
           w.polling.count - w.polling.countAtChange >= pollsBeforeStalled;
  });
}

BlockStatus Block::run() {
  uint64_t limit = launch->options->instructionLimit;
  bool inRandomOrder = launch->options->schedule == Schedule::Random;
  size_t turns = inRandomOrder ? 1 + random.below(4 * warps.size()) : 0;
  while (status == BlockStatus::Running) {
    bool any = false, yielded = false;
    size_t first = inRandomOrder ? random.below(warps.size()) : 0;
    for (size_t i = 0; i < warps.size(); ++i) {
      Warp &w = warps[(first + i) % warps.size()];
      if (!w.live || !runnable(w))
        continue;
      any = true;
      if (inRandomOrder)
        w.budget = 2 + random.below(random.below(8) ? 16 : 512);
      runWarp(w);
      if (status != BlockStatus::Running)
        return status;
      yielded |= w.yielded;
      if (limit && w.instructions > limit) {
        Evidence e;
        e.kind = FindingKind::Limit;
        e.fatal = true;
        const Op *pc = w.splits.empty() ? nullptr : w.splits[0].pc;
        e.lane = w.live ? static_cast<unsigned>(__builtin_ctz(w.live)) : 0;
        e.message = fmt::format("the warp executed {} instructions without ending", w.instructions);
        if (pc)
          report(w, *pc, std::move(e));
        return status;
      }
      if (inRandomOrder)
        break; // another one is drawn
    }
    if (liveThreads == 0) {
      status = BlockStatus::Done;
    } else if (!any) {
      reportDeadlock();
    } else if (inRandomOrder ? --turns == 0 : yielded) {
      watchPolls();
      return status; // others may have to run before this block gets further
    }
  }
  return status;
}

} // namespace tessera::sim::machine
