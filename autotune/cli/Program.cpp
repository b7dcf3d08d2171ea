// Arguments to commands; errors to sentences and exit codes.
#include "autotune/cli/Program.h"

#include "autotune/cli/Commands.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/Suggest.h"
#include "autotune/cli/Version.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <vector>

namespace tessera::cli {
namespace {

constexpr const char *kFooter = R"(Examples:
  tessera run --head-dim 64 --causal bottom-right --check      run an attention and compare it with the f64 reference
  tessera run --q q.npy --k k.npy --v v.npy --out o.npy        the same on your own tensors (batch, sequence, head, dim)
  tessera explain --head-dim 256 --target sm_86                which schedule is chosen there, and why
  tessera compile --target sm_80 --emit ptx                    the kernel's PTX on stdout
  tessera tune --head-dim 64 --seqlen 512,8192 --budget 2m     the best schedules for this GPU, kept for every program
  tessera bundle build --specs s.json --targets sm_80 -o a.tsb kernels compiled ahead, in one file to ship
  tessera run --bundle a.tsb --policy bundle-only              run from it, compiling nothing
  tessera cache stat                                           what compiled kernels are kept on this machine

Exit codes: 0 right, 1 check failed, 2 usage, 3 unsupported, 4 no device, 5 file trouble, 6 the driver or compiler failed.)";

/// The command that the arguments lead to, as deep as they do.
const CLI::App &chosen(const CLI::App &program) {
  const CLI::App *app = &program;
  for (std::vector<CLI::App *> inner = app->get_subcommands(); !inner.empty(); inner = app->get_subcommands())
    app = inner[0];
  return *app;
}

std::string fullName(const CLI::App &app) {
  return app.get_parent() ? fullName(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<std::string> innerCommands(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *inner : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(inner->get_name());
  return names;
}

/// Every name that the command knows: its flags, or the commands in it where `text` is no flag.
std::vector<std::string> knownNames(const CLI::App &app, const std::string &text) {
  if (!text.starts_with("-"))
    return innerCommands(app);
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// What CLI11 found wrong, as a sentence with the value and a remedy.
std::string sentence(const CLI::App &app, const CLI::ParseError &error) {
  const std::string help = fmt::format("`{} --help` lists what there is", fullName(app));
  // CLI11 asks for what is required first, and what is misspelt may be just that.
  if (const std::vector<std::string> unknown = app.remaining(); !unknown.empty()) {
    const std::string name = unknown[0].substr(0, unknown[0].find('='));
    return fmt::format("`{}` knows no '{}'\n  hint: {}{}", fullName(app), unknown[0],
                       didYouMean(name, knownNames(app, name)), help);
  }
  std::string text = error.what();
  if (text.find("hint:") == std::string::npos)
    text += "\n  hint: " + help;
  return text;
}

int usage(const std::string &text) {
  say("tessera: {}\n", text);
  return Usage;
}

/// A word for a shell.
std::string quoted(const std::string &word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return word;
  std::string text = "'";
  for (const char character : word)
    text += character == '\'' ? "'\\''" : std::string(1, character);
  return text + "'";
}

int runChosen(const CLI::App &program, const CommonFlags &common,
              const std::vector<std::pair<const CLI::App *, Command>> &commands) {
  const CLI::App &app = chosen(program);
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const auto &one) { return one.first == &app; });
  if (found == commands.end())
    return usage(fmt::format("no command given after `{}`\n  hint: {}; `{} --help` shows examples", fullName(app),
                             fmt::join(innerCommands(app), ", "), fullName(app)));
  const Result<ExitCode> code = found->second(common);
  std::fflush(stdout); // before the message, where both go to one place
  if (code)
    return *code;
  say("tessera: {}\n", code.status().text());
  return exitCodeOf(code.status().code());
}

/// The whole command line: single commands, and two groups of them.
class CommandLine {
public:
  CommandLine() : program("Tessera: an attention compiler") {
    program.name("tessera");
    program.footer(kFooter);
    program.set_version_flag("--version", std::string("tessera ") + kVersion);
    program.set_help_flag("-h,--help", "this text, or that of a command");
    program.require_subcommand(0, 1);
    declare(program, {"run", "run an attention on a GPU or the simulator, and check it", declareRun});
    declare(program, {"compile", "compile a kernel, or show any stage of it", declareCompile});
    declare(program, {"explain", "which schedule is chosen, and why; why a kernel was not found", declareExplain});
    declare(program, {"tune", "find the fastest schedules for a GPU, and keep them", declareTune});
    declare(program, {"devices", "GPUs of this machine and simulated ones", declareDevices});
    declare(program, {"worker", "serves `tessera tune`", declareWorker});
    declare(bundleCommands());
    declare(cacheCommands());
  }

  int run(int argc, const char *const *argv) {
    common.commandLine = "tessera";
    for (int i = 1; i < argc; ++i)
      common.commandLine += " " + quoted(argv[i]);
    try {
      program.parse(argc, argv);
    } catch (const CLI::Success &wanted) { // --help, --version
      return program.exit(wanted);
    } catch (const CLI::ParseError &error) {
      return usage(sentence(chosen(program), error));
    }
    return runChosen(program, common, commands);
  }

private:
  void declare(CLI::App &parent, const CommandEntry &entry) {
    CLI::App *app = parent.add_subcommand(entry.name, entry.what);
    app->add_flag("--json", common.json, "print one JSON object on stdout")->group("Output");
    app->add_flag("--quiet", common.quiet, "print nothing on stderr but errors")->group("Output");
    commands.emplace_back(app, entry.declare(*app));
  }
  void declare(const CommandGroup &group) {
    CLI::App *app = program.add_subcommand(group.name, group.what);
    app->footer(group.footer);
    app->require_subcommand(0, 1);
    for (const CommandEntry &entry : group.commands)
      declare(*app, entry);
  }

  CLI::App program;
  CommonFlags common;
  std::vector<std::pair<const CLI::App *, Command>> commands;
};

} // namespace

namespace {

int runGuarded(int argc, const char *const *argv) {
  try {
    return CommandLine().run(argc, argv);
  } catch (const std::bad_alloc &) {
    say("tessera: out of memory\n  hint: make --batch, --heads or the lengths smaller\n");
  } catch (const std::exception &error) {
    say("tessera: {}\n", error.what());
  }
  return Failure;
}

} // namespace

int runProgram(int argc, const char *const *argv) {
  holdStandardStreams();
  const int code = runGuarded(argc, argv);
  if (stdoutComplete() || (code != Right && code != CheckFailed))
    return code;
  say("tessera: stdout takes no more, and part of the result is lost\n");
  return FileTrouble;
}

} // namespace tessera::cli
