// tessera_sim_*: devices, options, reports and counters for those who know that this is a simulator.
#include "runtime/simulator/driver/SimulatorApi.h"

#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

using namespace tessera::sim;
using namespace tessera::sim::driver;

#define TESSERA_SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Json = nlohmann::ordered_json;
using tessera::Code;
using tessera::Status;

std::string &lastError() {
  thread_local std::string text;
  return text;
}
/// Storage of the texts that are handed out.
const char *handOut(std::string text) {
  thread_local std::string storage;
  storage = std::move(text);
  return storage.c_str();
}

const char *handOutLast(std::string (*toJson)(const FinishedLaunch &)) noexcept {
  try {
    std::shared_ptr<const FinishedLaunch> last;
    {
      std::lock_guard lock(state().reportMutex);
      last = state().last;
    }
    return handOut(last ? toJson(*last) : "{}");
  } catch (const std::exception &error) { // out of memory
    return "{}";
  }
}

int failed(CUresult code, std::string text) {
  lastError() = std::move(text);
  return code;
}

constexpr std::pair<const char *, Schedule> schedules[] = {
    {"late", Schedule::Late}, {"eager", Schedule::Eager}, {"random", Schedule::Random}};
constexpr std::pair<const char *, MmaMode> MmaModes[] = {
    {"hardware", MmaMode::Hardware}, {"exact", MmaMode::Exact}, {"stress", MmaMode::Stress}};

Status wrong(const std::string &key, const Json &value, std::string_view expected) {
  return Status(Code::InvalidArgument, fmt::format("option \"{}\" is {}, expected {}", key, value.dump(), expected));
}

Status readBool(const std::string &key, const Json &value, bool *target) {
  if (!value.is_boolean())
    return wrong(key, value, "true or false");
  *target = value.get<bool>();
  return {};
}

template <typename T> Status readUnsigned(const std::string &key, const Json &value, T *target) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max())
    return wrong(key, value, fmt::format("an integer from 0 to {}", std::numeric_limits<T>::max()));
  *target = T(value.get<uint64_t>());
  return {};
}

Status readClock(const std::string &key, const Json &value, double *target) {
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1e6)
    return wrong(key, value, "megahertz from 0 to 1000000");
  *target = value.get<double>();
  return {};
}

template <typename Mode, size_t Count>
Status readMode(const std::string &key, const Json &value, const std::pair<const char *, Mode> (&modes)[Count],
                Mode *target) {
  std::string names;
  for (const auto &[name, mode] : modes) {
    if (value == name) {
      *target = mode;
      return {};
    }
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
  }
  return wrong(key, value, names);
}

template <typename Mode, size_t Count>
const char *nameOf(const std::pair<const char *, Mode> (&modes)[Count], Mode mode) {
  for (const auto &[name, candidate] : modes)
    if (candidate == mode)
      return name;
  return "";
}

Status readOption(const std::string &key, const Json &value, Settings *settings, std::string *devices) {
  Options &core = settings->core;
  if (key == "devices") {
    if (!value.is_array())
      return wrong(key, value, "a list of profile names");
    for (const Json &name : value) {
      if (!name.is_string() || !DeviceProfile::find(name.get<std::string>()))
        return wrong(key, name, "the name of a profile");
      *devices += (devices->empty() ? "" : ",") + name.get<std::string>();
    }
    return {};
  }
  if (key == "checks")
    return readBool(key, value, &core.checks);
  if (key == "races")
    return readBool(key, value, &core.races);
  if (key == "counters")
    return readBool(key, value, &core.counters);
  if (key == "schedule")
    return readMode(key, value, schedules, &core.schedule);
  if (key == "mma")
    return readMode(key, value, MmaModes, &core.mma);
  if (key == "seed")
    return readUnsigned(key, value, &core.seed);
  if (key == "threads")
    return readUnsigned(key, value, &core.threads);
  if (key == "max_findings")
    return readUnsigned(key, value, &core.maxFindings);
  if (key == "instruction_limit")
    return readUnsigned(key, value, &core.instructionLimit);
  if (key == "clock_mhz")
    return readClock(key, value, &settings->clockMHz);
  if (key == "print")
    return readBool(key, value, &settings->print);
  if (key == "sticky")
    return readBool(key, value, &settings->sticky);
  if (key == "fail_on_findings")
    return readBool(key, value, &settings->failOnFindings);
  return Status(Code::InvalidArgument, fmt::format("there is no option \"{}\"", key), "SimulatorApi.h lists them");
}

std::string optionsText() {
  Settings settings = state().currentSettings();
  const Options &core = settings.core;
  Json devices = Json::array();
  {
    std::shared_lock lock(state().devicesMutex);
    for (const auto &device : state().devices)
      devices.push_back(device->profile.name);
  }
  Json json = {{"devices", devices},
               {"checks", core.checks},
               {"races", core.races},
               {"counters", core.counters},
               {"schedule", nameOf(schedules, core.schedule)},
               {"mma", nameOf(MmaModes, core.mma)},
               {"seed", core.seed},
               {"threads", core.threads},
               {"max_findings", core.maxFindings},
               {"instruction_limit", core.instructionLimit},
               {"clock_mhz", settings.clockMHz},
               {"print", settings.print},
               {"sticky", settings.sticky},
               {"fail_on_findings", settings.failOnFindings}};
  return json.dump();
}

/// Private entry points keep exceptions inside too, and say what happened.
template <typename Body> int guardedPrivate(Body body) noexcept {
  try {
    return body();
  } catch (const std::exception &error) {
    return failed(CUDA_ERROR_UNKNOWN, error.what());
  }
}

} // namespace

TESSERA_SIM_EXPORT int tessera_sim_find_device(const char *profile, int *ordinal) {
  return guardedPrivate([&]() -> int {
    if (!profile || !ordinal)
      return failed(CUDA_ERROR_INVALID_VALUE, "profile and ordinal must not be null");
    tessera::Result<Device *> device = deviceOfProfile(profile);
    if (!device)
      return failed(CUDA_ERROR_INVALID_DEVICE, device.status().message() + "; " + device.status().hint());
    *ordinal = (*device)->ordinal;
    return CUDA_SUCCESS;
  });
}

TESSERA_SIM_EXPORT int tessera_sim_configure(const char *json) {
  return guardedPrivate([&]() -> int {
    if (!json)
      return failed(CUDA_ERROR_INVALID_VALUE, "the options must not be null");
    Json options = Json::parse(json, nullptr, false);
    if (!options.is_object())
      return failed(CUDA_ERROR_INVALID_VALUE, fmt::format("the options must be a JSON object, got: {}", json));
    std::string devices;
    std::lock_guard lock(state().settingsMutex);
    Settings settings = state().settings;
    for (const auto &[key, value] : options.items())
      if (Status status = readOption(key, value, &settings, &devices); !status)
        return failed(CUDA_ERROR_INVALID_VALUE, status.text());
    if (Status status = addDevices(devices); !status)
      return failed(CUDA_ERROR_INVALID_DEVICE, status.text());
    state().settings = settings;
    return CUDA_SUCCESS;
  });
}

TESSERA_SIM_EXPORT const char *tessera_sim_options(void) {
  try {
    return handOut(optionsText());
  } catch (const std::exception &error) { // out of memory
    return "{}";
  }
}
TESSERA_SIM_EXPORT const char *tessera_sim_profiles(void) {
  try {
    Json names = Json::array();
    for (const DeviceProfile &profile : DeviceProfile::all())
      names.push_back(profile.name);
    return handOut(names.dump());
  } catch (const std::exception &error) { // out of memory
    return "[]";
  }
}

TESSERA_SIM_EXPORT const char *tessera_sim_report(void) { return handOutLast(&reportJson); }
TESSERA_SIM_EXPORT const char *tessera_sim_counters(void) { return handOutLast(&countersJson); }

TESSERA_SIM_EXPORT const char *tessera_sim_last_error(void) { return lastError().c_str(); }

TESSERA_SIM_EXPORT int tessera_sim_reset(void) {
  {
    std::lock_guard lock(state().settingsMutex);
    state().settings = Settings();
  }
  {
    std::lock_guard lock(state().reportMutex);
    state().last = nullptr;
  }
  state().launches = 0;
  state().contexts.forEach([](const std::shared_ptr<Context> &context) { context->clearErrors(); });
  return CUDA_SUCCESS;
}
