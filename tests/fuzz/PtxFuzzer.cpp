// ptx-fuzzer: any text goes through the load, and what loads is launched. Errors and findings are fine, faults are not.
#include "runtime/simulator/Machine.h"
#include "tests/fuzz/PtxMutator.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace tessera;

namespace {

/// How a text is run: hexadecimal digits behind the first "options=" of the text, so that an input stays one PTX file
/// that says all about its run. Without, everything is 0.
///
///   bits 0..1   schedule: late, eager, random, late      8..9   device
///   bits 2..3   mma: exact, hardware, stress, exact      10..11 shape of the block
///   bit  4      checks off                               12..13 dynamic shared memory
///   bit  5      races off                                14..15 number that 32-bit parameters get
///   bit  6      counters on                              16..   seed
struct Choices {
  explicit Choices(std::string_view text) {
    size_t at = text.find(fuzz::optionsMark);
    if (at == text.npos)
      return;
    const char *begin = text.data() + at + fuzz::optionsMark.size();
    std::from_chars(begin, std::min(begin + 8, text.data() + text.size()), bits, 16);
  }
  unsigned field(unsigned at, unsigned width) const { return bits >> at & ((1u << width) - 1); }

  uint32_t bits = 0;
};

/// Bounds what one input costs: a text that asks for more of the device's memory is refused.
constexpr uint64_t memoryBytes = 16 << 20;
constexpr uint64_t instructionsPerWarp = 4000;
constexpr size_t mostKernels = 3;
constexpr uint64_t bufferBytes = 16 << 10;

sim::Options optionsOf(const Choices &choices) {
  static constexpr sim::Schedule schedules[] = {sim::Schedule::Late, sim::Schedule::Eager, sim::Schedule::Random,
                                                sim::Schedule::Late};
  static constexpr sim::MmaMode modes[] = {sim::MmaMode::Exact, sim::MmaMode::Hardware, sim::MmaMode::Stress,
                                           sim::MmaMode::Exact};
  sim::Options options;
  options.schedule = schedules[choices.field(0, 2)];
  options.mma = modes[choices.field(2, 2)];
  options.checks = !choices.field(4, 1);
  options.races = !choices.field(5, 1);
  options.counters = choices.field(6, 1);
  options.seed = choices.field(16, 16);
  options.threads = 1;
  options.instructionLimit = instructionsPerWarp;
  return options;
}

/// Parameters of 8 bytes and more point at the buffers in turn, the others hold a number.
std::vector<std::byte> parametersOf(const sim::KernelInfo &kernel, const uint64_t (&buffers)[2], uint32_t number) {
  std::vector<std::byte> bytes(kernel.parameterBytes);
  size_t next = 0;
  for (const sim::ParameterInfo &parameter : kernel.parameters) {
    uint32_t at = 0;
    for (; at + 8 <= parameter.size; at += 8)
      std::memcpy(&bytes[parameter.offset + at], &buffers[next++ % 2], 8);
    if (uint32_t rest = std::min(parameter.size - at, 4u))
      std::memcpy(&bytes[parameter.offset + at], &number, rest);
  }
  return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static constexpr std::string_view devices[] = {"a100", "rtx4090", "h100", "b200"};
  static constexpr sim::Dim3 shapes[] = {{64, 1, 1}, {16, 2, 2}, {33, 1, 1}, {1, 1, 64}};
  static constexpr uint32_t dynamicShared[] = {0, 1024, 49152, 4};
  static constexpr uint32_t numbers[] = {64, 0, ~0u, 3};

  std::string_view text(reinterpret_cast<const char *>(data), size);
  Choices choices(text);
  const sim::DeviceProfile &profile = **sim::DeviceProfile::find(devices[choices.field(8, 2)]);
  sim::GlobalMemory memory(memoryBytes);
  // For the reading of a single input: what became of it.
  static const bool traced = std::getenv("TESSERA_FUZZ_TRACE");
  auto module = sim::Module::load(text, profile, memory);
  if (!module) {
    if (traced)
      fmt::print(stderr, "{}\n", module.status().text());
    return 0;
  }

  // One buffer that is written and one that is not; when the variables leave no room, kernels get addresses of nothing.
  uint64_t buffers[2] = {};
  for (uint64_t &buffer : buffers)
    if (auto address = memory.allocate(bufferBytes))
      buffer = *address;
  std::vector<uint16_t> content(bufferBytes / 2);
  for (size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<uint16_t>(i * 0x3c35);
  (void)!memory.write(buffers[0], content.data(), bufferBytes).ok();

  size_t launches = 0;
  for (const sim::KernelInfo &kernel : (*module)->kernels()) {
    if (++launches > mostKernels)
      break;
    sim::LaunchConfig config;
    config.kernel = kernel.name;
    config.grid = {2, 1, 1};
    config.block = shapes[choices.field(10, 2)];
    if (kernel.requiredThreads[0])
      config.block = {kernel.requiredThreads[0], kernel.requiredThreads[1], kernel.requiredThreads[2]};
    config.dynamicSharedBytes = dynamicShared[choices.field(12, 2)];
    config.parameters = parametersOf(kernel, buffers, numbers[choices.field(14, 2)]);
    sim::LaunchReport report = sim::launch(**module, memory, profile, config, optionsOf(choices));
    if (traced) {
      fmt::print(stderr, "{}: {}\n", kernel.name, toString(report.status));
      for (const sim::Finding &finding : report.findings)
        fmt::print(stderr, "{}\n", finding.text);
    }
  }
  return 0;
}
