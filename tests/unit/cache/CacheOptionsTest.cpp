// Modes and sizes in words, and which folder a cache has (B3: HOME that is unset, "/", or not to be written).
#include "runtime/cache/CacheOptions.h"
#include "runtime/cache/DiskCache.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <system_error>
#include <tuple>

namespace tessera {
namespace {

using namespace tessera::test;

/// No variable of the machine reaches these tests.
class CacheOptionsTest : public testing::Test {
protected:
  EnvironmentValue mode{"TESSERA_CACHE", std::nullopt}, directory{"TESSERA_CACHE_DIR", std::nullopt},
      size{"TESSERA_CACHE_SIZE", std::nullopt}, xdg{"XDG_CACHE_HOME", std::nullopt}, home{"HOME", std::nullopt};
  std::vector<std::string> warnings;

  std::shared_ptr<DiskCache> open(CacheOptions options = {}) {
    warnings.clear();
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); });
  }
};

TEST_F(CacheOptionsTest, ModesRoundTrip) {
  for (CacheMode mode : {CacheMode::ReadWrite, CacheMode::ReadOnly, CacheMode::Refresh, CacheMode::Off})
    EXPECT_EQ(parseCacheMode(name(mode)), mode);
  EXPECT_EQ(parseCacheMode("RW"), std::nullopt);
  EXPECT_EQ(parseCacheMode(""), std::nullopt);
}

TEST_F(CacheOptionsTest, ByteCountsAreRead) {
  const std::pair<const char *, uint64_t> good[] = {{"0", 0},
                                                    {"1048576", 1048576},
                                                    {"512M", 512u << 20},
                                                    {"2G", 2ull << 30},
                                                    {"1.5GiB", 3ull << 29},
                                                    {"1.5 GiB", 3ull << 29},
                                                    {"3k", 3072},
                                                    {"1T", 1ull << 40},
                                                    {"512 bytes", 512},
                                                    {"1 byte", 1},
                                                    {"7B", 7},
                                                    {"8388607T", 8388607ull << 40}};
  for (auto [text, bytes] : good) {
    Result<uint64_t> read = parseByteCount(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, bytes) << text;
  }
  for (const char *bad : {"",
                          "M",
                          "-1",
                          "+1",
                          "1.5",
                          "1..5M",
                          "1.2.3M",
                          ".5G",
                          "1e3",
                          "0x10",
                          "nan",
                          "inf",
                          "512X",
                          "512MB",
                          "5 ",
                          "5  M",
                          " 5",
                          "8388608T",
                          "99999999999999999999",
                          "9999999999999.5T",
                          "1Mi"}) {
    Result<uint64_t> read = parseByteCount(bad);
    EXPECT_EQ(read.status().code(), Code::InvalidArgument) << bad;
    EXPECT_NE(read.status().hint().find("512M"), std::string::npos) << bad;
  }
}

TEST_F(CacheOptionsTest, ByteTextsAreShortAndCanBeReadAgain) {
  EXPECT_EQ(byteText(0), "0 bytes");
  EXPECT_EQ(byteText(1), "1 byte");
  EXPECT_EQ(byteText(1023), "1023 bytes");
  EXPECT_EQ(byteText(1024), "1 KiB");
  EXPECT_EQ(byteText(3ull << 29), "1.5 GiB");
  EXPECT_EQ(byteText((1ull << 30) - 1), "1.0 GiB");
  EXPECT_EQ(byteText(1ull << 50), "1024 TiB");
  for (uint64_t bytes : {0ull, 1ull, 5ull, 1536ull, 3ull << 29, 1ull << 40})
    EXPECT_EQ(*parseByteCount(byteText(bytes)), bytes);
}

TEST_F(CacheOptionsTest, DirectoriesInTheirOrder) {
  CacheOptions options;
  EnvironmentValue home("HOME", "/h");
  EXPECT_EQ(*cacheDirectory(options), "/h/.cache/tessera");
  EnvironmentValue relative("XDG_CACHE_HOME", "x");
  EXPECT_EQ(*cacheDirectory(options), "/h/.cache/tessera") << "the XDG specification ignores relative folders";
  EnvironmentValue xdg("XDG_CACHE_HOME", "/x/");
  EXPECT_EQ(*cacheDirectory(options), "/x/tessera");
  EnvironmentValue directory("TESSERA_CACHE_DIR", "/d/./e/");
  EXPECT_EQ(*cacheDirectory(options), "/d/e");
  options.directory = "o";
  EXPECT_EQ(*cacheDirectory(options), std::filesystem::current_path().string() + "/o");
  EnvironmentValue empty("TESSERA_CACHE_DIR", "");
  options.directory.clear();
  EXPECT_EQ(*cacheDirectory(options), "/x/tessera") << "an empty variable counts as unset";
}

TEST_F(CacheOptionsTest, B3_AHomeThatNamesNoFolderMeansMemoryOnlyWithOneWarning) {
  for (std::optional<std::string> value :
       {std::optional<std::string>(), std::optional<std::string>(""), std::optional<std::string>("/"),
        std::optional<std::string>("//"), std::optional<std::string>("relative/home")}) {
    EnvironmentValue home("HOME", value);
    EXPECT_EQ(cacheDirectory({}).status().code(), Code::NotFound);
    auto cache = open();
    EXPECT_EQ(cache->mode(), CacheMode::Off);
    EXPECT_EQ(cache->directory(), "");
    const KernelImage image = cacheImage();
    EXPECT_EQ(cache->find(image.keyText).miss, CacheMiss::Off);
    cache->store(image);
    cache->keepNote("n", "t");
    EXPECT_FALSE(cache->lock(image.keyText, 0));
    EXPECT_FALSE(cache->note("n"));
    EXPECT_TRUE(cache->entries().empty() && cache->keys().empty() && cache->verify(true).empty());
    EXPECT_EQ(cache->trimTo(0).entries + cache->clear().entries, 0u);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("HOME is"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("TESSERA_CACHE_DIR"), std::string::npos) << warnings[0];
  }
}

TEST_F(CacheOptionsTest, B3_AHomeThatIsNoFolderMeansMemoryOnlyWithOneWarning) {
  EnvironmentValue home("HOME", "/dev/null");
  auto cache = open();
  cache->store(cacheImage());
  EXPECT_EQ(cache->find(cacheImage().keyText).miss, CacheMiss::Off);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("Not a directory"), std::string::npos) << warnings[0];
}

TEST_F(CacheOptionsTest, B3_AFolderThatCanNeverBeMadeTurnsWritingOffWithOneWarning) {
  const std::tuple<const char *, const char *, std::string> places[] = {
      {"HOME", "/proc", "/proc/.cache/tessera"},
      {"XDG_CACHE_HOME", "/proc/1", "/proc/1/tessera"},
      {"TESSERA_CACHE_DIR", "/proc/x/y", "/proc/x/y"}};
  for (const auto &[variable, value, path] : places) {
    EnvironmentValue named(variable, value);
    auto cache = open();
    EXPECT_EQ(cache->find(cacheImage().keyText).miss, CacheMiss::Absent);
    EXPECT_TRUE(warnings.empty()) << "nothing is made before there is something to keep";
    EXPECT_FALSE(cache->lock(cacheImage().keyText, 0));
    cache->store(cacheImage());
    cache->store(cacheImage());
    cache->keepNote("n", "t");
    EXPECT_EQ(cache->mode(), CacheMode::ReadOnly);
    EXPECT_EQ(cache->counters().failedStores, 1u) << "it does not try again";
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0], "the disk cache keeps nothing: the folder " + path +
                               " cannot be made: No such file or directory; set TESSERA_CACHE_DIR to a folder of your "
                               "own");
  }
}

TEST_F(CacheOptionsTest, B3_AFolderThatMayNotBeMadeIsNotSaidToHoldKernels) {
  TemporaryFolder folder;
  FaultyFileSystem files;
  files.failOnly = "makeFolder";
  for (int error : {EACCES, EROFS, EPERM, ENOSPC}) {
    files.error = error;
    CacheOptions options;
    options.directory = folder.path + "/new";
    warnings.clear();
    auto cache = DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
    cache->store(cacheImage());
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(options.directory + " cannot be made: " + std::generic_category().message(error)),
              std::string::npos)
        << warnings[0];
  }
}

TEST_F(CacheOptionsTest, AFolderThatIsRemovedWhileItIsMadeIsMadeTheNextTime) {
  TemporaryFolder folder;
  FaultyFileSystem files;
  CacheOptions options;
  options.directory = folder.path + "/new";
  auto cache = DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  files.failOnly = "makeFolder";
  files.error = ENOENT;
  const std::string shard = detail::CacheLayout{options.directory}.folderOf(keyHash(cacheImage().keyText));
  files.failures = int(std::ranges::count(shard, '/')); // one attempt at each folder of the path
  cache->store(cacheImage());
  EXPECT_EQ(cache->counters().failedStores, 1u);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  cache->store(cacheImage());
  EXPECT_EQ(cache->counters().stores, 1u);
}

TEST_F(CacheOptionsTest, EnvironmentRulesWhatTheOptionsLeaveOpen) {
  TemporaryFolder folder;
  EnvironmentValue directory("TESSERA_CACHE_DIR", folder.path);
  EXPECT_EQ(open()->mode(), CacheMode::ReadWrite);
  EXPECT_EQ(open()->maxBytes(), 1ull << 30);
  EnvironmentValue mode("TESSERA_CACHE", "ro"), size("TESSERA_CACHE_SIZE", "512M");
  EXPECT_EQ(open()->mode(), CacheMode::ReadOnly);
  EXPECT_EQ(open()->maxBytes(), 512ull << 20);
  EXPECT_EQ(open()->directory(), folder.path);
  CacheOptions options;
  options.mode = CacheMode::Refresh;
  options.maxBytes = 5;
  EXPECT_EQ(open(options)->mode(), CacheMode::Refresh);
  EXPECT_EQ(open(options)->maxBytes(), 5u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CacheOptionsTest, MisspeltVariablesTurnTheCacheOffAndSaySo) {
  TemporaryFolder folder;
  EnvironmentValue directory("TESSERA_CACHE_DIR", folder.path);
  {
    EnvironmentValue mode("TESSERA_CACHE", "readonly");
    EXPECT_EQ(open()->mode(), CacheMode::Off);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0], "the disk cache is off: TESSERA_CACHE is 'readonly'; set it to rw, ro, refresh or off");
    CacheOptions options;
    options.mode = CacheMode::ReadWrite;
    EXPECT_EQ(open(options)->mode(), CacheMode::ReadWrite) << "an option is stronger than the environment";
  }
  EnvironmentValue size("TESSERA_CACHE_SIZE", "1 GB");
  EXPECT_EQ(open()->mode(), CacheMode::Off);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("TESSERA_CACHE_SIZE: '1 GB'"), std::string::npos) << warnings[0];
  EnvironmentValue wrong("TESSERA_CACHE", "readonly");
  open();
  EXPECT_EQ(warnings.size(), 1u) << "one sentence, however much is wrong";
  EnvironmentValue mode("TESSERA_CACHE", "off");
  open();
  EXPECT_TRUE(warnings.empty()) << "who wants none needs no advice about it";
}

} // namespace
} // namespace tessera
