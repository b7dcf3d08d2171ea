// The program as a function, so that tests call it as a shell does.
#pragma once

namespace tessera::cli {

/// Parses the arguments, runs the command, prints errors on stderr. The exit code of the process.
int runProgram(int argc, const char *const *argv);

} // namespace tessera::cli
