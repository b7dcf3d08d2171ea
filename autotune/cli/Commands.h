// The commands of the program; each declares its flags on `app` and returns what runs when the command is chosen.
#pragma once

#include "autotune/cli/ExitCode.h"

#include <CLI/App.hpp>

#include <functional>
#include <span>
#include <string>

namespace tessera::cli {

/// Flags that every command has.
struct CommonFlags {
  bool json = false;       ///< one JSON object on stdout
  bool quiet = false;      ///< nothing on stderr but errors
  std::string commandLine; ///< as a shell would take it, for reports
};

using Command = std::function<Result<ExitCode>(const CommonFlags &)>;

/// One command by name.
struct CommandEntry {
  const char *name, *what;
  Command (*declare)(CLI::App &);
};

/// Commands under a common name: `tessera cache stat`.
struct CommandGroup {
  const char *name, *what, *footer;
  std::span<const CommandEntry> commands;
};

Command declareRun(CLI::App &app);
Command declareCompile(CLI::App &app);
Command declareExplain(CLI::App &app);
Command declareDevices(CLI::App &app);
Command declareTune(CLI::App &app);
/// Serves the processes of `tessera tune`; hidden.
Command declareWorker(CLI::App &app);
CommandGroup cacheCommands();
CommandGroup bundleCommands();

} // namespace tessera::cli
