// Times of prepare, of the host side of launch and of the simulator, as one JSON object on stdout. bench.py reads it.
//
//   tessera-engine-bench prepare     compiles kernels, then asks for one again and again
//   tessera-engine-bench launch      launches one
//     Both run on the unit tests' driver, which loads and runs nothing: what is left is Tessera's own time.
//   tessera-engine-bench load        prepare on the simulator, which parses the kernel's PTX
//   tessera-engine-bench simulate    S 1024, d 64, one causal head on one core, with the simulator's checks and without
//   tessera-engine-bench time DEVICE         the time of causal() on this device, by the tuner's own routine
//   tessera-engine-bench ship FOLDER         compiles kernels into a disk cache and a bundle in this folder
//   tessera-engine-bench from-disk FOLDER    prepares the cached ones, as the next process does
//   tessera-engine-bench from-bundle FOLDER  opens the bundle and prepares from it
#include "tests/bench/EngineBench.h"

#include "autotune/measure/Rig.h"
#include "runtime/simulator/driver/SimulatorApi.h"

#include <algorithm>
#include <cstdio>

using namespace tessera;
using namespace tessera::bench;

namespace {

/// Without the disk cache: what is asked for first is compiled.
Result<Engine> createEngine() {
  EngineOptions options;
  options.cache.mode = CacheMode::Off;
  return Engine::create(options);
}

Status measurePrepare(const Result<Device> &device, nlohmann::json &report) {
  if (!device)
    return device.status();
  Result<Engine> engine = createEngine();
  if (!engine)
    return engine.status();
  const auto prepare = [&](const AttentionSpec &spec, double &seconds) -> Status {
    const auto start = std::chrono::steady_clock::now();
    Result<Kernel> kernel = engine->prepare(spec, problem, *device);
    seconds = secondsSince(start);
    return kernel.status();
  };
  double first = 0;
  if (Status status = prepare(causal(), first); !status)
    return status;
  std::vector<double> others;
  for (const AttentionSpec &spec : otherKeys())
    if (Status status = prepare(spec, others.emplace_back()); !status)
      return status;
  report["prepare_first_s"] = first;
  report["prepare_other_key_s"] = *std::ranges::min_element(others);
  report["prepare_other_keys_s"] = others;
  const AttentionSpec same = causal();
  bool found = true;
  report["prepare_same_key_s"] = perCall(20000, [&] { found &= engine->prepare(same, problem, *device).ok(); });
  return found ? Status() : Status(Code::Internal, "a prepared kernel was not found again");
}

Status measureLaunch(nlohmann::json &report) {
  Result<Device> device = openFake();
  if (!device)
    return device.status();
  Result<Engine> engine = createEngine();
  if (!engine)
    return engine.status();
  Result<Kernel> kernel = engine->prepare(causal(), problem, *device);
  if (!kernel)
    return kernel.status();
  alignas(16) static char memory[16]; // only its address is looked at
  const auto view = [](int64_t heads) { return TensorView::contiguous(memory, DType::BF16, 1, 64, heads, 128); };
  const LaunchArguments arguments = {.q = view(8), .k = view(2), .v = view(2), .o = view(8), .lse = {}};
  Status failed;
  const auto launch = [&] {
    if (Status status = kernel->launch(arguments, nullptr); !status)
      failed = status;
  };
  report["launch_s"] = perCall(200000, launch);
  return failed;
}

Status measureSimulator(nlohmann::json &report) {
  Result<Device> device = Device::open("sim:a100");
  if (!device)
    return device.status();
  Result<Engine> engine = createEngine();
  if (!engine)
    return engine.status();
  AttentionSpec spec = causal();
  spec.headDim = spec.valueDim = 64;
  constexpr int64_t length = 1024;
  Result<Kernel> kernel = engine->prepare(spec, {.seqlenQ = length, .seqlenKv = length}, *device);
  if (!kernel)
    return kernel.status();

  // q, k, v and o, one behind the other; values of both signs around 1, so that no tile is trivial.
  std::vector<uint16_t> values(4 * length * 64);
  uint32_t state = 1;
  for (uint16_t &value : values) {
    state = state * 1664525 + 1013904223;
    value = uint16_t(0x3f00 | (state >> 16 & 0x80ff));
  }
  Result<DeviceBuffer> memory = device->allocate(values.size() * 2);
  if (!memory)
    return memory.status();
  if (Status status = memory->upload(values.data(), values.size() * 2); !status)
    return status;
  const auto view = [&](int64_t which) {
    return TensorView::contiguous(static_cast<uint16_t *>(memory->pointer()) + which * length * 64, DType::BF16, 1,
                                  length, 1, 64);
  };
  const LaunchArguments arguments = {.q = view(0), .k = view(1), .v = view(2), .o = view(3), .lse = {}};

  const auto configure =
      reinterpret_cast<decltype(&tessera_sim_configure)>(device->context()->driver().find("tessera_sim_configure"));
  for (bool checks : {false, true}) {
    const std::string options = fmt::format(R"({{"checks": {}, "threads": 1, "counters": false}})", checks);
    if (!configure || configure(options.c_str()) != 0)
      return {Code::Unsupported, fmt::format("the simulator refuses the options {}", options)};
    double best = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      if (Status status = kernel->launch(arguments, nullptr); !status)
        return status;
      if (Status status = device->synchronize(); !status)
        return status;
      best = std::min(best, secondsSince(start));
    }
    report[checks ? "checked_s" : "unchecked_s"] = best;
  }
  // The first query sees the first key alone, so its output is that key's value: what was timed did run.
  std::vector<uint16_t> output(values.size());
  if (Status status = memory->download(output.data(), output.size() * 2); !status)
    return status;
  if (!std::equal(output.begin() + 3 * length * 64, output.begin() + 3 * length * 64 + 64,
                  values.begin() + 2 * length * 64))
    return {Code::Internal, "the simulated kernel gave a wrong first row"};
  return {};
}

Status measureKernel(const std::string &deviceName, nlohmann::json &report) {
  const Result<Device> device = Device::open(deviceName);
  if (!device)
    return device.status();
  Result<Engine> engine = createEngine();
  if (!engine)
    return engine.status();
  const Result<Kernel> kernel = engine->prepare(causal(), problem, *device);
  if (!kernel)
    return kernel.status();
  const Result<std::unique_ptr<tune::Rig>> rig = tune::Rig::open(*device);
  if (!rig)
    return rig.status();
  const Result<tune::Measurement> time = (*rig)->measure(kernel->image(), {causal(), problem}, {});
  if (!time)
    return time.status();
  report = {{"device", device->info().name},   {"method", time->method},      {"modelled", time->modelled},
            {"median_ms", time->milliseconds}, {"low_ms", time->lowMs},       {"high_ms", time->highMs},
            {"repeats", time->repeats},        {"clock_mhz", time->clockMHz}, {"throttled", time->throttled}};
  return {};
}

struct Part {
  std::string_view name;
  Status (*measure)(nlohmann::json &report) = nullptr;
  Status (*measureIn)(const std::string &argument, nlohmann::json &report) = nullptr; ///< of a folder or a device
};
constexpr Part parts[] = {
    {"prepare", [](nlohmann::json &report) { return measurePrepare(openFake(), report); }},
    {"load", [](nlohmann::json &report) { return measurePrepare(Device::open("sim:a100"), report); }},
    {"launch", measureLaunch},
    {"simulate", measureSimulator},
    {"time", nullptr, measureKernel},
    {"ship", nullptr, ship},
    {"from-disk", nullptr, measureFromDisk},
    {"from-bundle", nullptr, measureFromBundle},
};

} // namespace

int main(int count, char **arguments) {
  const auto *part = std::ranges::find(parts, count >= 2 ? arguments[1] : "", &Part::name);
  if (part == std::end(parts) || count != (part->measure ? 2 : 3)) {
    fmt::print(stderr, "usage: {} prepare|load|launch|simulate | time DEVICE | ship|from-disk|from-bundle FOLDER\n",
               arguments[0]);
    return 2;
  }
  nlohmann::json report;
  if (Status status = part->measure ? part->measure(report) : part->measureIn(arguments[2], report); !status) {
    fmt::print(stderr, "{}\n", status.text());
    return 1;
  }
  fmt::print("{}\n", report.dump());
  return 0;
}
