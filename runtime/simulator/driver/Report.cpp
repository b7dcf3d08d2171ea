// Writes findings for people and, as JSON, for programs.
#include "runtime/simulator/driver/Report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::sim::driver {

namespace {

using Json = nlohmann::ordered_json;

Json extents(const Dim3 &extent) { return Json::array({extent.x, extent.y, extent.z}); }

Json identityJson(const FinishedLaunch &launch) {
  const LaunchConfig &config = launch.config;
  return {{"device", launch.device},
          {"launch", config.id},
          {"kernel", config.kernel},
          {"grid", extents(config.grid)},
          {"block", extents(config.block)},
          {"cluster", extents(config.cluster)},
          {"dynamic_shared_bytes", config.dynamicSharedBytes},
          {"registers", launch.registers},
          {"blocks_per_sm", launch.blocksPerSm},
          {"modelled_microseconds", launch.nanoseconds * 1e-3}};
}

Json findingJson(const Finding &finding) {
  Json json = {{"kind", toString(finding.kind)}, {"fatal", finding.fatal}, {"kernel", finding.kernel}};
  if (finding.line) {
    json["line"] = finding.line;
    json["instruction"] = finding.instruction;
  }
  json["block"] = extents(finding.block);
  json["thread"] = extents(finding.thread);
  if (!finding.space.empty()) {
    json["space"] = finding.space;
    json["address"] = finding.address;
    json["bytes"] = finding.bytes;
  }
  if (!finding.object.empty())
    json["object"] = finding.object;
  if (!finding.other.empty()) {
    json["other"] = finding.other;
    if (finding.otherLine) {
      json["other_line"] = finding.otherLine;
      json["other_instruction"] = finding.otherInstruction;
      json["other_block"] = extents(finding.otherBlock);
      json["other_warp"] = finding.otherWarp;
    }
  }
  json["repeats"] = finding.repeats;
  json["text"] = finding.text;
  return json;
}

Json trafficJson(const GlobalTraffic &traffic) {
  return {{"requests", traffic.requests},
          {"bytes", traffic.bytes},
          {"sectors", traffic.sectors},
          {"ideal_sectors", traffic.ideal}};
}

Json trafficJson(const SharedTraffic &traffic) {
  return {{"requests", traffic.requests},
          {"bytes", traffic.bytes},
          {"wavefronts", traffic.wavefronts},
          {"ideal_wavefronts", traffic.ideal}};
}

Json pipesJson(const std::array<uint64_t, pipeCount> &byPipe) {
  Json json = Json::object();
  for (unsigned i = 0; i < pipeCount; ++i)
    json[std::string(toString(Pipe(i)))] = byPipe[i];
  return json;
}

/// Units without work are left out.
Json clocksJson(const UnitClocks &clocks) {
  Json json = Json::object();
  for (unsigned i = 0; i < unitCount; ++i)
    if (clocks.busy[i] > 0)
      json[std::string(unitName(i))] = clocks.busy[i];
  return json;
}

Json boundJson(const UnitClocks &clocks) {
  return clocks.most() > 0 ? Json(unitName(clocks.binding())) : Json(nullptr);
}

Json loopJson(const LoopProfile &loop) {
  return {{"function", loop.function},
          {"label", loop.label},
          {"first_line", loop.firstLine},
          {"last_line", loop.lastLine},
          {"header_line", loop.headerLine},
          {"depth", loop.depth},
          {"parent", loop.parent < 0 ? Json(nullptr) : Json(loop.parent)},
          {"iterations", loop.iterations},
          {"warp_instructions", loop.warpInstructions},
          {"by_pipe", pipesJson(loop.byPipe)},
          {"mma_flops", loop.mmaFlops},
          {"ex2", loop.ex2},
          {"bytes", loop.bytes},
          {"sectors", loop.sectors},
          {"ideal_sectors", loop.idealSectors},
          {"wavefronts", loop.wavefronts},
          {"ideal_wavefronts", loop.idealWavefronts},
          {"modelled_clocks", clocksJson(loop.clocks)},
          {"bound_by", boundJson(loop.clocks)}};
}

Json instructionJson(const InstructionProfile &profile) {
  return {{"function", profile.function},
          {"line", profile.line},
          {"text", profile.text},
          {"pipe", toString(profile.pipe)},
          {"loop", profile.loop < 0 ? Json(nullptr) : Json(profile.loop)},
          {"executions", profile.executions},
          {"lanes", profile.lanes},
          {"wavefronts", profile.wavefronts},
          {"ideal_wavefronts", profile.idealWavefronts},
          {"sectors", profile.sectors},
          {"ideal_sectors", profile.idealSectors},
          {"bytes", profile.bytes},
          {"modelled_clocks", clocksJson(profile.clocks)}};
}

/// Malformed UTF-8 can come from the PTX text; it must not turn a report into an exception.
std::string dump(const Json &json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

} // namespace

std::string readable(const FinishedLaunch &launch) {
  const LaunchReport &report = launch.report;
  const LaunchConfig &config = launch.config;
  std::string text =
      fmt::format("tessera-sim: {} finding{} in kernel {} on {} (launch {}, grid {}x{}x{}, block {}x{}x{}): {}\n",
                  report.findings.size(), report.findings.size() == 1 ? "" : "s", config.kernel, launch.device,
                  config.id, config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y,
                  config.block.z, toString(report.status));
  for (const Finding &finding : report.findings) {
    text += "  " + finding.text + "\n";
    if (finding.repeats)
      text += fmt::format("    and {} more like it\n", finding.repeats);
  }
  if (report.suppressed)
    text += fmt::format("  {} further findings are not shown\n", report.suppressed);
  return text;
}

std::string reportJson(const FinishedLaunch &launch) {
  const LaunchReport &report = launch.report;
  Json json = identityJson(launch);
  json["status"] = toString(report.status);
  Json findings = Json::array();
  for (const Finding &finding : report.findings)
    findings.push_back(findingJson(finding));
  json["findings"] = std::move(findings);
  json["suppressed"] = report.suppressed;
  return dump(json);
}

std::string countersJson(const FinishedLaunch &launch) {
  if (!launch.counted)
    return "{}";
  const LaunchReport &report = launch.report;
  const Counters &counters = report.counters;
  Json json = identityJson(launch);
  json["warp_instructions"] = counters.warpInstructions;
  json["by_pipe"] = pipesJson(counters.byPipe);
  json["mma_instructions"] = counters.mmaInstructions;
  json["mma_flops"] = counters.mmaFlops;
  json["ex2"] = counters.ex2;
  json["global_loads"] = trafficJson(counters.globalLoads);
  json["global_stores"] = trafficJson(counters.globalStores);
  json["global_atomics"] = trafficJson(counters.globalAtomics);
  json["async_copies"] = trafficJson(counters.asyncCopies);
  json["shared_loads"] = trafficJson(counters.sharedLoads);
  json["shared_stores"] = trafficJson(counters.sharedStores);
  json["shared_atomics"] = trafficJson(counters.sharedAtomics);
  json["ldmatrix"] = trafficJson(counters.ldmatrix);
  json["async_writes"] = trafficJson(counters.asyncWrites);
  json["local_bytes"] = counters.localBytes;
  json["barrier_waits"] = counters.barrierWaits;
  json["divergent_branches"] = counters.divergentBranches;
  json["footprint"] = {{"read_bytes", report.footprint.readBytes},
                       {"written_bytes", report.footprint.writtenBytes},
                       {"read_sectors", report.footprint.readSectors},
                       {"written_sectors", report.footprint.writtenSectors}};
  if (auto profile = DeviceProfile::find(launch.device))
    json["clock_mhz"] = double((*profile)->rates.clockMHz);
  json["modelled_clocks"] = clocksJson(report.clocks);
  json["bound_by"] = boundJson(report.clocks);
  json["busiest_share"] = report.busiestShare;
  Json loops = Json::array();
  for (const LoopProfile &loop : report.loops)
    loops.push_back(loopJson(loop));
  json["loops"] = std::move(loops);
  Json instructions = Json::array();
  for (const InstructionProfile &profile : report.instructions)
    instructions.push_back(instructionJson(profile));
  json["instructions"] = std::move(instructions);
  return dump(json);
}

} // namespace tessera::sim::driver
