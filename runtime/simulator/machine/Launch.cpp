// launch(): checks the configuration, spreads blocks over host threads, and gathers what they found and counted.
#include "runtime/simulator/Machine.h"

#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Profile.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Touched.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace tessera::sim {

namespace {

using machine::Block;
using machine::BlockStatus;
using machine::InstructionCount;
using machine::LaunchState;

LaunchReport refuse(LaunchStatus status, const std::string &kernel, std::string why) {
  LaunchReport report;
  report.status = status;
  Finding f;
  f.kind = FindingKind::InvalidLaunch;
  f.fatal = true;
  f.kernel = kernel;
  f.text = fmt::format("launch of {}: {}", kernel, why);
  report.findings.push_back(std::move(f));
  return report;
}

LaunchStatus statusOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
  case FindingKind::UseAfterFree:
    return LaunchStatus::IllegalAddress;
  case FindingKind::Misaligned:
    return LaunchStatus::MisalignedAddress;
  case FindingKind::Assertion:
    return LaunchStatus::Assertion;
  case FindingKind::Trap:
    return LaunchStatus::Trap;
  case FindingKind::Deadlock:
  case FindingKind::Limit:
    return LaunchStatus::Timeout;
  default:
    return LaunchStatus::IllegalInstruction;
  }
}

/// What the blocks of a launch leave behind; by block, so that the order does not depend on the host threads.
struct Gathered {
  std::mutex mutex;
  std::map<uint64_t, std::pair<std::vector<Finding>, std::string>> blocks;
  std::map<uint64_t, uint64_t> suppressed;
  Counters counters;
  std::vector<InstructionCount> counts;
  std::atomic<uint64_t> firstFault{~uint64_t(0)};
};

void gather(Gathered &all, Block &block) {
  std::lock_guard lock(all.mutex);
  if (block.status == BlockStatus::Faulted && block.linear < all.firstFault)
    all.firstFault = block.linear;
  if (!block.findings.empty() || !block.printed.empty())
    all.blocks[block.linear] = {std::move(block.findings), std::move(block.printed)};
  if (block.suppressed)
    all.suppressed[block.linear] = block.suppressed;
  if (!block.launch->options->counters)
    return;
  all.counters += block.counters;
  all.counts.resize(std::max(all.counts.size(), block.counts.size()));
  for (size_t i = 0; i < block.counts.size(); ++i)
    all.counts[i] += block.counts[i];
}

/// Races between blocks go to the later one.
void addFindings(Gathered &all, std::vector<std::pair<uint64_t, Finding>> found) {
  std::lock_guard lock(all.mutex);
  for (auto &[block, finding] : found)
    all.blocks[block].first.push_back(std::move(finding));
}

/// Blocks do not wait for each other: each host thread takes the next one and runs it to its end.
void runIndependent(const LaunchState &state, Gathered &all, uint64_t blocks, unsigned threads) {
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    Block block;
    for (uint64_t number; (number = next++) < blocks && number < all.firstFault;) {
      block.start(state, number);
      while (block.run() == BlockStatus::Running && !block.stalled) {
      }
      if (block.stalled && block.status == BlockStatus::Running)
        block.reportDeadlock();
      raceFinish(block);
      machine::BlockAccesses accesses;
      if (state.grid)
        accesses = takeAccesses(block);
      gather(all, block);
      if (state.grid)
        addFindings(all, state.grid->add(number, std::move(accesses)));
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error &) {
      break; // fewer threads give the same results
    }
  }
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

constexpr unsigned turnsBeforeMore = 16;

/// Blocks take turns on one host thread, as many of them as fit the device: in a fixed order, or in one that the seed
/// draws (Schedule::Random).
class Turns {
public:
  Turns(const LaunchState &state, Gathered &all, uint64_t blocks) : state_(state), all_(all), blocks_(blocks) {
    uint64_t perSm = state.profile->blocksPerSm(state.threads, state.kernel->info.registersPerThread,
                                                state.sharedBytes - state.kernel->sharedBase);
    resident_ = std::max<uint64_t>(1, state.profile->smCount * perSm);
    random_.state = machine::Random::mix(state.options->seed + 1);
  }

  void run() {
    while (state_.config->cooperative && canStart())
      start();
    bool inRandomOrder = state_.options->schedule == Schedule::Random;
    while (canStart() || !active_.empty())
      if (!(inRandomOrder ? randomTurn() : round()))
        return;
  }

private:
  bool canStart() const { return next_ < blocks_ && active_.size() < resident_; }

  void start() {
    if (idle_.empty())
      idle_.push_back(std::make_unique<Block>());
    active_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    active_.back()->start(state_, next_++);
  }

  /// False when the launch ends with a fault.
  bool turn(size_t i) {
    Block &block = *active_[i];
    uint64_t before = block.effects;
    if (block.run() == BlockStatus::Running && !stuck(block.effects != before))
      return true;
    if (block.status == BlockStatus::Running)
      block.reportDeadlock();
    bool faulted = block.status == BlockStatus::Faulted;
    raceFinish(block);
    gather(all_, block);
    idle_.push_back(std::move(active_[i]));
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    return !faulted;
  }

  /// Nobody changes anything any more, and no further block can come.
  bool stuck(bool changed) {
    if (changed) // whoever polls may find something new
      for (auto &block : active_) {
        block->stalled = false;
        block->effectsSeen = ~uint64_t(0);
      }
    return !canStart() && std::all_of(active_.begin(), active_.end(), [](const auto &block) { return block->stalled; });
  }

  bool round() {
    for (size_t i = 0, count = active_.size(); i < active_.size() && count--;) {
      size_t before = active_.size();
      if (!turn(i))
        return false;
      i += active_.size() == before;
    }
    // Another block joins when those before it have ended, or have had many turns and may be waiting for it.
    if (canStart() && (active_.empty() || ++sinceStart_ >= turnsBeforeMore)) {
      sinceStart_ = 0;
      start();
    }
    return true;
  }

  bool randomTurn() {
    if (active_.empty() || (canStart() && random_.below(4) == 0)) {
      start();
      return true;
    }
    return turn(random_.below(active_.size()));
  }

  const LaunchState &state_;
  Gathered &all_;
  const uint64_t blocks_;
  uint64_t resident_ = 1, next_ = 0;
  unsigned sinceStart_ = 0;
  machine::Random random_;
  std::vector<std::unique_ptr<Block>> active_, idle_;
};

void mergeFindings(LaunchReport &report, Gathered &all, const Options &options) {
  std::map<std::pair<FindingKind, uint32_t>, size_t> known;
  for (auto &[number, result] : all.blocks) {
    if (number > all.firstFault)
      break;
    report.printed += result.second;
    for (Finding &f : result.first) {
      if (f.fatal && report.status == LaunchStatus::Success)
        report.status = statusOf(f.kind);
      auto [entry, isNew] = known.try_emplace({f.kind, f.line}, report.findings.size());
      if (!isNew && entry->second < report.findings.size()) {
        report.findings[entry->second].repeats += 1 + f.repeats;
        report.findings[entry->second].fatal |= f.fatal;
      } else if (report.findings.size() >= options.maxFindings && !f.fatal) {
        entry->second = ~size_t(0);
        ++report.suppressed;
      } else {
        entry->second = report.findings.size();
        report.findings.push_back(std::move(f));
      }
    }
  }
  for (auto &[number, count] : all.suppressed)
    if (number <= all.firstFault)
      report.suppressed += count;
}

} // namespace

LaunchReport launch(const Module &module, GlobalMemory &memory, const DeviceProfile &profile,
                    const LaunchConfig &config, const Options &options) {
  const program::Program &program = module.program();
  const program::DecodedKernel *kernel = nullptr;
  for (const program::DecodedKernel &candidate : program.kernels)
    if (candidate.info.name == config.kernel)
      kernel = &candidate;
  if (!kernel)
    return refuse(LaunchStatus::InvalidConfiguration, config.kernel, "the module has no kernel of this name");
  const KernelInfo &info = kernel->info;
  const Dim3 &grid = config.grid, &block = config.block;
  uint64_t threads = block.count();
  auto invalid = [&](std::string why) { return refuse(LaunchStatus::InvalidConfiguration, info.name, std::move(why)); };
  if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return invalid(
        fmt::format("grid ({}, {}, {}) is not within (1…2147483647, 1…65535, 1…65535)", grid.x, grid.y, grid.z));
  if (!threads || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > profile.limits.threadsPerBlock)
    return invalid(fmt::format("block ({}, {}, {}) is not within (1…1024, 1…1024, 1…64) and {} threads", block.x,
                               block.y, block.z, profile.limits.threadsPerBlock.value));
  if (config.cluster.count() != 1)
    return invalid("clusters of more than one block are not supported yet by this simulator");
  if (config.parameters.size() != info.parameterBytes)
    return invalid(
        fmt::format("the parameters take {} bytes, {} were given", info.parameterBytes, config.parameters.size()));
  const auto &required = info.requiredThreads;
  if (required[0] && (block.x != required[0] || block.y != required[1] || block.z != required[2]))
    return invalid(fmt::format("the kernel needs blocks of ({}, {}, {}) threads (.reqntid), not ({}, {}, {})",
                               required[0], required[1], required[2], block.x, block.y, block.z));
  if (info.maxThreads && threads > info.maxThreads)
    return invalid(
        fmt::format("the kernel allows {} threads per block (.maxntid), {} were asked for", info.maxThreads, threads));
  LaunchState state;
  state.program = &program;
  state.kernel = kernel;
  state.profile = &profile;
  state.memory = &memory;
  state.config = &config;
  state.options = &options;
  state.threads = static_cast<uint32_t>(threads);
  state.warps = (state.threads + 31) / 32;
  uint64_t sharedEnd = config.dynamicSharedBytes ? uint64_t(kernel->dynamicSharedBase) + config.dynamicSharedBytes
                                                 : kernel->staticSharedEnd;
  if (sharedEnd - kernel->sharedBase > profile.limits.sharedBytesPerBlock)
    return refuse(
        LaunchStatus::OutOfResources, info.name,
        fmt::format("{} bytes of shared memory (static {}, dynamic {}) exceed the {} that a block of {} may have",
                    sharedEnd - kernel->sharedBase, info.staticSharedBytes, config.dynamicSharedBytes,
                    profile.limits.sharedBytesPerBlock.value, profile.name));
  state.sharedBytes = static_cast<uint32_t>(sharedEnd);
  uint64_t registers = uint64_t(info.registersPerThread) * ((threads + 31) / 32 * 32);
  if (registers > profile.limits.registersPerBlock)
    return refuse(LaunchStatus::OutOfResources, info.name,
                  fmt::format("{} threads of about {} registers exceed the {} of {}", threads, info.registersPerThread,
                              profile.limits.registersPerBlock.value, profile.name));
  GlobalMemory::Pin pin(memory);
  machine::Touched touched(memory);
  if (options.counters)
    state.touched = &touched;
  if (!options.checks)
    memory.forgetInitialisation();
  Gathered all;
  uint64_t blocks = grid.count();
  unsigned hostThreads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  hostThreads = static_cast<unsigned>(std::min<uint64_t>(hostThreads, blocks));
  machine::GridRaces gridRaces(state);
  if (options.checks && options.races && blocks <= machine::GridRaces::mostBlocks)
    state.grid = &gridRaces;
  state.inTurns = kernel->orderSensitive || config.cooperative || options.schedule == Schedule::Random;
  if (state.inTurns) {
    Turns(state, all, blocks).run();
    for (machine::GuessedRead &guess : gridRaces.guesses)
      addFindings(all, {{guess.block, std::move(guess.finding)}});
  } else {
    runIndependent(state, all, blocks, hostThreads);
  }
  LaunchReport report;
  mergeFindings(report, all, options);
  if (options.counters) {
    report.counters = all.counters;
    machine::fillProfile(report, state, std::move(all.counts));
  }
  return report;
}

} // namespace tessera::sim
