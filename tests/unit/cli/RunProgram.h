// Runs the `tessera` program in this process, as a shell would, and keeps what it printed.
#pragma once

#include "autotune/cli/Program.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace tessera::test {

struct Ran {
  int code;
  std::string out, err;
};

/// `arguments` are split at blanks; nothing is quoted.
inline Ran runTessera(const std::string &arguments) {
  std::vector<std::string> words{"tessera"};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;)
    words.push_back(word);
  std::vector<const char *> argv;
  for (const std::string &word : words)
    argv.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = cli::runProgram(int(argv.size()), argv.data());
  const std::string err = testing::internal::GetCapturedStderr();
  return {code, testing::internal::GetCapturedStdout(), err};
}

} // namespace tessera::test
