// The written forms of a profile: structure as the viewers document it, and sums that are those of the counters.
#include "autotune/cli/profile/Writers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

using namespace tessera::cli::profile;
using Json = nlohmann::ordered_json;

namespace {

// Line 1 to 9; a loop at 3 to 7 with another at 4 to 5, and a function g at 9.
constexpr std::string_view ptx = ".entry k() {\n  mov.u32 %a, 0;\nL:\nM: add.u32 %b, %b, 1;\n  ex2 %f, %f; @%p bra M;\n"
                                 "  mma %c;\n  @%q bra L;\n}\n  g.mul %d;\n";

Json instruction(int line, const char *text, const char *pipe, Json loop, double executions, Json clocks,
                 const char *function = "k") {
  return {{"function", function},
          {"line", line},
          {"text", text},
          {"pipe", pipe},
          {"loop", std::move(loop)},
          {"executions", executions},
          {"lanes", executions * 16},
          {"wavefronts", 0},
          {"ideal_wavefronts", 0},
          {"sectors", line == 6 ? 12 : 0},
          {"ideal_sectors", line == 6 ? 8 : 0},
          {"bytes", 0},
          {"modelled_clocks", std::move(clocks)}};
}

Json loop(const char *label, int first, int last, int depth, Json parent, double iterations, Json clocks) {
  return {{"function", "k"},
          {"label", label},
          {"first_line", first},
          {"last_line", last},
          {"header_line", 4},
          {"depth", depth},
          {"parent", parent},
          {"iterations", iterations},
          {"warp_instructions", 10},
          {"mma_flops", 64},
          {"ex2", 2},
          {"bytes", 0},
          {"sectors", 12},
          {"ideal_sectors", 8},
          {"wavefronts", 0},
          {"ideal_wavefronts", 0},
          {"modelled_clocks", std::move(clocks)},
          {"bound_by", "tensor"}};
}

Json counters() {
  return {{"device", "a100"},
          {"kernel", "k"},
          {"grid", {4, 1, 1}},
          {"block", {32, 1, 1}},
          {"registers", 40},
          {"blocks_per_sm", 2},
          {"modelled_microseconds", 3.5},
          {"clock_mhz", 1000},
          {"busiest_share", 0.25},
          {"warp_instructions", 41},
          {"by_pipe", {{"alu", 12}, {"mufu", 12}, {"tensor", 4}, {"fma", 1}, {"control", 8}, {"folded", 4}}},
          {"modelled_clocks",
           {{"fma", 0.5}, {"alu", 6.0}, {"mufu", 24.0}, {"tensor", 40.0}, {"issue", 9.25}, {"memory", 2.0}}},
          {"bound_by", "tensor"},
          {"loops",
           {loop("L", 4, 7, 1, nullptr, 4, {{"alu", 6.0}, {"mufu", 24.0}, {"tensor", 40.0}, {"issue", 9.0}}),
            loop("M", 4, 5, 2, 0, 12, {{"alu", 6.0}, {"mufu", 24.0}, {"issue", 7.0}})}},
          {"instructions",
           {instruction(2, "mov.u32 %a, 0", "folded", nullptr, 4, Json::object()),
            instruction(4, "add.u32 %b, %b, 1", "alu", 1, 12, {{"alu", 6.0}, {"issue", 3.0}}),
            instruction(5, "ex2 %f, %f", "mufu", 1, 12, {{"mufu", 24.0}, {"issue", 3.0}}),
            instruction(5, "@%p bra M", "control", 1, 4, {{"issue", 1.0}}),
            instruction(6, "mma %c", "tensor", 0, 4, {{"tensor", 40.0}, {"issue", 1.0}}),
            instruction(7, "@%q bra L", "control", 0, 4, {{"issue", 1.0}}),
            instruction(9, "g.mul %d", "fma", nullptr, 1, {{"fma", 0.5}, {"issue", 0.25}}, "g")}}};
}

LaunchProfile sample() {
  auto profile = readProfile(counters());
  EXPECT_TRUE(profile) << profile.status().text();
  return *profile;
}

TEST(Profile, TheFileNameSaysTheForm) {
  EXPECT_EQ(formOf("a.txt"), Form::Listing);
  EXPECT_EQ(formOf("a.ptx"), Form::Listing);
  EXPECT_EQ(formOf("json"), Form::Listing);
  EXPECT_EQ(formOf("a.json"), Form::Speedscope);
  EXPECT_EQ(formOf("x/a.speedscope.json"), Form::Speedscope);
  EXPECT_EQ(formOf("a.trace.json"), Form::ChromeTrace);
}

TEST(Profile, CountersOfAnotherVersionAreRefused) {
  for (const char *key : {"instructions", "loops", "modelled_clocks", "busiest_share"}) {
    Json broken = counters();
    broken.erase(key);
    const auto profile = readProfile(broken);
    ASSERT_FALSE(profile) << key;
    EXPECT_NE(profile.status().message().find(key), std::string::npos) << profile.status().text();
  }
  Json wrongLoop = counters();
  wrongLoop["instructions"][1]["loop"] = 2;
  EXPECT_FALSE(readProfile(wrongLoop));
  Json circle = counters();
  circle["loops"][0]["parent"] = 1;
  EXPECT_FALSE(readProfile(circle));
  EXPECT_FALSE(readProfile(Json::object()));
}

TEST(Profile, ClocksOfAnIterationAreThoseOfTheBusiestSm) {
  const LaunchProfile profile = sample();
  // That SM does a quarter of the 4 iterations.
  EXPECT_DOUBLE_EQ(clocksPerIteration(profile, profile.loops[0], "tensor"), 40);
  EXPECT_DOUBLE_EQ(clocksPerIteration(profile, profile.loops[1], "mufu"), 8);
  EXPECT_DOUBLE_EQ(clocksPerIteration(profile, profile.loops[1], "tensor"), 0);
}

// https://www.speedscope.app/file-format-schema.json: what it requires of a file, its frames and its sampled profiles.
TEST(Profile, SpeedscopeFilesFollowTheSchemaAndAddUp) {
  const Json file = Json::parse(speedscope(sample(), "k.ptx"));
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  const size_t frames = file["shared"]["frames"].size();
  for (const Json &frame : file["shared"]["frames"]) {
    EXPECT_TRUE(frame["name"].is_string());
    EXPECT_EQ(frame.contains("file"), frame.contains("line"));
  }
  EXPECT_LT(file["activeProfileIndex"].get<size_t>(), file["profiles"].size());
  std::map<std::string, double> totals;
  for (const Json &graph : file["profiles"]) {
    EXPECT_EQ(graph["type"], "sampled");
    EXPECT_EQ(graph["unit"], "none");
    ASSERT_EQ(graph["samples"].size(), graph["weights"].size());
    double sum = 0;
    for (size_t i = 0; i < graph["samples"].size(); ++i) {
      EXPECT_GE(graph["samples"][i].size(), 2u);
      for (const Json &frame : graph["samples"][i])
        EXPECT_LT(frame.get<size_t>(), frames);
      EXPECT_GT(graph["weights"][i].get<double>(), 0);
      sum += graph["weights"][i].get<double>();
    }
    EXPECT_EQ(graph["startValue"], 0);
    EXPECT_DOUBLE_EQ(graph["endValue"].get<double>(), sum);
    totals[graph["name"]] = sum;
  }
  const std::map<std::string, double> expected = {{"alu: modelled clocks", 6},      {"fma: modelled clocks", 0.5},
                                                  {"mufu: modelled clocks", 24},    {"tensor: modelled clocks", 40},
                                                  {"issue: modelled clocks", 9.25}, {"warp instructions", 41}};
  EXPECT_EQ(totals, expected);
  EXPECT_EQ(file["profiles"][0]["name"], "tensor: modelled clocks"); // what bounds the kernel comes first
}

TEST(Profile, SpeedscopeStacksAreKernelLoopsPipeInstruction) {
  const Json file = Json::parse(speedscope(sample(), "k.ptx"));
  const auto names = [&](const Json &stack) {
    std::vector<std::string> texts;
    for (const Json &frame : stack)
      texts.push_back(file["shared"]["frames"][frame.get<size_t>()]["name"]);
    return texts;
  };
  const Json &all = file["profiles"].back();
  ASSERT_EQ(all["samples"].size(), 7u);
  EXPECT_EQ(names(all["samples"][1]),
            (std::vector<std::string>{"k", "loop L, lines 4-7", "loop M, lines 4-5", "alu", "4: add.u32 %b, %b, 1"}));
  EXPECT_EQ(names(all["samples"][4]), (std::vector<std::string>{"k", "loop L, lines 4-7", "tensor", "6: mma %c"}));
  EXPECT_EQ(names(all["samples"][6]), (std::vector<std::string>{"k", "g", "fma", "9: g.mul %d"}));
}

TEST(Profile, TraceEventsNestAndEachTrackIsAsLongAsItsUnitIsBusy) {
  const Json file = Json::parse(chromeTrace(sample()));
  std::map<int, std::string> tracks;
  std::map<int, std::vector<std::pair<double, double>>> spans; // by track
  std::map<std::string, double> kernel, instructions;
  for (const Json &event : file["traceEvents"]) {
    EXPECT_EQ(event["pid"], 1);
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name")
        tracks[event["tid"]] = event["args"]["name"];
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    const double begin = event["ts"], duration = event["dur"];
    EXPECT_GE(begin, 0);
    spans[event["tid"]].emplace_back(begin, begin + duration);
    const std::string &track = tracks[event["tid"]];
    if (event["cat"] == "kernel")
      kernel[track] = duration;
    if (event["cat"] == "instruction")
      instructions[track] += event["args"]["clocks"].get<double>();
  }
  const std::map<std::string, double> busy = {{"alu (modelled)", 6},
                                              {"fma (modelled)", 0.5},
                                              {"mufu (modelled)", 24},
                                              {"tensor (modelled)", 40},
                                              {"issue (modelled)", 9.25}};
  EXPECT_EQ(kernel, busy);
  EXPECT_EQ(instructions, busy);
  for (const auto &[track, on] : spans)
    for (const auto &a : on)
      for (const auto &b : on) // apart, or one in the other
        EXPECT_TRUE(a.second <= b.first || b.second <= a.first || (a.first <= b.first && b.second <= a.second) ||
                    (b.first <= a.first && a.second <= b.second))
            << track << ": " << a.first << "-" << a.second << " and " << b.first << "-" << b.second;
}

TEST(Profile, TheListingHoldsThePtxLineByLineWithWhatItDid) {
  const std::string text = annotatedListing(sample(), ptx);
  std::vector<std::string> rows;
  std::istringstream stream(text);
  bool body = false;
  for (std::string line; std::getline(stream, line);) {
    if (body)
      rows.push_back(line);
    body |= line.find("executions") == 0 || line.find(" executions") == 0;
  }
  ASSERT_EQ(rows.size(), 9u + 2); // two instructions of line 5 have rows of their own
  size_t at = 0;
  std::istringstream source{std::string(ptx)};
  for (std::string line; std::getline(source, line); ++at) {
    while (at < rows.size() && !rows[at].ends_with("|" + line))
      ++at;
    ASSERT_LT(at, rows.size()) << "missing: " << line << "\n" << text;
  }
  const auto rowOf = [&](const char *instruction) {
    for (const std::string &row : rows)
      if (row.find(instruction) != std::string::npos && row.find('%') < row.find('|'))
        return row;
    return std::string();
  };
  const std::string mma = rowOf("mma %c"), add = rowOf("add.u32"), branch = rowOf("bra M");
  for (const char *part : {" 4 ", "50%", "tensor", "40.0", "100.0%", "12/8", "[1]"})
    EXPECT_NE(mma.find(part), std::string::npos) << part << " in " << mma;
  EXPECT_NE(add.find("[1][2]>"), std::string::npos) << add;   // in both loops, the header of the inner one
  EXPECT_NE(branch.find("1.0"), std::string::npos) << branch; // a pipe without clocks shows its issue slots
  EXPECT_NE(text.find("bound by tensor"), std::string::npos);
  EXPECT_NE(text.find("modelled"), std::string::npos);
  EXPECT_NE(text.find("loop M, lines 4-5: 12 iterations"), std::string::npos) << text;
}

TEST(Profile, AFileThatCannotBeWrittenIsAnError) {
  const std::string folder = testing::TempDir() + "tessera-profile-test";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(writeProfile(folder + "/p.json", sample(), ptx));
  std::ifstream written(folder + "/p.json");
  EXPECT_TRUE(Json::parse(written).contains("profiles"));
  EXPECT_FALSE(writeProfile(folder + "/no/such/p.json", sample(), ptx));
  std::filesystem::remove_all(folder);
}

} // namespace
