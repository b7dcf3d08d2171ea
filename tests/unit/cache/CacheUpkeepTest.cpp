// What could not be listed or removed is said, and folders inside the cache are trusted alike by all that use them.
#include "runtime/cache/DiskCache.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

using namespace tessera::test;

class CacheUpkeep : public testing::Test {
protected:
  TemporaryFolder folder;
  FaultyFileSystem files;
  std::vector<std::string> warnings;
  const detail::CacheLayout layout{folder.path};
  const KernelImage image = cacheImage("a"), other = cacheImage("b");
  const std::string shard = layout.folderOf(keyHash(image.keyText)), entry = layout.entry(keyHash(image.keyText));

  std::shared_ptr<DiskCache> open() {
    CacheOptions options;
    options.directory = folder.path;
    options.mode = CacheMode::ReadWrite;
    options.maxBytes = uint64_t(1) << 30;
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  }
  void SetUp() override {
    auto cache = open();
    cache->store(image);
    cache->store(other);
    cache->keepNote("n", "t");
  }
};

TEST_F(CacheUpkeep, InHealthNothingHasFailed) {
  auto cache = open();
  std::string failure = "as it was";
  EXPECT_EQ(cache->entries(&failure).size(), 2u);
  EXPECT_EQ(cache->keys(&failure).size(), 2u);
  for (const DiskCache::Verdict &verdict : cache->verify(true, &failure))
    EXPECT_FALSE(verdict.removed);
  EXPECT_EQ(failure, "as it was");
  writeFile(shard + "/of somebody", "x");
  const DiskCache::Removed trimmed = cache->trimTo(1), cleared = cache->clear();
  EXPECT_EQ(trimmed.entries, 2u);
  for (const DiskCache::Removed &removed : {trimmed, cleared})
    EXPECT_TRUE(removed.failed == 0 && removed.failure.empty()) << removed.failure;
  EXPECT_TRUE(exists(shard + "/of somebody"));
}

TEST_F(CacheUpkeep, WhatCannotBeRemovedIsCountedAndTheFirstIsNamed) {
  const std::string leftover = shard + "/" + std::string(64, 'c') + ".7-8.tmp";
  writeFile(leftover, "half");
  setStamp(leftover, 1000);
  auto cache = open();
  files.failOnly = "remove";
  files.error = EROFS;
  const DiskCache::Removed trimmed = cache->trimTo(0), cleared = cache->clear();
  EXPECT_EQ(trimmed.failed, 3u) << "two entries, one leftover";
  EXPECT_EQ(cleared.failed, 4u + 1u) << "the note too, and the lock of the trimming that could not be removed";
  for (const DiskCache::Removed &removed : {trimmed, cleared}) {
    EXPECT_EQ(removed.entries + removed.bytes + removed.leftovers, 0u);
    EXPECT_TRUE(removed.failure.starts_with(folder.path + "/v1/")) << removed.failure;
    EXPECT_TRUE(removed.failure.ends_with(": Read-only file system")) << removed.failure;
  }
  writeFile(entry, "damaged");
  for (const DiskCache::Verdict &verdict : cache->verify(true)) {
    EXPECT_FALSE(verdict.removed);
    EXPECT_EQ(verdict.detail.find("it cannot be removed: Read-only file system") != std::string::npos,
              verdict.fault == CacheMiss::Malformed);
  }
  files.failOnly.clear();
  EXPECT_EQ(cache->clear().entries, 2u);
}

TEST_F(CacheUpkeep, FoldersThatCannotBeRemovedAreCounted) {
  files.failOnly = "removeFolder";
  files.error = EACCES;
  const DiskCache::Removed removed = open()->clear();
  EXPECT_EQ(removed.entries, 2u);
  EXPECT_EQ(removed.failed, uint64_t(std::filesystem::exists(layout.folderOf(keyHash(other.keyText)))) + 3u);
  EXPECT_TRUE(removed.failure.ends_with(": Permission denied")) << removed.failure;
}

TEST_F(CacheUpkeep, WhatCannotBeListedIsSaid) {
  auto cache = open();
  files.failOnly = "list";
  for (int error : {EACCES, EIO, EMFILE}) {
    files.error = error;
    std::string listing, keys, verify;
    EXPECT_TRUE(cache->entries(&listing).empty());
    EXPECT_TRUE(cache->keys(&keys).empty());
    EXPECT_TRUE(cache->verify(false, &verify).empty());
    const std::string why = ": " + std::generic_category().message(error);
    for (const std::string &failure : {listing, keys, verify, cache->trimTo(0).failure})
      EXPECT_EQ(failure, layout.version() + why);
    EXPECT_EQ(cache->clear().failure, folder.path + why);
  }
}

TEST_F(CacheUpkeep, AnEntryThatCannotBeReadHasNoKeyAndIsSaid) {
  auto cache = open();
  files.failOnly = "read";
  files.error = EIO;
  std::string failure;
  EXPECT_TRUE(cache->keys(&failure).empty());
  EXPECT_TRUE(failure.ends_with(".tski: Input/output error")) << failure;
}

TEST_F(CacheUpkeep, AFolderWithFilesInPlaceOfAnEntryIsUnsoundAndNotRemovable) {
  ::unlink(entry.c_str());
  writeFile(entry + "/of somebody", "x");
  auto cache = open();
  int unsound = 0;
  for (const DiskCache::Verdict &verdict : cache->verify(true))
    if (verdict.fault != CacheMiss::None) {
      ++unsound;
      EXPECT_EQ(verdict.entry.path, entry);
      EXPECT_FALSE(verdict.removed);
      EXPECT_TRUE(verdict.detail.ends_with("; it cannot be removed: Directory not empty")) << verdict.detail;
    }
  EXPECT_EQ(unsound, 1);
  const DiskCache::Removed removed = cache->clear();
  EXPECT_EQ(removed.entries, 1u);
  EXPECT_EQ(removed.failed, 1u);
  EXPECT_EQ(removed.failure, entry + ": Directory not empty");
  EXPECT_EQ(fileBytes(entry + "/of somebody"), "x");
}

TEST_F(CacheUpkeep, ClearLeavesAFileOfAnotherUserAndSaysSo) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can give files away";
  ASSERT_EQ(::chown(entry.c_str(), 54321, 54321), 0);
  const DiskCache::Removed removed = open()->clear();
  EXPECT_EQ(removed.failed, 1u);
  EXPECT_EQ(removed.failure, entry + ": belongs to user 54321, not to 0");
  EXPECT_TRUE(exists(entry));
}

TEST_F(CacheUpkeep, ClearFindsOtherVersionsWhereThisOneIsAbsent) {
  ASSERT_EQ(::rename((folder.path + "/v1").c_str(), (folder.path + "/v2").c_str()), 0);
  EXPECT_EQ(open()->clear().entries, 2u);
  EXPECT_TRUE(treeOf(folder.path).empty());
}

TEST_F(CacheUpkeep, ClearLeavesAVersionFolderThatIsALinkAndSaysSo) {
  TemporaryFolder outside;
  ASSERT_EQ(::rename((folder.path + "/v1").c_str(), (outside.path + "/v1").c_str()), 0);
  ASSERT_EQ(::symlink((outside.path + "/v1").c_str(), (folder.path + "/v7").c_str()), 0);
  const size_t before = treeOf(outside.path).size();
  const DiskCache::Removed removed = open()->clear();
  EXPECT_EQ(removed.entries, 0u);
  EXPECT_EQ(removed.failure, folder.path + "/v7: is a symbolic link; remove it");
  EXPECT_EQ(treeOf(outside.path).size(), before);
}

/// What can be wrong with a folder inside the cache: how to make it so, and what is said of it.
struct Distrust {
  const char *name;
  void (*spoil)(const std::string &path, const std::string &outside);
  const char *said;
  bool needsRoot = false;
};

const Distrust distrusts[] = {
    {"link",
     [](const std::string &path, const std::string &outside) {
       ASSERT_EQ(::rename(path.c_str(), (outside + "/moved").c_str()), 0);
       ASSERT_EQ(::symlink((outside + "/moved").c_str(), path.c_str()), 0);
     },
     "is a symbolic link; remove it"},
    {"group", [](const std::string &path, const std::string &) { ASSERT_EQ(::chmod(path.c_str(), 0770), 0); },
     "can be written by others (mode 0770); run: chmod go-w '"},
    {"world", [](const std::string &path, const std::string &) { ASSERT_EQ(::chmod(path.c_str(), 0702), 0); },
     "can be written by others (mode 0702); run: chmod go-w '"},
    {"foreign", [](const std::string &path, const std::string &) { ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0); },
     "belongs to user 54321, not to 0; set TESSERA_CACHE_DIR to a folder of your own", /*needsRoot=*/true},
    {"file",
     [](const std::string &path, const std::string &outside) {
       ASSERT_EQ(::rename(path.c_str(), (outside + "/moved").c_str()), 0);
       writeFile(path, "x");
     },
     "is not a folder; remove it"},
};

TEST_F(CacheUpkeep, AFolderInsideThatIsNotTrustedIsNeitherReadNorWrittenNorEnteredByAnything) {
  for (const Distrust &distrust : distrusts) {
    SCOPED_TRACE(distrust.name);
    if (distrust.needsRoot && ::geteuid() != 0)
      continue;
    TemporaryFolder outside, outsideNotes;
    std::filesystem::remove_all(layout.version());
    SetUp();
    auto before = open();
    distrust.spoil(shard, outside.path);
    distrust.spoil(layout.notes(), outsideNotes.path);
    const std::vector<std::string> tree = treeOf(folder.path), target = treeOf(outside.path);
    for (const std::shared_ptr<DiskCache> &cache : {before, open()}) {
      const DiskCache::Lookup found = cache->find(image.keyText);
      EXPECT_EQ(found.miss, CacheMiss::Untrusted);
      EXPECT_TRUE(found.detail.starts_with(shard + ": " + distrust.said)) << found.detail;
      cache->store(image);
      EXPECT_EQ(cache->counters().failedStores, 1u);
      EXPECT_FALSE(cache->lock(image.keyText, 0));
      EXPECT_FALSE(cache->note("n"));
      cache->keepNote("n", "other");
      std::string failure;
      EXPECT_EQ(cache->entries(&failure).size(), 1u);
      EXPECT_NE(failure.find(distrust.said), std::string::npos) << failure;
      EXPECT_EQ(cache->verify(true).size(), 1u);
      EXPECT_EQ(cache->trimTo(UINT64_MAX).failed, 2u);
      EXPECT_EQ(treeOf(folder.path), tree);
      EXPECT_EQ(treeOf(outside.path), target);
      EXPECT_TRUE(cache->find(other.keyText).image) << "the rest of the cache goes on";
      cache->store(other);
      EXPECT_EQ(cache->counters().stores, 1u);
      EXPECT_EQ(cache->mode(), CacheMode::ReadWrite);
      EXPECT_TRUE(warnings.empty()) << warnings[0];
    }
    const DiskCache::Removed removed = before->clear();
    EXPECT_EQ(removed.entries, 1u);
    EXPECT_EQ(removed.failed, 2u);
    EXPECT_NE(removed.failure.find(distrust.said), std::string::npos) << removed.failure;
    EXPECT_EQ(treeOf(outside.path), target);
  }
}

TEST_F(CacheUpkeep, AHitCostsOneLookAtItsFolder) {
  auto cache = open();
  const int before = files.calls;
  EXPECT_TRUE(cache->find(image.keyText).image);
  EXPECT_EQ(files.calls - before, 5) << "look, open, status, read, close";
}

} // namespace
} // namespace tessera
