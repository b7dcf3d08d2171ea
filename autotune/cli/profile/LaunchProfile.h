// LaunchProfile: the simulator's counters of one launch as the profile writers read them.
#pragma once

#include "runtime/spec/Result.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli::profile {

/// Modelled clocks by unit ("tensor", "issue" …), in the simulator's order; units without work are absent.
using Clocks = std::vector<std::pair<std::string, double>>;
double clocksOf(const Clocks &clocks, std::string_view unit); ///< 0 where absent

/// One instruction of the PTX text.
struct Instruction {
  std::string function, text, pipe;
  int64_t line = 0; ///< 1-based
  int loop = -1;    ///< index of its innermost loop
  double executions = 0, lanes = 0;
  double wavefronts = 0, idealWavefronts = 0; ///< shared memory
  double sectors = 0, idealSectors = 0;       ///< global memory
  Clocks clocks;

  /// Modelled clocks of its own pipe; of the schedulers where its pipe has none.
  double ownClocks() const;
};

/// One loop; sums include the loops inside it.
struct Loop {
  std::string function, label;
  int64_t firstLine = 0, lastLine = 0, headerLine = 0;
  int depth = 1, parent = -1;
  double iterations = 0, warpInstructions = 0;
  double wavefronts = 0, idealWavefronts = 0, sectors = 0, idealSectors = 0;
  double flops = 0, exponents = 0; ///< of the matrix unit; scalar exponents
  Clocks clocks;
  std::string bound; ///< the unit with most clocks

  std::string name() const; ///< "loop $L__BB0_2, lines 30-98"
};

struct LaunchProfile {
  std::string kernel, device;
  std::array<int64_t, 3> grid{}, block{};
  int64_t registers = 0, blocksPerSm = 0;
  double microseconds = 0; ///< modelled
  double clockMHz = 0;     ///< of modelled clocks
  double busiestShare = 1; ///< of all work: what the SM does whose clocks these are
  double warpInstructions = 0;
  Clocks clocks;
  std::string bound;
  std::vector<std::pair<std::string, double>> instructionsByPipe;
  std::vector<Instruction> instructions; ///< in the order of the text
  std::vector<Loop> loops;               ///< outer before inner

  /// "kernel on a100, grid 1x2x3, block 128x1x1, …": one line.
  std::string heading() const;
};

/// Modelled clocks of an SM for one iteration of one warp.
double clocksPerIteration(const LaunchProfile &profile, const Loop &loop, std::string_view unit);

/// From tessera_sim_counters(); File when it lacks what a profile needs.
Result<LaunchProfile> readProfile(const nlohmann::ordered_json &counters);

/// What hangs below one loop (-1: below no loop): instructions and loops, in the order of the text.
struct Child {
  const Instruction *instruction = nullptr; ///< or
  int loop = -1;
};
std::vector<Child> childrenOf(const LaunchProfile &profile, int loop);

} // namespace tessera::cli::profile
