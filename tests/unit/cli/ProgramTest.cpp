// The program as a shell sees it: exit codes, and sentences that hold the value and a remedy. Nothing here needs a
// device.
#include "tests/unit/cli/RunProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using tessera::test::Ran;
using tessera::test::runTessera;

namespace {

TEST(Program, HelpAndVersionAreRight) {
  EXPECT_EQ(runTessera("--help").code, 0);
  EXPECT_NE(runTessera("--help").out.find("Exit codes"), std::string::npos);
  EXPECT_NE(runTessera("run --help").out.find("--seqlen-kv"), std::string::npos);
  EXPECT_EQ(runTessera("--version").out.rfind("tessera ", 0), 0u);
}

TEST(Program, MistakesAreUsageErrorsWithValueAndRemedy) {
  const std::pair<const char *, const char *> mistakes[] = {
      {"", "no command given"},
      {"fly", "knows no 'fly'"},
      {"run --bacth 3", "did you mean --batch?"},
      {"run --batch x", "'x' is not a whole number from 0"},
      {"run --batch", "--batch"},
      {"run --dtype f8", "'f8' is not an element type; give f16, bf16 or f32"},
      {"run --causal up", "bottom-right"},
      {"run --window 3,-1", "'3,-1' is not a window"},
      {"run --heads 3 --kv-heads 2 --device sim:a100", "3 query heads cannot be shared out over 2"},
      {"run --q a.npy", "1 of --q, --k and --v is given"},
      {"run --out o.txt", "neither .npy nor .safetensors"},
      {"run --seqlen-q 2000000000 --heads 1000000", "GiB"},
      {"explain --target sm_70", "sm_80"},
      {"explain --target sm_80 --softcap -1", "-1"},
      {"explain --target sm_80 --schedule nonsense", "--schedule"},
      {"compile --target sm_80 --emit sass", "give one of attn"},
      {"compile --target sm_80 --json", "cannot both go to stdout"},
  };
  for (const auto &[arguments, expected] : mistakes) {
    const Ran run = runTessera(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(expected), std::string::npos) << arguments << "\n" << run.err;
    EXPECT_NE(run.err.find("hint:"), std::string::npos) << arguments << "\n" << run.err;
    EXPECT_EQ(run.out, "") << arguments;
  }
}

TEST(Program, TheKindOfTroubleIsInTheExitCode) {
  EXPECT_EQ(runTessera("explain --target sm_80 --head-dim 100").code, 3);
  EXPECT_EQ(runTessera("explain --target sm_80 --head-dim 512").code, 3);
  EXPECT_EQ(runTessera("run --device cuda:9999").code, 4);
  EXPECT_EQ(runTessera("run --q no.npy --k no.npy --v no.npy").code, 5);
}

TEST(Program, ExplainSaysWhatIsChosenAndWhy) {
  const Ran run = runTessera("explain --json --target sm_86 --head-dim 256 --causal bottom-right");
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["target"], "sm_86");
  EXPECT_EQ(report["problem"]["mask"]["align"], "bottom-right");
  EXPECT_FALSE(report["schedule_reason"].get<std::string>().empty());
  EXPECT_LE(report["shared_bytes"].get<int>(), 99 * 1024);
  EXPECT_GT(report["least"]["flops"].get<double>(), 0);
  EXPECT_GE(report["least"]["flops_in_tiles"].get<double>(), report["least"]["flops"].get<double>());
  // A schedule given back is the schedule explained.
  const std::string schedule = report["schedule"];
  const Ran again = runTessera("explain --target sm_86 --head-dim 256 --causal bottom-right --schedule " + schedule);
  EXPECT_NE(again.out.find(schedule), std::string::npos) << again.out << again.err;
  EXPECT_NE(again.out.find("given by the caller"), std::string::npos);
}

TEST(Program, AnAssumedAlignmentIsSaid) {
  EXPECT_NE(runTessera("explain --target sm_80 --window 3,0").out.find("aligned bottom-right"), std::string::npos);
  EXPECT_EQ(runTessera("explain --target sm_80 --window 3,0 --align top-left").out.find("note"), std::string::npos);
}

} // namespace
