// KernelChoice: the flags that say which kernel of an attention is wanted, and the kernel they lead to.
#pragma once

#include "autotune/cli/ProblemFlags.h"
#include "runtime/engine/Engine.h"

#include <CLI/App.hpp>

#include <optional>
#include <string>

namespace tessera::cli {

struct KernelFlags {
  std::string target;   ///< "sm_80"; empty: the device's own
  std::string schedule; ///< canonical text; empty: chosen
  std::string stages;   ///< folder for the text of every stage; empty: none
  std::string device = "auto";

  void addTo(CLI::App &app);
  /// The schedule given, checked for legality.
  Result<std::optional<Schedule>> givenSchedule(const AttentionSpec &spec, const Target &target) const;
};

/// A loaded kernel and what is known of it.
struct PreparedKernel {
  Kernel kernel;
  KernelInfo info;
};

/// From the engine; for another target than the device's, from the disk cache or the compiler; compiled on the spot
/// where the stages are asked for. Unsupported where the policy lets nothing serve it.
Result<PreparedKernel> prepareKernel(const KernelFlags &flags, const EngineOptions &sources,
                                     const ResolvedProblem &problem, const Device &device);

/// Makes the folder where it does not exist; Code::File where that fails.
Status makeFolder(const std::string &path);

} // namespace tessera::cli
