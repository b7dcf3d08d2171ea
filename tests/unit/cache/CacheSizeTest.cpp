// The size of a cache: least recently used first, stamps at most hourly, clocks that go backwards, one cleaner at a
// time.
#include "runtime/cache/DiskCache.h"
#include "runtime/cache/FileLock.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tessera {
namespace {

using namespace tessera::test;

constexpr int64_t hour = 3600;

class CacheSize : public testing::Test {
protected:
  TemporaryFolder folder;
  FaultyFileSystem files;
  const int64_t now = ::time(nullptr);
  const detail::CacheLayout layout{folder.path};
  const uint64_t entryBytes = key(0).serialize()->size();

  static KernelImage key(int i) { return cacheImage("key " + std::to_string(1000 + i)); } // one length for all
  std::string path(int i) { return layout.entry(keyHash(key(i).keyText)); }

  std::shared_ptr<DiskCache> open(uint64_t maxBytes, CacheMode mode = CacheMode::ReadWrite) {
    CacheOptions options;
    options.directory = folder.path;
    options.mode = mode;
    options.maxBytes = maxBytes;
    return DiskCache::open(options, {}, files);
  }
  /// Keys 0 .. count - 1, key i used i hours after the oldest.
  void fill(int count) {
    auto cache = open(UINT64_MAX);
    for (int i = 0; i < count; ++i) {
      cache->store(key(i));
      setStamp(path(i), now - (count - i) * hour);
    }
  }
  std::vector<int> keysLeft(int count) {
    std::vector<int> left;
    for (int i = 0; i < count; ++i)
      if (exists(path(i)))
        left.push_back(i);
    return left;
  }
  int64_t stampOf(int i) {
    struct stat status{};
    EXPECT_EQ(::stat(path(i).c_str(), &status), 0);
    return int64_t(status.st_mtime);
  }
};

TEST_F(CacheSize, TrimsToNinetyPercentByLeastRecentUse) {
  fill(20);
  auto cache = open(20 * entryBytes);
  EXPECT_TRUE(cache->find(key(0).keyText).image); // used now
  EXPECT_TRUE(cache->find(key(3).keyText).image);
  cache->store(key(20)); // the 21st
  EXPECT_EQ(keysLeft(21), (std::vector<int>{0, 3, 5 + 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(cache->counters().evicted, 3u);
  EXPECT_EQ(cache->entries().size(), 18u);
}

TEST_F(CacheSize, EntriesAreListedByLeastRecentUse) {
  fill(5);
  auto cache = open(UINT64_MAX);
  cache->find(key(1).keyText);
  std::vector<std::string> paths;
  for (const CacheEntry &entry : cache->entries()) {
    paths.push_back(entry.path);
    EXPECT_EQ(entry.bytes, entryBytes);
    EXPECT_EQ(entry.hash.size(), 64u);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{path(0), path(2), path(3), path(4), path(1)}));
  EXPECT_NEAR(double(cache->entries().back().lastUse), double(now), 60);
}

TEST_F(CacheSize, TrimToLeavesAtMostWhatIsAsked) {
  fill(6);
  auto cache = open(UINT64_MAX);
  DiskCache::Removed removed = cache->trimTo(4 * entryBytes + 1);
  EXPECT_EQ(removed.entries, 2u);
  EXPECT_EQ(removed.bytes, 2 * entryBytes);
  EXPECT_EQ(keysLeft(6), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(cache->trimTo(4 * entryBytes).entries, 0u);
  EXPECT_EQ(cache->trimTo(0).entries, 4u);
}

TEST_F(CacheSize, AHitWritesAStampAtMostHourly) {
  fill(2);
  auto cache = open(UINT64_MAX);
  setStamp(path(0), now - hour + 100);
  files.changes = 0;
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_EQ(files.changes, 0);
  setStamp(path(0), now - hour - 100);
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_EQ(files.changes, 1);
  EXPECT_NEAR(double(stampOf(0)), double(now), 60);
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_EQ(files.changes, 1);
}

TEST_F(CacheSize, B3_AReadOnlyCacheIsReadWithoutAnyWrite) {
  fill(2);
  open(UINT64_MAX)->keepNote("n", "t");
  files.changes = 0;
  auto cache = open(UINT64_MAX, CacheMode::ReadOnly);
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_EQ(cache->find(key(7).keyText).miss, CacheMiss::Absent);
  EXPECT_EQ(cache->note("n"), "t");
  cache->store(key(7));
  cache->verify(true);
  cache->entries();
  cache->keys();
  EXPECT_EQ(files.changes, 0);
}

TEST_F(CacheSize, B3_AReadOnlyFileSystemServesHitsWhateverTheStampsAre) {
  fill(2); // stamps older than an hour: a touch is tried, and its failure means nothing
  files.error = EROFS;
  files.failOnly = "touch";
  std::vector<std::string> warnings;
  CacheOptions options;
  options.directory = folder.path;
  options.mode = CacheMode::ReadWrite;
  auto cache = DiskCache::open(options, [&](const std::string &w) { warnings.push_back(w); }, files);
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_TRUE(files.failed);
  EXPECT_EQ(cache->mode(), CacheMode::ReadWrite);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CacheSize, StoresDoNotScanTheCacheEachTime) {
  fill(30);
  auto cache = open(UINT64_MAX);
  cache->store(key(100)); // scans
  const int before = files.calls;
  cache->store(key(101));
  EXPECT_LT(files.calls - before, 12);
}

TEST_F(CacheSize, EveryObjectCountsWhatOthersHaveStored) {
  fill(10);
  auto cache = open(10 * entryBytes);
  cache->store(key(50));
  EXPECT_EQ(cache->entries().size(), 9u);
}

TEST_F(CacheSize, TheSizeIsKeptWhateverIsStored) {
  auto cache = open(10 * entryBytes);
  for (int i = 0; i < 60; ++i) {
    cache->store(key(i % 40));
    EXPECT_LE(cache->entries().size(), 10u);
    EXPECT_TRUE(cache->find(key(i % 40).keyText).image) << "what was just stored stays";
    setStamp(path(i % 40), now - 1000 + i);
  }
  EXPECT_GE(cache->entries().size(), 9u);
}

TEST_F(CacheSize, StoringOneKeyAgainAndAgainEvictsNothing) {
  fill(9);
  auto cache = open(10 * entryBytes);
  for (int i = 0; i < 30; ++i)
    cache->store(key(9));
  EXPECT_EQ(cache->counters().evicted, 0u);
  EXPECT_EQ(cache->entries().size(), 10u);
}

TEST_F(CacheSize, WhatIsLargerThanTheCacheIsNotStored) {
  fill(1);
  auto cache = open(entryBytes);
  cache->store(cacheImage("large", 5000));
  EXPECT_EQ(cache->counters().failedStores, 1u);
  EXPECT_EQ(keysLeft(1), std::vector<int>{0});
}

TEST_F(CacheSize, AClockSetBackMakesNothingImmortalAndNothingLoops) {
  fill(10);
  for (int i : {2, 7})
    setStamp(path(i), now + 1000 * hour); // stored before the clock was set back
  auto cache = open(10 * entryBytes);
  cache->store(key(10));
  EXPECT_EQ(keysLeft(11), (std::vector<int>{2, 3, 4, 5, 6, 7, 8, 9, 10})) << "a stamp ahead of now counts as now";
  EXPECT_NEAR(double(stampOf(2)), double(now), 60) << "and is mended, so that it ages from now on";
  EXPECT_NEAR(double(stampOf(7)), double(now), 60);
  files.clock = now + 20 * hour;
  for (int i : {3, 4, 5, 6, 8, 9, 10})
    cache->find(key(i).keyText);
  EXPECT_EQ(cache->trimTo(7 * entryBytes).entries, 2u);
  EXPECT_EQ(keysLeft(11), (std::vector<int>{3, 4, 5, 6, 8, 9, 10}));
}

TEST_F(CacheSize, WithEveryStampAheadTheFreshEntryIsNotTheFirstToGo) {
  fill(10);
  for (int i = 0; i < 10; ++i)
    setStamp(path(i), now + (1000 + i) * hour);
  auto cache = open(10 * entryBytes);
  for (int i = 10; i < 30; ++i) {
    cache->store(key(i));
    EXPECT_TRUE(cache->find(key(i).keyText).image) << i;
    setStamp(path(i), now - 100 + i);
  }
}

TEST_F(CacheSize, AHitMendsAStampAheadOfNow) {
  fill(1);
  auto cache = open(UINT64_MAX);
  setStamp(path(0), now + 100 * hour);
  files.changes = 0;
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_TRUE(cache->find(key(0).keyText).image);
  EXPECT_EQ(files.changes, 1);
  EXPECT_NEAR(double(stampOf(0)), double(now), 60);
}

TEST_F(CacheSize, OneCleanerAtATime) {
  fill(5);
  auto other = detail::FileLock::take(FileSystem::real(), layout.cleanerLock(), 0);
  ASSERT_TRUE(other.lock);
  auto cache = open(UINT64_MAX);
  const DiskCache::Removed refused = cache->trimTo(0);
  EXPECT_EQ(refused.entries, 0u);
  EXPECT_EQ(refused.failed, 1u);
  EXPECT_EQ(refused.failure, layout.cleanerLock() + ": another process is trimming this cache");
  EXPECT_EQ(keysLeft(5).size(), 5u);
  other.lock.reset();
  EXPECT_EQ(cache->trimTo(0).entries, 5u);
  EXPECT_FALSE(exists(layout.cleanerLock()));
}

TEST_F(CacheSize, LeftoversOfDeadProcessesGoAndThoseOfLivingOnesStay) {
  fill(1);
  const std::string inside = layout.folderOf(keyHash(key(0).keyText)) + "/" + std::string(64, 'b');
  const int64_t old = now - 2 * hour;
  auto leave = [&](const std::string &path, int64_t stamp) {
    writeFile(path, "x");
    setStamp(path, stamp);
    return path;
  };
  const std::string dead = leave(inside + ".1-2.tmp", old), deadLock = leave(inside + ".lock", old),
                    ahead = leave(inside + ".5-6.tmp", now + 2 * hour), young = leave(inside + ".3-4.tmp", now),
                    alive = leave(inside + ".7-8.tmp", old), note = leave(layout.note(std::string(64, 'd')), old),
                    foreign = leave(layout.version() + "/00/x.tmp", old),
                    foreignLock = leave(layout.version() + "/00/x.lock", old);
  const int writer = FileSystem::real().open(alive, O_RDWR, 0);
  ASSERT_EQ(FileSystem::real().lock(writer), 0);
  const DiskCache::Removed removed = open(UINT64_MAX)->trimTo(UINT64_MAX);
  EXPECT_EQ(removed.leftovers, 3u);
  EXPECT_EQ(removed.failed, 0u) << removed.failure;
  for (const std::string &gone : {dead, deadLock, ahead})
    EXPECT_FALSE(exists(gone)) << gone;
  for (const std::string &left : {young, alive, note, foreign, foreignLock})
    EXPECT_TRUE(exists(left)) << left;
  FileSystem::real().close(writer);
  EXPECT_EQ(open(UINT64_MAX)->trimTo(UINT64_MAX).leftovers, 1u);
  EXPECT_FALSE(exists(alive));
}

TEST_F(CacheSize, AWriterThatTakesHoursIsNotRobbedOfItsFile) {
  FaultyFileSystem later;
  later.clock = now + 3 * hour;
  CacheOptions options;
  options.directory = folder.path;
  options.mode = CacheMode::ReadWrite;
  files.atSync = [&] { EXPECT_EQ(DiskCache::open(options, {}, later)->trimTo(UINT64_MAX).leftovers, 0u); };
  auto cache = open(UINT64_MAX);
  cache->store(key(0));
  EXPECT_EQ(cache->counters().stores, 1u);
  EXPECT_TRUE(exists(path(0)));
}

TEST_F(CacheSize, EntriesThatCannotBeRemovedDoNotMakeEveryStoreTrim) {
  fill(20);
  files.failOnly = "remove";
  files.error = EACCES;
  auto cache = open(10 * entryBytes);
  cache->store(key(30));
  int scans = 0;
  for (int i = 31; i < 41; ++i) {
    const int before = files.calls;
    cache->store(key(i));
    scans += files.calls - before > 20;
  }
  EXPECT_LE(scans, 5);
  EXPECT_EQ(cache->counters().stores, 11u);
}

} // namespace
} // namespace tessera
