// Arguments to commands; errors to sentences and exit codes.
#include "autotune/cli/Program.h"

#include "autotune/cli/Commands.h"
#include "autotune/cli/Version.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <numeric>
#include <vector>

namespace tessera::cli {
namespace {

constexpr const char *kFooter = R"(Examples:
  tessera run --head-dim 64 --causal bottom-right --check      run an attention and compare it with the f64 reference
  tessera run --q q.npy --k k.npy --v v.npy --out o.npy        the same on your own tensors (batch, sequence, head, dim)
  tessera explain --head-dim 256 --target sm_86                which schedule is chosen there, and why
  tessera compile --target sm_80 --emit ptx                    the kernel's PTX on stdout

Exit codes: 0 right, 1 check failed, 2 usage, 3 unsupported, 4 no device, 5 file trouble, 6 the driver or compiler failed.)";

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

/// The known flag that `text` may have been meant to be, or nothing.
std::string nearest(const CLI::App &app, const std::string &text) {
  std::string best;
  size_t least = 4;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      if (const size_t distance = editDistance(text, "--" + name); distance < least) {
        least = distance;
        best = "--" + name;
      }
  return best;
}

/// What CLI11 found wrong, as a sentence with the value and a remedy.
std::string sentence(const CLI::App &app, const CLI::ParseError &error, const std::string &commandName) {
  const std::string help = fmt::format("`{} --help` lists what there is", commandName);
  const std::vector<std::string> unknown = app.remaining();
  if (dynamic_cast<const CLI::ExtrasError *>(&error) && !unknown.empty()) {
    const std::string name = unknown[0].substr(0, unknown[0].find('='));
    const std::string meant = nearest(app, name);
    return fmt::format("`{}` knows no '{}'\n  hint: {}{}", commandName, unknown[0],
                       meant.empty() ? "" : fmt::format("did you mean {}? ", meant), help);
  }
  std::string text = error.what();
  if (text.find("hint:") == std::string::npos)
    text += "\n  hint: " + help;
  return text;
}

int usage(const std::string &text) {
  fmt::print(stderr, "tessera: {}\n", text);
  return Usage;
}

int runChosen(const CLI::App &program, const CommonFlags &common,
              const std::vector<std::pair<CLI::App *, Command>> &commands) {
  for (const auto &[app, command] : commands) {
    if (!program.got_subcommand(app))
      continue;
    const Result<ExitCode> code = command(common);
    std::fflush(stdout);
    if (code)
      return *code;
    fmt::print(stderr, "tessera: {}\n", code.status().text());
    return exitCodeOf(code.status().code());
  }
  return usage("no command given\n  hint: run, compile, explain or devices; `tessera --help` shows examples");
}

} // namespace

int runProgram(int argc, const char *const *argv) {
  try {
    CLI::App program("Tessera: an attention compiler");
    program.name("tessera");
    program.footer(kFooter);
    program.set_version_flag("--version", std::string("tessera ") + kVersion);
    program.set_help_flag("-h,--help", "this text, or that of a command");
    CommonFlags common;
    std::vector<std::pair<CLI::App *, Command>> commands;
    const auto declare = [&](const char *name, const char *what, Command (*declaration)(CLI::App &)) {
      CLI::App *app = program.add_subcommand(name, what);
      app->add_flag("--json", common.json, "print one JSON object on stdout")->group("Output");
      app->add_flag("--quiet", common.quiet, "print nothing on stderr but errors")->group("Output");
      commands.emplace_back(app, declaration(*app));
    };
    declare("run", "run an attention on a GPU or the simulator, and check it", declareRun);
    declare("compile", "compile a kernel, or show any stage of it", declareCompile);
    declare("explain", "which schedule is chosen, and why", declareExplain);
    declare("devices", "GPUs of this machine and simulated ones", declareDevices);
    try {
      program.parse(argc, argv);
    } catch (const CLI::Success &wanted) { // --help, --version
      return program.exit(wanted);
    } catch (const CLI::ParseError &error) {
      for (const auto &command : commands)
        if (program.got_subcommand(command.first))
          return usage(sentence(*command.first, error, "tessera " + command.first->get_name()));
      return usage(sentence(program, error, "tessera"));
    }
    return runChosen(program, common, commands);
  } catch (const std::bad_alloc &) {
    fmt::print(stderr, "tessera: out of memory\n  hint: make --batch, --heads or the lengths smaller\n");
  } catch (const std::exception &error) {
    fmt::print(stderr, "tessera: {}\n", error.what());
  }
  return Failure;
}

} // namespace tessera::cli
