// From counts by instruction to the sums over loops, pipes and the launch.
#include "runtime/simulator/machine/Profile.h"

#include "runtime/simulator/machine/Touched.h"
#include "runtime/simulator/program/Cost.h"
#include "runtime/simulator/program/Loops.h"

#include <algorithm>

namespace tessera::sim::machine {

namespace {

using program::DecodedFunction;
using program::Opcode;

constexpr double sectorBytes = 32, wavefrontBytes = 128;

/// Which functions the kernel may call, itself included; functions are in the order of the text.
std::vector<bool> reachable(const LaunchState &state) {
  std::vector<bool> reached(state.program->functions.size(), false);
  std::vector<uint32_t> queue{state.kernel->function};
  reached[state.kernel->function] = true;
  while (!queue.empty()) {
    const DecodedFunction &function = state.program->functions[queue.back()];
    queue.pop_back();
    for (uint32_t callee : function.callees)
      if (!reached[callee]) {
        reached[callee] = true;
        queue.push_back(callee);
      }
  }
  return reached;
}

/// Work is even over blocks, whole blocks go to SMs, and the SM with most of them finishes last: its part of all work.
double busiestShare(const LaunchState &state) {
  uint64_t blocks = state.config->grid.count(), sms = state.profile->smCount;
  uint64_t mostOfOneSm = (blocks + sms - 1) / sms;
  return double(mostOfOneSm) / double(blocks);
}

/// For how long the executions of one instruction keep each unit of the busiest SM busy.
UnitClocks clocksOf(const program::Cost &cost, const InstructionCount &count, const DeviceRates &rates, double share) {
  UnitClocks clocks;
  auto executions = double(count.executions);
  auto shared = static_cast<unsigned>(Pipe::Shared);
  clocks.busy[static_cast<unsigned>(cost.pipe)] = executions * cost.clocks * share;
  double wavefronts = double(count.wavefronts) * wavefrontBytes / rates.sharedBytes * share;
  clocks.busy[shared] = std::max(clocks.busy[shared], wavefronts); // one pass at least for every instruction
  clocks.busy[issueUnit] = executions * cost.slots / rates.schedulers * share;
  clocks.busy[l2Unit] = double(count.sectors) * sectorBytes / rates.l2BytesPerClock * share;
  return clocks;
}

void add(LoopProfile &loop, const InstructionProfile &instruction) {
  loop.warpInstructions += instruction.executions;
  loop.byPipe[static_cast<unsigned>(instruction.pipe)] += instruction.executions;
  loop.mmaFlops += instruction.mmaFlops;
  loop.ex2 += instruction.ex2;
  loop.wavefronts += instruction.wavefronts;
  loop.idealWavefronts += instruction.idealWavefronts;
  loop.sectors += instruction.sectors;
  loop.idealSectors += instruction.idealSectors;
  loop.bytes += instruction.bytes;
  loop.clocks += instruction.clocks;
}

class Filler {
public:
  Filler(LaunchReport &report, const LaunchState &state, const std::vector<InstructionCount> &counts)
      : report_(report), state_(state), counts_(counts) {}

  void addFunction(const DecodedFunction &function) {
    const program::LoopNest nest = findLoops(function, state_.program->instructions);
    size_t firstLoop = report_.loops.size();
    for (const program::Loop &loop : nest.loops)
      report_.loops.push_back(describe(function, loop, firstLoop));
    for (uint32_t i = 0; i < function.ops.size(); ++i) {
      const program::Op &op = function.ops[i];
      if (op.flags & program::Synthetic)
        continue;
      InstructionProfile instruction = describe(op);
      instruction.function = function.name;
      if (nest.innermostOf[i] >= 0)
        instruction.loop = static_cast<int>(firstLoop) + nest.innermostOf[i];
      for (int loop = instruction.loop; loop >= 0; loop = report_.loops[size_t(loop)].parent)
        add(report_.loops[size_t(loop)], instruction);
      addToCounters(instruction);
      report_.instructions.push_back(std::move(instruction));
    }
  }

private:
  LoopProfile describe(const DecodedFunction &function, const program::Loop &loop, size_t firstLoop) const {
    LoopProfile profile;
    profile.function = function.name;
    profile.label = loop.label;
    profile.depth = loop.depth;
    profile.parent = loop.parent < 0 ? -1 : static_cast<int>(firstLoop) + loop.parent;
    auto lineOf = [&](uint32_t op) { return state_.program->instructions[function.ops[op].instruction].line; };
    profile.firstLine = lineOf(loop.first);
    profile.lastLine = lineOf(loop.end - 1);
    // The first instruction at or behind the header: a label alone is none.
    for (uint32_t i = loop.header; i < function.ops.size(); ++i)
      if (!(function.ops[i].flags & program::Synthetic)) {
        profile.headerLine = lineOf(i);
        profile.iterations = counts_[function.ops[i].instruction].executions;
        break;
      }
    return profile;
  }

  InstructionProfile describe(const program::Op &op) const {
    const InstructionCount &count = counts_[op.instruction];
    const program::SourceInstruction &source = state_.program->instructions[op.instruction];
    program::Cost cost = costOf(op, state_.profile->rates);
    InstructionProfile profile;
    profile.line = source.line;
    profile.text = source.text;
    profile.pipe = cost.pipe;
    profile.executions = count.executions;
    profile.lanes = count.lanes;
    profile.wavefronts = count.wavefronts;
    profile.idealWavefronts = count.ideal;
    profile.sectors = count.sectors;
    profile.idealSectors = count.idealSectors;
    profile.bytes = count.bytes;
    profile.clocks = clocksOf(cost, count, state_.profile->rates, report_.busiestShare);
    if (cost.pipe == Pipe::Tensor)
      profile.mmaFlops = count.executions * static_cast<uint64_t>(op.imm);
    if (op.code == Opcode::FEx2)
      profile.ex2 = count.executions * (op.type == ptx::Type::F16x2 || op.type == ptx::Type::BF16x2 ? 2 : 1);
    return profile;
  }

  void addToCounters(const InstructionProfile &instruction) {
    Counters &counters = report_.counters;
    counters.warpInstructions += instruction.executions;
    counters.byPipe[static_cast<unsigned>(instruction.pipe)] += instruction.executions;
    counters.mmaInstructions += instruction.pipe == Pipe::Tensor ? instruction.executions : 0;
    counters.mmaFlops += instruction.mmaFlops;
    counters.ex2 += instruction.ex2;
    report_.clocks += instruction.clocks;
  }

  LaunchReport &report_;
  const LaunchState &state_;
  const std::vector<InstructionCount> &counts_;
};

} // namespace

void fillProfile(LaunchReport &report, const LaunchState &state, std::vector<InstructionCount> counts) {
  counts.resize(state.program->instructions.size()); // shorter when no block ran
  report.busiestShare = busiestShare(state);
  Filler filler(report, state, counts);
  std::vector<bool> reached = reachable(state);
  for (size_t f = 0; f < reached.size(); ++f)
    if (reached[f])
      filler.addFunction(state.program->functions[f]);
  if (!state.touched)
    return;
  report.footprint = state.touched->sum();
  const DeviceRates &rates = state.profile->rates;
  double bytesPerClock = rates.memoryGBps * 1e3 / rates.clockMHz; // of the whole device
  report.clocks.busy[memoryUnit] =
      double(report.footprint.readSectors + report.footprint.writtenSectors) * sectorBytes / bytesPerClock;
}

} // namespace tessera::sim::machine
