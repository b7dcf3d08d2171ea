// The `tessera` program.
#include "autotune/cli/Program.h"

int main(int argc, char **argv) { return tessera::cli::runProgram(argc, argv); }
