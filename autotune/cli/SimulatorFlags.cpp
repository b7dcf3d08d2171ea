// Flags to options of SimulatorApi.h.
#include "autotune/cli/SimulatorFlags.h"

#include "autotune/cli/ProblemFlags.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

Result<std::string> oneOf(const std::string &text, std::initializer_list<std::string_view> known,
                          std::string_view what) {
  for (std::string_view name : known)
    if (text == name)
      return text;
  std::string names;
  for (std::string_view name : known)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return Status(Code::InvalidArgument, fmt::format("'{}' is not {}; give one of {}", text, what, names));
}

Result<std::string> parseSchedule(const std::string &text) {
  return oneOf(text, {"late", "eager", "random"}, "an order of warps and asynchronous operations");
}

Result<std::string> parseMma(const std::string &text) {
  return oneOf(text, {"exact", "hardware", "stress"}, "an arithmetic of matrix instructions");
}

} // namespace

void SimulatorFlags::addTo(CLI::App &app) {
  const std::string group = "Simulator (with --device sim:NAME)";
  addValue(app, "--checks", checks, parseOnOff,
           "look for uninitialised and asynchronous memory and for races (default on)", "on|off")
      ->group(group);
  addValue(app, "--sim-races", races, parseOnOff, "with checks: look for races (default on)", "on|off")->group(group);
  addValue(app, "--sim-schedule", schedule, parseSchedule,
           "late: asynchronous operations at the last moment allowed (default); eager: at once; random: everything as "
           "the seed draws it",
           "late|eager|random")
      ->group(group);
  addValue(app, "--sim-mma", mma, parseMma,
           "matrix instructions: summed wide and rounded once (default), as the hardware truncates, or in random order",
           "exact|hardware|stress")
      ->group(group);
  addValue(app, "--sim-seed", seed, parseSeed, "of --sim-schedule random and --sim-mma stress (default 0)", "N")
      ->group(group);
  addValue(app, "--sim-threads", threads, parseSize, "host threads; 0: one for each processor (default 0)", "N")
      ->group(group);
  addValue(app, "--sim-max-findings", maxFindings, parseSize, "findings that are told (default 16)", "N")->group(group);
  addValue(app, "--sim-instruction-limit", instructionLimit, parseSize,
           "instructions of a warp until the launch counts as hung; 0: none (default 0)", "N")
      ->group(group);
  addValue(app, "--sim-clock-mhz", clockMHz, parseNumber,
           "of %globaltimer against %clock; 0: the boost clock of the device (default 0)", "MHZ")
      ->group(group);
}

std::string SimulatorFlags::given() const {
  const std::pair<bool, const char *> flags[] = {{checks.has_value(), "--checks"},
                                                 {races.has_value(), "--sim-races"},
                                                 {schedule.has_value(), "--sim-schedule"},
                                                 {mma.has_value(), "--sim-mma"},
                                                 {seed.has_value(), "--sim-seed"},
                                                 {threads.has_value(), "--sim-threads"},
                                                 {maxFindings.has_value(), "--sim-max-findings"},
                                                 {instructionLimit.has_value(), "--sim-instruction-limit"},
                                                 {clockMHz.has_value(), "--sim-clock-mhz"}};
  for (const auto &[present, name] : flags)
    if (present)
      return name;
  return {};
}

Status SimulatorFlags::check() const {
  if (clockMHz && *clockMHz < 0)
    return Status(Code::InvalidArgument, fmt::format("--sim-clock-mhz is {}", *clockMHz),
                  "give megahertz, or 0 for the boost clock of the device");
  if (seed && schedule != "random" && mma != "stress")
    return Status(Code::InvalidArgument, fmt::format("nothing draws from --sim-seed {}", *seed),
                  "add --sim-schedule random or --sim-mma stress, or leave the seed out");
  return {};
}

nlohmann::json SimulatorFlags::options() const {
  nlohmann::json options = nlohmann::json::object();
  const auto set = [&](const char *name, const auto &value) {
    if (value)
      options[name] = *value;
  };
  set("checks", checks);
  set("races", races);
  set("schedule", schedule);
  set("mma", mma);
  set("seed", seed);
  set("clock_mhz", clockMHz);
  const auto setSize = [&](const char *name, const std::optional<int64_t> &value) {
    if (value)
      options[name] = uint64_t(*value);
  };
  setSize("threads", threads);
  setSize("max_findings", maxFindings);
  setSize("instruction_limit", instructionLimit);
  return options;
}

} // namespace tessera::cli
