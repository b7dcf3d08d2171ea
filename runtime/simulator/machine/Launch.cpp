// launch(): checks the configuration, spreads blocks over host threads, and gathers what they found and counted.
#include "runtime/simulator/Machine.h"

#include "runtime/simulator/machine/Block.h"

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
  for (size_t i = 0; i < block.counts.size(); ++i) {
    InstructionCount &sum = all.counts[i];
    const InstructionCount &part = block.counts[i];
    sum.executions += part.executions;
    sum.lanes += part.lanes;
    sum.wavefronts += part.wavefronts;
    sum.ideal += part.ideal;
    sum.sectors += part.sectors;
    sum.bytes += part.bytes;
  }
}

/// Blocks do not wait for each other: each host thread takes the next one and runs it to its end.
void runIndependent(const LaunchState &state, Gathered &all, uint64_t blocks, unsigned threads) {
  std::atomic<uint64_t> next{0};
  auto work = [&] {
    Block block;
    for (uint64_t number; (number = next++) < blocks && number < all.firstFault;) {
      block.start(state, number);
      while (block.run(0) == BlockStatus::Running) {
      }
      gather(all, block);
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

/// Blocks may wait for each other: as many as fit the device take turns, in a fixed order, on one host thread.
void runInOrder(const LaunchState &state, Gathered &all, uint64_t blocks) {
  uint64_t resident =
      std::max<uint64_t>(1, uint64_t(state.profile->smCount) *
                                state.profile->blocksPerSm(state.threads, state.kernel->info.registersPerThread,
                                                           state.sharedBytes - state.kernel->sharedBase));
  std::vector<std::unique_ptr<Block>> active, idle;
  uint64_t next = 0;
  unsigned turns = 0; // since the last block started
  while (next < blocks || !active.empty()) {
    for (size_t i = 0; i < active.size();) {
      if (active[i]->run(0) == BlockStatus::Running) {
        ++i;
        continue;
      }
      bool faulted = active[i]->status == BlockStatus::Faulted;
      gather(all, *active[i]);
      if (faulted)
        return;
      idle.push_back(std::move(active[i]));
      active.erase(active.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // Another block joins when those before it have ended, or have had many turns and may be waiting for it.
    if (next < blocks && active.size() < resident && (active.empty() || ++turns >= turnsBeforeMore)) {
      turns = 0;
      if (idle.empty())
        idle.push_back(std::make_unique<Block>());
      active.push_back(std::move(idle.back()));
      idle.pop_back();
      active.back()->start(state, next++);
    }
  }
}

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

void fillProfile(LaunchReport &report, Gathered &all, const LaunchState &state) {
  report.counters = all.counters;
  std::vector<bool> reached(state.program->functions.size(), false);
  std::vector<uint32_t> queue{state.kernel->function};
  reached[state.kernel->function] = true;
  while (!queue.empty()) {
    const program::DecodedFunction &function = state.program->functions[queue.back()];
    queue.pop_back();
    for (uint32_t callee : function.callees)
      if (!reached[callee]) {
        reached[callee] = true;
        queue.push_back(callee);
      }
  }
  all.counts.resize(state.program->instructions.size());
  for (size_t f = 0; f < reached.size(); ++f) { // functions and their ops are in the order of the text
    if (!reached[f])
      continue;
    const program::DecodedFunction &function = state.program->functions[f];
    for (const program::Op &op : function.ops) {
      if (op.flags & program::Synthetic)
        continue;
      const InstructionCount &c = all.counts[op.instruction];
      const program::SourceInstruction &source = state.program->instructions[op.instruction];
      report.instructions.push_back(
          {source.line, source.text, op.pipe, c.executions, c.lanes, c.wavefronts, c.ideal, c.sectors, c.bytes});
      report.counters.warpInstructions += c.executions;
      report.counters.byPipe[static_cast<unsigned>(op.pipe)] += c.executions;
      if (op.code == program::Opcode::Mma) {
        report.counters.mmaInstructions += c.executions;
        report.counters.mmaFlops += c.executions * static_cast<uint64_t>(op.imm);
      }
      if (op.code == program::Opcode::FEx2)
        report.counters.ex2 += c.executions;
    }
  }
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
  if (!options.checks)
    memory.forgetInitialisation();
  Gathered all;
  uint64_t blocks = grid.count();
  unsigned hostThreads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  hostThreads = static_cast<unsigned>(std::min<uint64_t>(hostThreads, blocks));
  if (kernel->orderSensitive)
    runInOrder(state, all, blocks);
  else
    runIndependent(state, all, blocks, hostThreads);
  LaunchReport report;
  mergeFindings(report, all, options);
  if (options.counters)
    fillProfile(report, all, state);
  return report;
}

} // namespace tessera::sim
