// JSON in and out of the simulator's private entry points.
#include "autotune/measure/SimulatorControl.h"

#include "runtime/simulator/driver/SimulatorApi.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::tune {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const char *text) {
  Json value = Json::parse(text ? text : "", nullptr, /*allow_exceptions=*/false);
  return value.is_object() ? value : Json::object();
}

} // namespace

Result<std::optional<SimulatorControl>> SimulatorControl::of(const Device &device) {
  if (!device.simulated())
    return std::optional<SimulatorControl>();
  const Driver &driver = device.context()->driver();
  SimulatorControl control;
  control.configure_ = reinterpret_cast<decltype(&tessera_sim_configure)>(driver.find("tessera_sim_configure"));
  control.options_ = reinterpret_cast<decltype(&tessera_sim_options)>(driver.find("tessera_sim_options"));
  control.profiles_ = reinterpret_cast<decltype(&tessera_sim_profiles)>(driver.find("tessera_sim_profiles"));
  control.report_ = reinterpret_cast<decltype(&tessera_sim_report)>(driver.find("tessera_sim_report"));
  control.counters_ = reinterpret_cast<decltype(&tessera_sim_counters)>(driver.find("tessera_sim_counters"));
  control.lastError_ = reinterpret_cast<decltype(&tessera_sim_last_error)>(driver.find("tessera_sim_last_error"));
  if (!control.configure_ || !control.options_ || !control.profiles_ || !control.report_ || !control.counters_ ||
      !control.lastError_)
    return Status(Code::Unsupported, fmt::format("{} is no Tessera simulator of this version", driver.library()),
                  "unset TESSERA_SIM_LIBRARY, or point it at this version's libtessera-sim.so");
  return std::optional<SimulatorControl>(control);
}

Status SimulatorControl::configure(const nlohmann::json &options) const {
  const std::string text = options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (configure_(text.c_str()) == 0)
    return {};
  return Status(Code::InvalidArgument, fmt::format("the simulator refuses the options {}: {}", text, lastError_()));
}

std::vector<std::string> SimulatorControl::profiles() const {
  const Json names = Json::parse(profiles_(), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> texts;
  for (const Json &name : names)
    if (name.is_string())
      texts.push_back(name);
  return texts;
}

std::vector<std::string> SimulatorControl::findings() const {
  std::vector<std::string> texts;
  const Json report = this->report();
  if (const auto found = report.find("findings"); found != report.end() && found->is_array())
    for (const Json &finding : *found)
      texts.push_back(finding.value("text", finding.dump(-1, ' ', false, Json::error_handler_t::replace)));
  return texts;
}

Json SimulatorControl::options() const { return parsed(options_()); }
Json SimulatorControl::report() const { return parsed(report_()); }
Json SimulatorControl::counters() const { return parsed(counters_()); }

ScopedSimulatorOptions::ScopedSimulatorOptions(const SimulatorControl &control, const nlohmann::json &options)
    : control_(control) {
  Json former = control.options();
  former.erase("devices"); // are only ever added
  former_ = former.dump();
  status_ = control.configure(options);
}

ScopedSimulatorOptions::~ScopedSimulatorOptions() {
  (void)control_.configure(nlohmann::json::parse(former_, nullptr, /*allow_exceptions=*/false)); // as it gave them out
}

} // namespace tessera::tune
