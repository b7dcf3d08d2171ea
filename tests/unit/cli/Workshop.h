// Workshop: a folder of its own for each test, with a compiler that takes no time and a cache that is empty.
#pragma once

#include "tests/unit/cli/RunProgram.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/wait.h>

namespace tessera::test {

class Workshop : public testing::Test {
protected:
  Workshop() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-cli-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    setenv("TESSERA_COMPILER_LIBRARY", STUB_COMPILER, 1);
    setenv("TESSERA_SIM_LIBRARY", SIMULATOR, 1);
    setenv("TESSERA_CACHE_DIR", path("cache").c_str(), 1);
    for (const char *variable : {"TESSERA_CACHE", "TESSERA_CACHE_SIZE", "STUB_FAILS", "STUB_NO_CUBIN"})
      unsetenv(variable);
  }
  ~Workshop() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool exists(const std::string &name) const { return std::filesystem::exists(path(name)); }

  /// A command with each "@NAME" standing for the path of NAME in the folder.
  Ran tessera(std::string arguments) const {
    for (size_t at = 0; (at = arguments.find('@', at)) != std::string::npos;)
      arguments.replace(at, 1, folder + "/");
    return runTessera(arguments);
  }
  /// The same, which must end with this exit code and print one JSON object.
  nlohmann::json json(const std::string &arguments, int code = 0) const {
    const Ran run = tessera(arguments + " --json");
    EXPECT_EQ(run.code, code) << arguments << "\n" << run.err;
    const nlohmann::json parsed = nlohmann::json::parse(run.out, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << arguments << "\n" << run.out;
    return parsed;
  }
  /// The same, which must fail with this exit code, say this on stderr and print nothing else.
  void expectRefused(const std::string &arguments, int code, const std::string &part) const {
    const Ran run = tessera(arguments);
    EXPECT_EQ(run.code, code) << arguments << "\n" << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << arguments << "\n" << run.err;
    EXPECT_EQ(run.out, "") << arguments;
  }

  /// What a shell, in this folder, makes of a line in which "tessera" is the program: its exit code, or 128 and the
  /// signal that ended it. For streams that are closed or full.
  int shell(const std::string &line) const {
    const std::string whole = "cd '" + folder + "'; tessera() { '" PROGRAM "' \"$@\"; }; " + line;
    const int status = std::system(whole.c_str()); // NOLINT(concurrency-mt-unsafe): tests have one thread
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string folder;
};

} // namespace tessera::test
