// The harness of the kernel tests: one case is compiled, run on the simulator with all checks on, and judged.
#pragma once

#include "runtime/engine/Engine.h"
#include "tests/kernels/Placement.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::kernels {

struct KernelCase {
  AttentionSpec spec;
  Problem problem;
  Layout layout = Layout::Bshd;
  std::optional<Schedule> schedule; ///< absent: the default one
  bool margins = true;
  Values values = normal(1);
  std::byte poison{0xff}; ///< of margins, gaps and outputs before the launch
};

/// A case of one head dim that also asks for the LSE; the rest is as usual.
KernelCase caseOf(DType type, unsigned dim, const Problem &problem, const Mask &mask = Mask::full());

/// What came back, with everything needed to look at single elements.
struct Outcome {
  Placement placement;
  std::vector<Arena> after; ///< the arenas after the launch
  reference::Answer exact;
  reference::Comparison verdict;
  uint32_t rescues = 0;
  unsigned blocks = 0; ///< of the launch; 0: nothing was launched
  KernelInfo info;

  float out(int64_t b, int64_t i, int64_t h, int64_t c) const {
    return placement.view(Role::O, after).load(b, i, h, c);
  }
  float lse(int64_t b, int64_t h, int64_t i) const { return placement.lseView(after).load(b, h, i); }
  /// The bytes of O and LSE, for comparisons bit for bit.
  std::vector<std::byte> outputBits() const;
};

/// The one simulated device of these tests and the engine on it; shared by all tests of a process.
const Device &device();
const Engine &engine();

/// Runs one case. Reports as failures: any error, any finding of the simulator, a write outside of the outputs. The
/// verdict is left to the caller. Nothing where the case could not be run.
std::optional<Outcome> run(const KernelCase &test);
/// The same with a kernel made elsewhere, whose faults are wanted: findings are returned and fail nothing.
std::optional<Outcome> runKernel(const KernelCase &test, const Kernel &kernel, std::vector<std::string> &findings);

/// run(), and the verdict must be right.
std::optional<Outcome> expectRight(const KernelCase &test);

/// Options of the simulator for later cases (SimulatorApi.h, as JSON); a mistake fails the test. The tests of a process
/// share it: set back what was changed.
void configureSimulator(const std::string &json);

/// The widest access that the placement of a case allows; allocations are taken to be aligned to 16 bytes.
unsigned accessBytesOf(const KernelCase &test);

/// The case as a command, where `tessera run` can express it.
std::string command(const KernelCase &test);

/// What the simulated device is; known without opening it, since tests are listed on machines that are still building
/// it.
const Target &target();

/// The default schedule of a spec on it.
Schedule defaultFor(const AttentionSpec &spec);

} // namespace tessera::kernels
