// The flags of `tessera tune`: times, shards, shapes, lengths, and what contradicts what.
#include "autotune/cli/tune/TuneFlags.h"

#include "tests/unit/cli/Workshop.h"

using namespace tessera;
using namespace tessera::cli;

namespace {

class TuneFlagsTest : public test::Workshop {
protected:
  /// The tasks of a command line.
  Result<std::vector<tune::Task>> tasks(const std::string &arguments) {
    CLI::App app;
    TuneFlags flags;
    flags.addTo(app);
    app.parse(arguments);
    if (Status status = flags.check(); !status)
      return status;
    return flags.tasks(notes);
  }
  std::vector<std::string> notes;
};

TEST(TuneValues, TimesHaveUnits) {
  EXPECT_EQ(*parseDuration("90"), 90);
  EXPECT_EQ(*parseDuration("90s"), 90);
  EXPECT_EQ(*parseDuration("1.5m"), 90);
  EXPECT_EQ(*parseDuration("2h"), 7200);
  for (const char *wrong : {"", "0", "-1s", "5d", "s", "1e3", "nan", "inf", "1 s"})
    EXPECT_FALSE(parseDuration(wrong)) << wrong;
}

TEST(TuneValues, ShardsCountFromOne) {
  EXPECT_EQ(parseShard("1/1")->count, 1u);
  EXPECT_EQ(parseShard("3/8")->index, 3u);
  for (const char *wrong : {"", "0/8", "9/8", "1", "1/", "/8", "1/8/8", "-1/8", "1/0"})
    EXPECT_FALSE(parseShard(wrong)) << wrong;
}

TEST(TuneValues, ShapesAreOneLengthOrTwo) {
  EXPECT_EQ(parseShape("4096")->q, 4096);
  EXPECT_EQ(parseShape("4096")->kv, 4096);
  EXPECT_EQ(parseShape("1x4096")->q, 1);
  EXPECT_EQ(parseShape("1x4096")->kv, 4096);
  for (const char *wrong : {"", "x", "1x", "x1", "1x2x3", "0", "1x0", "-1"})
    EXPECT_FALSE(parseShape(wrong)) << wrong;
}

TEST(TuneValues, MarginsAreSharesOrPercent) {
  EXPECT_DOUBLE_EQ(*parseMargin("1%"), 0.01);
  EXPECT_DOUBLE_EQ(*parseMargin("0.02"), 0.02);
  EXPECT_DOUBLE_EQ(*parseMargin("0"), 0);
  for (const char *wrong : {"", "%", "51%", "0.6", "-1%", "1%%"})
    EXPECT_FALSE(parseMargin(wrong)) << wrong;
}

TEST_F(TuneFlagsTest, EachLengthIsATaskOfItsOwn) {
  const auto found = tasks("--seqlen 512,2048,512 --heads 8 --kv-heads 2");
  ASSERT_TRUE(found) << found.status().text();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[1].problem, (Problem{1, 8, 2, 2048, 2048}));
}

TEST_F(TuneFlagsTest, ADecodeHasItsOwnNumberOfQueries) {
  const auto found = tasks("--seqlen 4096,8192 --seqlen-q 1");
  ASSERT_TRUE(found) << found.status().text();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[1].problem.seqlenQ, 1);
  EXPECT_EQ((*found)[1].problem.seqlenKv, 8192);
}

TEST_F(TuneFlagsTest, AListOfAttentionsStandsInPlaceOfFlags) {
  write("s.json", R"([{"head-dim": 64, "seqlen-q": 128}, {"head-dim": 128, "causal": "top-left"}])");
  const auto alone = tasks("--specs " + path("s.json"));
  ASSERT_TRUE(alone) << alone.status().text();
  ASSERT_EQ(alone->size(), 2u);
  EXPECT_EQ((*alone)[0].problem.seqlenKv, 128);
  const auto withLengths = tasks("--specs " + path("s.json") + " --seqlen 64,96");
  ASSERT_TRUE(withLengths);
  EXPECT_EQ(withLengths->size(), 4u);
  const auto both = tasks("--specs " + path("s.json") + " --heads 8");
  ASSERT_FALSE(both);
  EXPECT_NE(both.status().text().find("--heads and --specs"), std::string::npos) << both.status().text();
}

TEST_F(TuneFlagsTest, NothingToTuneIsRefused) {
  EXPECT_FALSE(tasks("--heads 0 --kv-heads 0"));
  EXPECT_FALSE(tasks("--seqlen-q 0"));
}

TEST_F(TuneFlagsTest, ContradictionsAreNamed) {
  const std::pair<const char *, const char *> wrong[] = {
      {"--seqlen 8 --seqlen-kv 8", "--seqlen and --seqlen-kv"},
      {"--dry-run --status --log l", "two questions"},
      {"--status", "needs the log"},
      {"--replay a --log b", "--replay"},
      {"--replay a --bundle b", "--replay"},
      {"--exhaustive --top 4", "--exhaustive"},
      {"--public-key k", "--bundle"},
      {"--explain 64 --report r.html", "--report"},
      {"--log @l --report @./l", "--log and --report are both"},
      {"--log @l --specs @./l", "--log and --specs are both"},
      {"--log @l --bundle @l", "--log and --bundle are both"},
      {"--log @l --bundle b --public-key @l", "--log and --public-key are both"},
      {"--explain 64 --top 4", "--top has no effect with --explain"},
      {"--explain 64 --shard 1/2", "--shard has no effect with --explain"},
      {"--explain 64 --budget 9s", "--budget has no effect with --explain"},
      {"--explain 64 --trials 4", "--trials has no effect with --explain"},
      {"--explain 64 --knob warps=4", "--knob has no effect with --explain"},
      {"--explain 64 --exhaustive", "--exhaustive has no effect with --explain"},
      {"--explain 64 --no-record", "--no-record has no effect with --explain"},
      {"--explain 64 --seqlen 64,96", "--seqlen has no effect with --explain"},
      {"--explain 64 --seqlen-q 64", "--seqlen-q has no effect with --explain"},
      {"--explain 64 --margin 2%", "--margin has no effect with --explain"},
      {"--explain 64 --log @l --bundle b", "--bundle has no effect with --explain"},
      {"--explain 64 --log @l --cache-dir @c", "--cache-dir has no effect with --explain"},
      {"--status --log @l --no-record", "--no-record has no effect with --status"},
      {"--status --log @l --cache-dir @c", "--cache-dir has no effect with --status"},
      {"--replay @l --device sim:a100", "--device has no effect with --replay"},
      {"--replay @l --head-dim 64", "--head-dim has no effect with --replay"},
      {"--status --log @l --seqlen 64", "--seqlen has no effect with --status"},
      {"--replay @l --dry-run", "--dry-run"},
  };
  for (const auto &[arguments, part] : wrong)
    expectRefused(std::string("tune ") + arguments, 2, part);
}

TEST_F(TuneFlagsTest, ValuesOfAKnobAddUp) {
  CLI::App app;
  TuneFlags flags;
  flags.addTo(app);
  app.parse("--knob tile_q=64 --knob tile_q=128,256 --knob warps=4");
  EXPECT_EQ(flags.options().limits["tile_q"], (std::vector<std::string>{"64", "128", "256"}));
  EXPECT_EQ(flags.options().limits["warps"], std::vector<std::string>{"4"});
}

TEST_F(TuneFlagsTest, WhatTheDeviceCannotHoldIsRefused) {
  expectRefused("tune --device sim:a100 --head-dim 64 --seqlen 2147483647 --dry-run", 3, "GiB");
}

TEST_F(TuneFlagsTest, AKnobIsANameWithValues) {
  expectRefused("tune --knob tile_kv", 2, "--knob");
  expectRefused("tune --knob =64", 2, "--knob");
  expectRefused("tune --device sim:a100 --knob tile=64 --dry-run", 2, "tile");
}

} // namespace
