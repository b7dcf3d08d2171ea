// AsyncHarness: PTX kernels that synchronise, run under every schedule, whole and with one line changed.
#pragma once

#include "tests/unit/simulator/Harness.h"

#include <fmt/format.h>
#include <string_view>

namespace tessera::sim::test {

constexpr unsigned randomSchedules = 50;

class AsyncKernel : public testing::Test {
protected:
  /// `body` sees %in (1024 words, word i is i), %out, %thread, %lane, %warp, 4096 bytes of shared memory s and 64 bytes
  /// bar.
  LaunchReport run(const std::string &body, uint32_t threads) {
    Machine machine(profile);
    machine.options = options;
    machine.load(header(target) + ".shared .align 16 .b8 s[4096];\n.shared .align 8 .b8 bar[64];\n" + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b64 %in, %out, %from, %to, %state, %y<20>; .reg .b32 %thread, %lane, %warp, %x<40>; .reg .pred %done, %p<10>;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x; mov.u32 %lane, %laneid; shr.u32 %warp, %thread, 5;
  mul.wide.u32 %y19, %thread, 4; add.u64 %from, %in, %y19; add.u64 %to, %out, %y19;
  mov.u32 %x38, s; mov.u32 %x39, bar;
)" + body + "\n  ret;\n}\n");
    std::vector<uint32_t> words(1024);
    for (uint32_t i = 0; i < 1024; ++i)
      words[i] = i;
    uint64_t in = machine.upload(words, "input"), out = machine.upload(std::vector<uint32_t>(1024), "output");
    LaunchReport report = machine.run({1, 1, 1}, {threads, 1, 1}, {in, out});
    result = machine.download<uint32_t>(out, 1024);
    return report;
  }

  /// Late, Eager, then random schedules.
  template <class Check> void inAllSchedules(Check check) {
    for (unsigned i = 0; i < randomSchedules + 2 && !HasFailure(); ++i) {
      options.schedule = i == 0 ? Schedule::Late : i == 1 ? Schedule::Eager : Schedule::Random;
      options.seed = i;
      check();
      if (HasFailure())
        ADD_FAILURE() << "in schedule " << i;
    }
    options = {};
  }
  /// Clean everywhere, with `out[i] == expected(i)` for the threads; without checks too.
  template <class Expected> void expectResult(const std::string &body, uint32_t threads, Expected expected) {
    auto check = [&] {
      expectClean(run(body, threads));
      for (uint32_t i = 0; i < threads; ++i)
        ASSERT_EQ(result[i], expected(i)) << i;
    };
    inAllSchedules(check);
    for (Schedule schedule : {Schedule::Late, Schedule::Eager, Schedule::Random}) {
      options.checks = false;
      options.schedule = schedule;
      check();
    }
    options = {};
  }
  /// Something of this kind is reported under both orderly schedules, with `part` in its text.
  Finding expectFinding(const std::string &body, uint32_t threads, FindingKind kind, std::string_view part) {
    Finding first;
    for (Schedule schedule : {Schedule::Eager, Schedule::Late}) {
      options.schedule = schedule;
      LaunchReport report = run(body, threads);
      const Finding *found = nullptr;
      for (const Finding &f : report.findings)
        if (f.kind == kind && f.text.find(part) != std::string::npos && !found)
          found = &f;
      if (!found) {
        ADD_FAILURE() << "no " << toString(kind) << " with '" << part << "' in\n" << body;
        for (const Finding &f : report.findings)
          ADD_FAILURE() << f.text;
        continue;
      }
      first = *found;
      EXPECT_GT(first.line, 0u);
      EXPECT_FALSE(first.instruction.empty());
    }
    options = {};
    return first;
  }

  Options options;
  std::vector<uint32_t> result;
  std::string profile = "a100", target = "sm_80";
};

} // namespace tessera::sim::test
