// Finds the driver library that a device name asks for.
#include "runtime/driver/Driver.h"
#include "runtime/driver/DriverSymbols.h"
#include "runtime/simulator/driver/SimulatorApi.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace tessera {

namespace {

constexpr const char *RealLibrary = "libcuda.so.1";
constexpr const char *SimulatorLibrary = "libtessera-sim.so";

/// Where the simulator may be, in the order of openDriver's comment.
std::vector<std::filesystem::path> simulatorPlaces() {
  std::vector<std::filesystem::path> places;
  auto beside = [&](const std::filesystem::path &file) {
    std::filesystem::path folder = file.parent_path();
    places.push_back(folder / SimulatorLibrary);
    places.push_back(folder.parent_path() / "lib" / SimulatorLibrary);
  };
  std::error_code ignored;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void *>(&simulatorPlaces), &info) && info.dli_fname)
    beside(std::filesystem::absolute(info.dli_fname, ignored));
  beside(std::filesystem::read_symlink("/proc/self/exe", ignored));
  return places;
}

Result<std::shared_ptr<const Driver>> openSimulator() {
  if (const char *named = std::getenv("TESSERA_SIM_LIBRARY"); named && *named) {
    auto driver = Driver::open(named);
    if (!driver)
      return Status(driver.status().code(), "the simulator named by TESSERA_SIM_LIBRARY: " + driver.status().message());
    return driver;
  }
  std::string searched;
  for (const std::filesystem::path &place : simulatorPlaces()) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored))
      return Driver::open(place.string());
    searched += (searched.empty() ? "" : ", ") + place.string();
  }
  return Status(Code::NoDevice, fmt::format("the simulator {} was not found (searched {})", SimulatorLibrary, searched),
                "set TESSERA_SIM_LIBRARY to its path");
}

Result<DriverDevice> openSimulated(std::string_view profile) {
  auto driver = openSimulator();
  if (!driver)
    return driver.status();
  auto findDevice = reinterpret_cast<decltype(&tessera_sim_find_device)>((*driver)->find("tessera_sim_find_device"));
  auto lastError = reinterpret_cast<decltype(&tessera_sim_last_error)>((*driver)->find("tessera_sim_last_error"));
  if (!findDevice || !lastError)
    return Status(Code::NoDevice, fmt::format("{} is no Tessera simulator of this version", (*driver)->library()),
                  "unset TESSERA_SIM_LIBRARY, or point it at this version's libtessera-sim.so");
  int ordinal = 0;
  if (findDevice(std::string(profile).c_str(), &ordinal) != CUDA_SUCCESS)
    return Status(Code::NoDevice, fmt::format("no device \"sim:{}\": {}", profile, lastError()));
  return DriverDevice{*driver, ordinal};
}

Result<DriverDevice> openReal(int ordinal) {
  auto driver = Driver::open(RealLibrary);
  if (!driver)
    return Status(driver.status().code(), driver.status().message(),
                  driver.status().code() == Code::NoDevice ? "use sim:a100 to run on the simulator"
                                                           : driver.status().hint());
  int count = 0;
  if (Status status = (*driver)->check((*driver)->symbols().cuDeviceGetCount(&count), "counting the GPUs"); !status)
    return status;
  if (ordinal >= count)
    return Status(Code::NoDevice,
                  fmt::format("no device \"cuda:{}\": the driver sees {} GPU{}", ordinal, count, count == 1 ? "" : "s"),
                  count ? fmt::format("use cuda:0{}", count > 1 ? fmt::format(" to cuda:{}", count - 1) : "")
                        : "use sim:a100 to run on the simulator");
  return DriverDevice{*driver, ordinal};
}

} // namespace

Result<DriverDevice> openDriver(std::string_view deviceName) {
  size_t colon = deviceName.find(':');
  std::string_view kind = deviceName.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : deviceName.substr(colon + 1);
  if (kind == "sim" && !rest.empty())
    return openSimulated(rest);
  if (kind == "cuda") {
    int ordinal = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
    if (colon == std::string_view::npos || (error == std::errc() && end == rest.data() + rest.size() && ordinal >= 0))
      return openReal(ordinal);
  }
  return Status(Code::InvalidArgument, fmt::format("\"{}\" is no device name", deviceName),
                "use cuda:N for the Nth GPU, or sim:NAME for the simulator, e.g. cuda:0 or sim:a100");
}

} // namespace tessera
