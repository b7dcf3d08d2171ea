// tessera devices: the GPUs of this machine and the ones that the simulator can pose as.
#include "autotune/cli/Commands.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/Print.h"
#include "autotune/measure/SimulatorControl.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

struct Row {
  std::string name;
  Result<Device> device;
};

Json deviceJson(const Row &row) {
  Json json;
  json["name"] = row.name;
  if (!row.device) {
    json["unusable"] = row.device.status().message();
    return json;
  }
  const DeviceInfo &info = row.device->info();
  json["product"] = info.name;
  json["simulated"] = row.device->simulated();
  json["compute_capability"] = fmt::format("{}.{}", info.major, info.minor);
  json["target"] = row.device->target().name;
  json["sm_count"] = info.smCount;
  json["memory_bytes"] = info.memoryBytes;
  json["shared_bytes_per_block"] = info.sharedBytesPerBlock;
  json["l2_bytes"] = info.l2Bytes;
  json["clock_khz"] = info.clockKHz;
  return json;
}

/// What the simulator library can pose as; it is asked through its default device.
Result<std::vector<std::string>> simulatedProfiles() {
  const Result<Device> device = Device::open(kDefaultSimulated);
  if (!device)
    return device.status();
  const Result<std::optional<tune::SimulatorControl>> simulator = tune::SimulatorControl::of(*device);
  if (!simulator)
    return simulator.status();
  return *simulator ? (*simulator)->profiles() : std::vector<std::string>();
}

Result<ExitCode> listDevices(const CommonFlags &common) {
  std::vector<Row> rows;
  std::string noGpu;
  for (int ordinal = 0;; ++ordinal) {
    Result<Device> device = Device::open(fmt::format("cuda:{}", ordinal));
    if (!device && device.status().code() == Code::NoDevice) {
      if (ordinal == 0)
        noGpu = device.status().message();
      break;
    }
    const bool unusable = !device && device.status().code() != Code::Unsupported;
    rows.push_back({fmt::format("cuda:{}", ordinal), std::move(device)});
    if (unusable) // a driver that fails for one GPU may fail for any number of them
      break;
  }
  std::string noSimulator;
  const Result<std::vector<std::string>> profiles = simulatedProfiles();
  if (!profiles)
    noSimulator = profiles.status().message();
  else
    for (const std::string &profile : *profiles) {
      std::string name = fmt::format("sim:{}", profile);
      Result<Device> device = Device::open(name);
      rows.push_back({std::move(name), std::move(device)});
    }
  if (common.json) {
    Json report;
    report["devices"] = Json::array();
    for (const Row &row : rows)
      report["devices"].push_back(deviceJson(row));
    report["no_gpu"] = noGpu.empty() ? Json(nullptr) : Json(noGpu);
    report["no_simulator"] = noSimulator.empty() ? Json(nullptr) : Json(noSimulator);
    printJson(report);
    return Right;
  }
  if (!noGpu.empty())
    show("no GPU: {}\n", noGpu);
  if (!noSimulator.empty())
    show("no simulator: {}\n", noSimulator);
  if (rows.empty())
    return Right;
  show("{:<12} {:<46} {:<8} {:>4} {:>10} {:>13} {:>7} {:>6}\n", "device", "product", "target", "SMs", "memory GiB",
       "shared KiB", "L2 MiB", "MHz");
  for (const Row &row : rows) {
    if (!row.device) {
      show("{:<12} unusable: {}\n", row.name, row.device.status().message());
      continue;
    }
    const DeviceInfo &info = row.device->info();
    show("{:<12} {:<46} {:<8} {:>4} {:>10.0f} {:>13} {:>7} {:>6}\n", row.name, info.name, row.device->target().name,
         info.smCount, double(info.memoryBytes) / 0x1p30, info.sharedBytesPerBlock / 1024, info.l2Bytes >> 20,
         info.clockKHz / 1000);
  }
  return Right;
}

} // namespace

Command declareDevices(CLI::App &app) {
  return [](const CommonFlags &common) { return listDevices(common); };
}

} // namespace tessera::cli
