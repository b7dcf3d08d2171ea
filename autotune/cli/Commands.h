// The four commands of the program; each declares its flags on `app` and returns what runs when the command is chosen.
#pragma once

#include "autotune/cli/ExitCode.h"

#include <CLI/App.hpp>

#include <functional>

namespace tessera::cli {

/// Flags that every command has.
struct CommonFlags {
  bool json = false;  ///< one JSON object on stdout
  bool quiet = false; ///< nothing on stderr but errors
};

using Command = std::function<Result<ExitCode>(const CommonFlags &)>;

Command declareRun(CLI::App &app);
Command declareCompile(CLI::App &app);
Command declareExplain(CLI::App &app);
Command declareDevices(CLI::App &app);

} // namespace tessera::cli
