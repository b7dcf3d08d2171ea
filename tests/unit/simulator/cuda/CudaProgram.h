// CudaProgram: PTX of a CUDA C++ program, one build of it per test, launched with typed arguments under every schedule.
#pragma once

#include "tests/unit/simulator/Harness.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::sim::test {

/// The random schedules of a short kernel.
constexpr unsigned randomSchedules = 50;

/// Builds of `program` that this tree has: "nvcc_80", "nvrtc_89_debug", ...
std::vector<std::string> buildsOf(const std::string &program);

/// Device memory with values of T; freed with the object.
template <class T> class Buffer {
public:
  Buffer(Machine &machine, const std::vector<T> &values) : machine(machine), size(values.size()) {
    address = machine.upload(values);
  }
  /// Allocated and not written.
  Buffer(Machine &machine, size_t size) : machine(machine), size(size) {
    address = *machine.memory.allocate(size * sizeof(T));
  }
  ~Buffer() { (void)machine.memory.free(address); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  std::vector<T> read() const { return machine.download<T>(address, size); }

  Machine &machine;
  uint64_t address = 0;
  size_t size;
};

/// What an argument puts into the parameter bytes: its value, or a buffer's address.
template <class T> const T &argumentValue(const T &value) { return value; }
template <class T> const uint64_t &argumentValue(const Buffer<T> &buffer) { return buffer.address; }

/// A test on every build of one program. The parameter is the build.
class CudaProgram : public testing::TestWithParam<std::string> {
protected:
  explicit CudaProgram(std::string program);
  void SetUp() override;

  struct Shape {
    Dim3 grid, block;
    uint32_t dynamicShared = 0;
    uint64_t gridWorkspace = 0; ///< of a cooperative launch
  };
  /// Launches `kernel`; the sizes of the arguments must be the parameters' own.
  template <class... Arguments>
  LaunchReport launch(const std::string &kernel, const Shape &shape, const Arguments &...arguments) {
    LaunchConfig config = configure(kernel, shape, sizeof...(Arguments));
    size_t index = 0;
    (pack(config, index++, &argumentValue(arguments), sizeof(argumentValue(arguments))), ...);
    return launch(config);
  }
  /// The same; anything found fails the test.
  template <class... Arguments> void run(const std::string &kernel, const Shape &shape, const Arguments &...arguments) {
    expectClean(launch(kernel, shape, arguments...));
  }
  /// Runs `body` under the late and eager schedules and `seeds` random ones, until one fails.
  void everySchedule(const std::function<void()> &body, unsigned seeds = randomSchedules);

  bool debugBuild() const { return GetParam().ends_with("_debug"); }

  Machine machine;

private:
  LaunchConfig configure(const std::string &kernel, const Shape &shape, size_t arguments);
  void pack(LaunchConfig &config, size_t index, const void *value, size_t bytes);
  LaunchReport launch(const LaunchConfig &config);

  std::string program;
};

} // namespace tessera::sim::test

/// Declares the fixture of a program and its builds as parameters.
#define CUDA_PROGRAM(name)                                                                                             \
  namespace {                                                                                                          \
  class name : public tessera::sim::test::CudaProgram {                                                                \
  protected:                                                                                                           \
    name() : CudaProgram(#name) {}                                                                                     \
  };                                                                                                                   \
  INSTANTIATE_TEST_SUITE_P(Cuda, name, testing::ValuesIn(tessera::sim::test::buildsOf(#name)),                         \
                           [](const auto &info) { return info.param; });                                               \
  }                                                                                                                    \
  static_assert(true)
