// JSON of the simulator to structs.
#include "autotune/cli/profile/LaunchProfile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace tessera::cli::profile {
namespace {

using Json = nlohmann::ordered_json;

Clocks clocksFrom(const Json &json) {
  Clocks clocks;
  for (const auto &[unit, value] : json.items())
    clocks.emplace_back(unit, value.get<double>());
  return clocks;
}

int indexFrom(const Json &json) { return json.is_null() ? -1 : json.get<int>(); }

Instruction instructionFrom(const Json &json) {
  Instruction instruction;
  instruction.function = json.at("function");
  instruction.text = json.at("text");
  instruction.pipe = json.at("pipe");
  instruction.line = json.at("line");
  instruction.loop = indexFrom(json.at("loop"));
  instruction.executions = json.at("executions");
  instruction.lanes = json.at("lanes");
  instruction.wavefronts = json.at("wavefronts");
  instruction.idealWavefronts = json.at("ideal_wavefronts");
  instruction.sectors = json.at("sectors");
  instruction.idealSectors = json.at("ideal_sectors");
  instruction.clocks = clocksFrom(json.at("modelled_clocks"));
  return instruction;
}

Loop loopFrom(const Json &json) {
  Loop loop;
  loop.function = json.at("function");
  loop.label = json.at("label");
  loop.firstLine = json.at("first_line");
  loop.lastLine = json.at("last_line");
  loop.headerLine = json.at("header_line");
  loop.depth = json.at("depth");
  loop.parent = indexFrom(json.at("parent"));
  loop.iterations = json.at("iterations");
  loop.warpInstructions = json.at("warp_instructions");
  loop.wavefronts = json.at("wavefronts");
  loop.idealWavefronts = json.at("ideal_wavefronts");
  loop.sectors = json.at("sectors");
  loop.idealSectors = json.at("ideal_sectors");
  loop.flops = json.at("mma_flops");
  loop.exponents = 32 * json.at("ex2").get<double>();
  loop.clocks = clocksFrom(json.at("modelled_clocks"));
  if (json.at("bound_by").is_string())
    loop.bound = json.at("bound_by");
  return loop;
}

} // namespace

double clocksOf(const Clocks &clocks, std::string_view unit) {
  for (const auto &[name, value] : clocks)
    if (name == unit)
      return value;
  return 0;
}

double Instruction::ownClocks() const {
  const double own = clocksOf(clocks, pipe);
  return own > 0 ? own : clocksOf(clocks, "issue");
}

std::string Loop::name() const {
  return fmt::format("loop {}lines {}-{}", label.empty() ? "" : label + ", ", firstLine, lastLine);
}

std::string LaunchProfile::heading() const {
  return fmt::format("{} on {}, grid {}x{}x{}, block {}x{}x{}, {} registers, {} blocks on an SM", kernel, device,
                     grid[0], grid[1], grid[2], block[0], block[1], block[2], registers, blocksPerSm);
}

double clocksPerIteration(const LaunchProfile &profile, const Loop &loop, std::string_view unit) {
  const double iterations = loop.iterations * profile.busiestShare; // on that SM
  return iterations > 0 ? clocksOf(loop.clocks, unit) / iterations : 0;
}

Result<LaunchProfile> readProfile(const Json &counters) {
  try {
    LaunchProfile profile;
    profile.kernel = counters.at("kernel");
    profile.device = counters.at("device");
    profile.grid = counters.at("grid");
    profile.block = counters.at("block");
    profile.registers = counters.at("registers");
    profile.blocksPerSm = counters.at("blocks_per_sm");
    profile.microseconds = counters.at("modelled_microseconds");
    profile.clockMHz = counters.at("clock_mhz");
    profile.busiestShare = counters.at("busiest_share");
    profile.warpInstructions = counters.at("warp_instructions");
    profile.clocks = clocksFrom(counters.at("modelled_clocks"));
    profile.instructionsByPipe = clocksFrom(counters.at("by_pipe"));
    if (counters.at("bound_by").is_string())
      profile.bound = counters.at("bound_by");
    for (const Json &loop : counters.at("loops"))
      profile.loops.push_back(loopFrom(loop));
    for (const Json &instruction : counters.at("instructions"))
      profile.instructions.push_back(instructionFrom(instruction));
    const int loops = int(profile.loops.size());
    for (int i = 0; i < loops; ++i)
      if (profile.loops[size_t(i)].parent >= i)
        return Status(Code::File, "the simulator's loops are not in order");
    for (const Instruction &instruction : profile.instructions)
      if (instruction.loop >= loops)
        return Status(Code::File, fmt::format("the simulator names loop {} of {}", instruction.loop, loops));
    return profile;
  } catch (const Json::exception &error) {
    return Status(Code::File, fmt::format("the simulator's counters are not those of this version: {}", error.what()),
                  "unset TESSERA_SIM_LIBRARY, or point it at this version's libtessera-sim.so");
  }
}

std::vector<Child> childrenOf(const LaunchProfile &profile, int loop) {
  std::vector<Child> children;
  for (const Instruction &instruction : profile.instructions)
    if (instruction.loop == loop)
      children.push_back({&instruction, -1});
  for (size_t i = 0; i < profile.loops.size(); ++i)
    if (profile.loops[i].parent == loop)
      children.push_back({nullptr, int(i)});
  const auto key = [&](const Child &child) { // instructions lie in memory as in the text
    return std::tuple(child.instruction ? child.instruction->line : profile.loops[size_t(child.loop)].firstLine,
                      child.loop, child.instruction);
  };
  std::sort(children.begin(), children.end(), [&](const Child &a, const Child &b) { return key(a) < key(b); });
  return children;
}

} // namespace tessera::cli::profile
