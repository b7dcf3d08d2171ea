// tessera cache as a shell sees it.
#include "tests/unit/cli/Workshop.h"

#include <fcntl.h>
#include <sys/stat.h>

using tessera::test::Ran;

namespace {

class CacheCommands : public tessera::test::Workshop {
protected:
  /// Two entries: d 64 was used last an hour and more after d 32.
  void fill() {
    for (const char *dim : {"32", "64"}) {
      write("specs.json", std::string(R"([{"head-dim": )") + dim + "}]");
      const Ran run = tessera("bundle build --specs @specs.json --targets sm_80 -o @a.tsb");
      ASSERT_EQ(run.code, 0) << run.err;
      if (dim == std::string("32")) {
        const auto entries = json("cache list")["entries"];
        ASSERT_EQ(entries.size(), 1u);
        const timespec old[2] = {{1700000000, 0}, {1700000000, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, entries[0]["path"].get<std::string>().c_str(), old, 0), 0);
      }
    }
  }
};

TEST_F(CacheCommands, AFolderThatIsNotThereIsAnEmptyCache) {
  const auto report = json("cache stat");
  EXPECT_EQ(report["directory"], path("cache"));
  EXPECT_EQ(report["exists"], false);
  EXPECT_EQ(report["entries"], 0);
  EXPECT_EQ(report["mode"], "rw");
  EXPECT_EQ(report["oldest_use"], nullptr);
  EXPECT_NE(tessera("cache stat").out.find("not there yet"), std::string::npos);
  EXPECT_NE(tessera("cache list").out.find("no kernel is kept"), std::string::npos);
  for (const char *command :
       {"cache list", "cache verify", "cache verify --remove", "cache trim --to 1M", "cache clear"})
    EXPECT_EQ(tessera(command).code, 0) << command;
  EXPECT_FALSE(exists("cache")) << "looking makes nothing";
}

TEST_F(CacheCommands, StatAndListShowWhatIsKept) {
  fill();
  const auto stat = json("cache stat");
  EXPECT_EQ(stat["entries"], 2);
  EXPECT_EQ(stat["schema"], "v1");
  EXPECT_EQ(stat["oldest_use"], "2023-11-14 22:13Z");
  EXPECT_EQ(stat["max_bytes"], 1 << 30);
  const auto entries = json("cache list")["entries"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_NE(entries[0]["spec"].get<std::string>().find("d=64"), std::string::npos) << "the last used comes first";
  EXPECT_EQ(entries[1]["last_use"], "2023-11-14 22:13Z");
  EXPECT_EQ(entries[1]["target"], "sm_80");
  EXPECT_EQ(entries[1]["compiler"], "stub build");
  EXPECT_EQ(entries[1]["assembler"], "stub 1.0");
  EXPECT_EQ(entries[0]["bytes"].get<uint64_t>() + entries[1]["bytes"].get<uint64_t>(), stat["bytes"]);
  const Ran list = tessera("cache list");
  EXPECT_NE(list.out.find("bf16, d 64, full"), std::string::npos) << list.out;
}

TEST_F(CacheCommands, StatSaysTheModeThatProgramsHave) {
  setenv("TESSERA_CACHE", "refresh", 1);
  setenv("TESSERA_CACHE_SIZE", "5M", 1);
  EXPECT_EQ(json("cache stat")["mode"], "refresh");
  EXPECT_EQ(json("cache stat")["max_bytes"], 5 << 20);
  setenv("TESSERA_CACHE", "off", 1);
  EXPECT_EQ(json("cache stat")["mode"], "off");
}

TEST_F(CacheCommands, VerifyNamesAndRemovesWhatIsUnsound) {
  fill();
  EXPECT_EQ(json("cache verify")["entries"], 2);
  const std::string victim = json("cache list")["entries"][0]["path"];
  std::filesystem::resize_file(victim, 100);
  const Ran found = tessera("cache verify");
  EXPECT_EQ(found.code, 1);
  EXPECT_NE(found.out.find("malformed: " + victim), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("1 of 2 entries"), std::string::npos) << found.out;
  EXPECT_TRUE(std::filesystem::exists(victim));
  EXPECT_EQ(found.out.find("(removed)"), std::string::npos) << found.out;
  const auto report = json("cache verify --remove", 1);
  EXPECT_EQ(report["unsound"][0]["fault"], "malformed");
  EXPECT_EQ(report["unsound"][0]["removed"], true);
  EXPECT_FALSE(std::filesystem::exists(victim));
  EXPECT_EQ(json("cache verify")["entries"], 1);
}

TEST_F(CacheCommands, TrimTakesTheLeastRecentlyUsedAndClearEverything) {
  fill();
  const auto entries = json("cache list")["entries"];
  const auto trimmed = json("cache trim --to " + std::to_string(entries[0]["bytes"].get<uint64_t>()));
  EXPECT_EQ(trimmed["removed_entries"], 1);
  EXPECT_EQ(trimmed["removed_bytes"], entries[1]["bytes"]);
  EXPECT_EQ(trimmed["bytes"], entries[0]["bytes"]);
  EXPECT_FALSE(std::filesystem::exists(entries[1]["path"].get<std::string>()));
  const Ran cleared = tessera("cache clear");
  EXPECT_EQ(cleared.code, 0);
  EXPECT_NE(cleared.out.find("removed 1 entry,"), std::string::npos) << cleared.out;
  EXPECT_EQ(json("cache stat")["entries"], 0);
}

TEST_F(CacheCommands, AFolderThatOthersMayWriteIsRefusedWithTheReason) {
  fill();
  ASSERT_EQ(::chmod(path("cache").c_str(), 0777), 0);
  for (const char *command : {"cache stat", "cache list", "cache verify", "cache trim --to 1M", "cache clear"})
    expectRefused(command, 5, "can be written by others");
}

TEST_F(CacheCommands, AFileInPlaceOfTheFolderIsRefused) {
  write("file", "");
  for (const char *command : {"cache stat", "cache list", "cache verify", "cache trim --to 1M", "cache clear"})
    expectRefused(std::string(command) + " --cache-dir @file", 5, path("file"));
}

TEST_F(CacheCommands, ASizeInTheEnvironmentThatIsNoneIsAUsageError) {
  setenv("TESSERA_CACHE_SIZE", "512MX", 1);
  for (const char *command : {"cache stat", "cache list", "cache verify", "cache trim --to 1M", "cache clear"})
    expectRefused(command, 2, "TESSERA_CACHE_SIZE: '512MX' is not a size\n  hint: a count of bytes");
}

TEST_F(CacheCommands, WhatCannotBeReadOrRemovedIsFileTrouble) {
  fill();
  // A folder with something in it, where an entry should be, is removed by no one, root included.
  const std::string entry = json("cache list")["entries"][0]["path"];
  std::filesystem::remove(entry);
  std::filesystem::create_directory(entry);
  std::ofstream(entry + "/of somebody") << "x";
  const auto run = [&](const std::string &command, const char *part) {
    const Ran ran = tessera(command);
    EXPECT_EQ(ran.code, 5) << command << "\n" << ran.out << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << command << "\n" << ran.err;
    return ran;
  };
  const Ran verified = run("cache verify --remove", "1 unsound entry could not be removed");
  EXPECT_EQ(verified.out.find("(removed)"), std::string::npos) << verified.out;
  EXPECT_EQ(json("cache verify", 1)["unsound"][0]["removed"], false);
  const Ran cleared = run("cache clear", "1 removal failed: ");
  EXPECT_NE(cleared.err.find(entry), std::string::npos) << cleared.err;
  EXPECT_NE(cleared.out.find("removed 1 entry,"), std::string::npos) << cleared.out;
}

TEST_F(CacheCommands, WithoutAnyFolderTheRemedyIsSaid) {
  unsetenv("TESSERA_CACHE_DIR");
  const char *home = std::getenv("HOME");
  const std::string kept = home ? home : "";
  unsetenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  expectRefused("cache stat", 2, "TESSERA_CACHE_DIR");
  setenv("HOME", kept.c_str(), 1);
}

TEST_F(CacheCommands, MistakesAreNamed) {
  expectRefused("cache", 2, "stat, list, verify, trim, clear");
  expectRefused("cache sat", 2, "did you mean stat?");
  expectRefused("cache trim", 2, "--to is required");
  expectRefused("cache trim --to 5x", 2, "'5x' is not a size");
  expectRefused("cache clear everything", 2, "knows no 'everything'");
}

} // namespace
