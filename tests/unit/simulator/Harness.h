// Harness: small PTX texts run on the simulator's core, one case per lane.
#pragma once

#include "runtime/simulator/Machine.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace tessera::sim::test {

inline const DeviceProfile &device(std::string_view name = "a100") { return **DeviceProfile::find(name); }

inline uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t f64(double x) { return std::bit_cast<uint64_t>(x); }
constexpr uint64_t nan32 = 0x7fffffff, inf32 = 0x7f800000;

/// A device with memory, a module and launches on it. Fails the test on a load error.
class Machine {
public:
  explicit Machine(std::string_view profile = "a100") : profile(device(profile)), memory(uint64_t(1) << 30) {}

  void load(const std::string &ptx) {
    auto loaded = Module::load(ptx, profile, memory);
    ASSERT_TRUE(loaded.ok()) << loaded.status().text() << "\n" << ptx;
    module = std::move(*loaded);
  }
  /// Launches the first kernel with 8-byte parameters.
  LaunchReport run(Dim3 grid, Dim3 block, const std::vector<uint64_t> &parameters, uint32_t dynamicShared = 0) {
    LaunchConfig config;
    if (!module)
      return {};
    const KernelInfo &kernel = module->kernels()[0];
    config.kernel = kernel.name;
    config.grid = grid;
    config.block = block;
    config.dynamicSharedBytes = dynamicShared;
    config.parameters.resize(kernel.parameterBytes);
    for (size_t i = 0; i < parameters.size(); ++i)
      std::memcpy(&config.parameters[kernel.parameters[i].offset], &parameters[i], kernel.parameters[i].size);
    return launch(*module, memory, profile, config, options);
  }
  template <class T> uint64_t upload(const std::vector<T> &values, std::string name = {}) {
    uint64_t address = *memory.allocate(values.size() * sizeof(T), 256, std::move(name));
    EXPECT_TRUE(memory.write(address, values.data(), values.size() * sizeof(T)).ok());
    return address;
  }
  template <class T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(memory.read(address, values.data(), count * sizeof(T)).ok());
    return values;
  }

  const DeviceProfile &profile;
  GlobalMemory memory;
  std::unique_ptr<Module> module;
  Options options;
};

inline std::string header(std::string_view target = "sm_80", std::string_view version = "8.8") {
  return ".version " + std::string(version) + "\n.target " + std::string(target) + "\n.address_size 64\n";
}

/// Expects a clean run and prints what was found otherwise.
inline void expectClean(const LaunchReport &report) {
  EXPECT_EQ(report.status, LaunchStatus::Success) << toString(report.status);
  for (const Finding &f : report.findings)
    ADD_FAILURE() << f.text;
}

/// A kernel text with one line changed: `from` must occur once.
std::string mutated(std::string_view text, std::string_view from, std::string_view to);

/// Runs `text` with %a, %b, %c, %e as sources and %d (and %q) as results, once per case, each case in its own lane.
/// `shape` gives the widths: results ':' sources, '2' '4' '8' bytes or 'p' for a predicate, e.g. "4p:44".
/// Returns per case the results. `target` above sm_80 runs on a matching device.
std::vector<std::vector<uint64_t>> evaluate(const std::string &text, std::string_view shape,
                                            const std::vector<std::vector<uint64_t>> &cases,
                                            std::string_view target = "sm_80", Options options = {});

/// evaluate() with one result per case, compared.
struct Case {
  std::vector<uint64_t> sources;
  uint64_t expected;
};
void expectResults(const std::string &text, std::string_view shape, const std::vector<Case> &cases,
                   std::string_view target = "sm_80");

/// Load error of `ptx`, "" when it loads.
std::string loadError(const std::string &ptx, std::string_view profile = "a100");
/// The same for one instruction in a kernel with the usual registers (%r .b32, %f .f32, %d .b64, %h .b16, %p .pred).
std::string instructionError(const std::string &instruction, std::string_view target = "sm_80",
                             std::string_view profile = "a100");

} // namespace tessera::sim::test
