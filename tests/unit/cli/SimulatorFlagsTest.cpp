// Flags of the simulated GPU to options of its private interface.
#include "autotune/cli/SimulatorFlags.h"
#include "tests/unit/cli/RunProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::cli;
using tessera::test::Ran;
using tessera::test::runTessera;

namespace {

SimulatorFlags parsed(const std::string &arguments) {
  CLI::App app;
  SimulatorFlags flags;
  flags.addTo(app);
  app.parse(arguments, false);
  return flags;
}

TEST(SimulatorFlags, OnlyWhatIsGivenIsSet) {
  EXPECT_EQ(parsed("").options(), nlohmann::json::object());
  EXPECT_EQ(parsed("").given(), "");
  const SimulatorFlags flags =
      parsed("--checks off --sim-races on --sim-schedule random --sim-mma hardware --sim-seed 7 "
             "--sim-threads 3 --sim-max-findings 2 --sim-instruction-limit 1000 --sim-clock-mhz 1200.5");
  const nlohmann::json expected = {
      {"checks", false}, {"races", true},     {"schedule", "random"},      {"mma", "hardware"},  {"seed", 7},
      {"threads", 3},    {"max_findings", 2}, {"instruction_limit", 1000}, {"clock_mhz", 1200.5}};
  EXPECT_EQ(flags.options(), expected);
  EXPECT_EQ(flags.given(), "--checks");
  EXPECT_EQ(parsed("--sim-seed 7 --sim-mma stress").given(), "--sim-mma");
}

TEST(SimulatorFlags, ASeedThatNothingDrawsFromIsRefused) {
  EXPECT_FALSE(parsed("--sim-seed 7").check());
  EXPECT_FALSE(parsed("--sim-seed 7 --sim-schedule late").check());
  EXPECT_TRUE(parsed("--sim-seed 7 --sim-schedule random").check());
  EXPECT_TRUE(parsed("--sim-seed 7 --sim-mma stress").check());
  EXPECT_TRUE(parsed("--sim-schedule random").check());
}

TEST(SimulatorFlags, MistakesAreUsageErrorsWithValueAndRemedy) {
  const std::pair<const char *, const char *> mistakes[] = {
      {"run --sim-schedule latest", "'latest' is not an order of warps and asynchronous operations; give one of late"},
      {"run --sim-mma fast", "exact, hardware, stress"},
      {"run --sim-threads -1", "'-1' is not a whole number from 0"},
      {"run --sim-races maybe", "'maybe' is not on or off"},
      {"run --device sim:a100 --sim-clock-mhz -5", "--sim-clock-mhz is -5"},
      {"run --device sim:a100 --sim-seed 3", "nothing draws from --sim-seed 3"},
  };
  for (const auto &[arguments, expected] : mistakes) {
    const Ran run = runTessera(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(expected), std::string::npos) << arguments << "\n" << run.err;
  }
  const std::string help = runTessera("run --help").out;
  for (const char *part : {"--profile", ".trace.json", "speedscope", "--sim-schedule", "--sim-instruction-limit"})
    EXPECT_NE(help.find(part), std::string::npos) << part;
}

} // namespace
