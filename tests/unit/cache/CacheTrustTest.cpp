// What is not loaded: damaged, foreign and strange things under the name of an entry, and folders of others.
#include "runtime/cache/DiskCache.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace tessera {
namespace {

using namespace tessera::test;

class CacheTrust : public testing::Test {
protected:
  TemporaryFolder folder;
  FaultyFileSystem files; // for speed: no fsync
  std::vector<std::string> warnings;
  const KernelImage image = cacheImage("wanted");
  const std::string path = detail::CacheLayout{folder.path}.entry(keyHash(image.keyText));

  std::shared_ptr<DiskCache> open() {
    CacheOptions options;
    options.directory = folder.path;
    options.mode = CacheMode::ReadWrite;
    options.maxBytes = uint64_t(1) << 30;
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  }
  void SetUp() override { open()->store(image); }

  /// That the entry is a miss of this kind whose detail has the path and `what`; that verify says the same; and that
  /// the next store replaces it.
  void expectMiss(CacheMiss miss, const std::string &what, bool replaced = true) {
    auto cache = open();
    DiskCache::Lookup found = cache->find(image.keyText);
    EXPECT_FALSE(found.image);
    EXPECT_EQ(found.miss, miss) << name(found.miss) << " " << found.detail;
    EXPECT_NE(found.detail.find(path), std::string::npos) << found.detail;
    EXPECT_NE(found.detail.find(what), std::string::npos) << found.detail;
    EXPECT_EQ(cache->counters().misses[size_t(miss)], 1u);
    for (const DiskCache::Verdict &verdict : cache->verify(false))
      EXPECT_EQ(verdict.fault, miss) << verdict.detail;
    cache->store(image);
    EXPECT_EQ(cache->counters().stores, replaced ? 1u : 0u);
    EXPECT_EQ(cache->counters().failedStores, replaced ? 0u : 1u);
    EXPECT_EQ(bool(cache->find(image.keyText).image), replaced);
    EXPECT_TRUE(warnings.empty()) << warnings[0];
    EXPECT_EQ(cache->mode(), CacheMode::ReadWrite);
  }
};

TEST_F(CacheTrust, B3_AnEntryTruncatedAtEveryLengthIsAMiss) {
  const std::string bytes = fileBytes(path);
  auto cache = open();
  for (size_t size = bytes.size(); size-- > 0;) {
    ASSERT_EQ(::truncate(path.c_str(), off_t(size)), 0);
    DiskCache::Lookup found = cache->find(image.keyText);
    ASSERT_EQ(found.miss, CacheMiss::Malformed) << size;
    ASSERT_FALSE(found.image);
  }
  EXPECT_EQ(cache->counters().misses[size_t(CacheMiss::Malformed)], bytes.size());
  writeFile(path, bytes + '\0');
  expectMiss(CacheMiss::Malformed, "the header speaks of");
}

TEST_F(CacheTrust, B3_AnEntryWithAnyByteFlippedIsAMiss) {
  const std::string bytes = fileBytes(path);
  const int file = ::open(path.c_str(), O_WRONLY);
  auto put = [&](size_t at, char byte) { ASSERT_EQ(::pwrite(file, &byte, 1, off_t(at)), 1); };
  auto cache = open();
  for (size_t i = 0; i < bytes.size(); ++i) {
    put(i, char(bytes[i] ^ (1 << i % 8)));
    DiskCache::Lookup found = cache->find(image.keyText);
    ASSERT_EQ(found.miss, CacheMiss::Malformed) << i;
    ASSERT_FALSE(found.image);
    put(i, bytes[i]);
  }
  ASSERT_TRUE(cache->find(image.keyText).image) << "every flip was taken back";
  put(100, '!');
  ::close(file);
  expectMiss(CacheMiss::Malformed, "the digest does not match");
}

TEST_F(CacheTrust, B2_AnImageOfAnotherKeyUnderThisNameIsAMiss) {
  writeFile(path, *cacheImage("another").serialize());
  expectMiss(CacheMiss::OtherKey, "another key");
}

TEST_F(CacheTrust, AnOversizeEntryIsAMissAndIsNotRead) {
  ASSERT_EQ(::truncate(path.c_str(), (int64_t(136) << 20) + 1), 0);
  auto cache = open();
  EXPECT_EQ(cache->find(image.keyText).miss, CacheMiss::Malformed);
  EXPECT_EQ(cache->counters().bytesRead, 0u);
  expectMiss(CacheMiss::Malformed, "142606337 bytes");
}

TEST_F(CacheTrust, ASymbolicLinkIsNotFollowed) {
  ASSERT_EQ(::rename(path.c_str(), (folder.path + "/elsewhere").c_str()), 0);
  ASSERT_EQ(::symlink((folder.path + "/elsewhere").c_str(), path.c_str()), 0);
  expectMiss(CacheMiss::Untrusted, "symbolic link");
  EXPECT_TRUE(exists(folder.path + "/elsewhere")) << "the link was replaced, not what it led to";
  EXPECT_TRUE(open()->find(image.keyText).image);
}

TEST_F(CacheTrust, AnEmptyFolderInPlaceIsReplaced) {
  ::unlink(path.c_str());
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  expectMiss(CacheMiss::Untrusted, "not a plain file");
}

TEST_F(CacheTrust, AFolderWithFilesInPlaceStaysAndTheStoreGivesUpQuietly) {
  ::unlink(path.c_str());
  writeFile(path + "/of somebody", "x");
  expectMiss(CacheMiss::Untrusted, "not a plain file", /*replaced=*/false);
  EXPECT_EQ(fileBytes(path + "/of somebody"), "x");
  open()->store(cacheImage("other"));
  EXPECT_TRUE(open()->find(cacheImage("other").keyText).image);
}

TEST_F(CacheTrust, AFifoInPlaceDoesNotBlock) {
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expectMiss(CacheMiss::Untrusted, "not a plain file");
}

TEST_F(CacheTrust, ASocketInPlaceIsAMiss) {
  ::unlink(path.c_str());
  const std::string shorter = folder.path + "/s"; // names of sockets are short
  sockaddr_un address{AF_UNIX, {}};
  ASSERT_LT(shorter.size(), sizeof address.sun_path);
  shorter.copy(address.sun_path, shorter.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  ASSERT_EQ(::rename(shorter.c_str(), path.c_str()), 0);
  expectMiss(CacheMiss::Untrusted, "not a plain file");
  ::close(socket);
}

TEST_F(CacheTrust, AModeThatLetsOthersWriteIsAMiss) {
  for (mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    expectMiss(CacheMiss::Untrusted, "can be written by others");
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(open()->find(image.keyText).image) << "reading harms nobody";
}

TEST_F(CacheTrust, AFileOfAnotherUserIsAMissAndIsReplaced) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "skipped: only root can give files away";
  ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
  expectMiss(CacheMiss::Untrusted, "belongs to user 54321");
}

TEST_F(CacheTrust, AFolderOfAnotherUserTurnsTheCacheOffAndSaysWhatToDo) {
  files.otherUser = 54321;
  auto cache = open();
  EXPECT_EQ(cache->mode(), CacheMode::Off);
  EXPECT_EQ(cache->find(image.keyText).miss, CacheMiss::Off);
  const std::string before = fileBytes(path);
  cache->store(image);
  cache->clear();
  EXPECT_EQ(fileBytes(path), before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(folder.path + " belongs to user"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("set TESSERA_CACHE_DIR to a folder of your own"), std::string::npos);
}

TEST_F(CacheTrust, AFolderThatOthersMayWriteToTurnsTheCacheOffAndSaysWhatToDo) {
  for (const std::string &loose : {folder.path, folder.path + "/v1"})
    for (mode_t mode : {0720, 0702, 01777}) {
      warnings.clear();
      ASSERT_EQ(::chmod(loose.c_str(), mode), 0);
      auto cache = open();
      EXPECT_EQ(cache->mode(), CacheMode::Off);
      EXPECT_EQ(cache->find(image.keyText).miss, CacheMiss::Off);
      ASSERT_EQ(warnings.size(), 1u);
      EXPECT_NE(warnings[0].find("chmod go-w '" + loose + "'"), std::string::npos) << warnings[0];
      ASSERT_EQ(::chmod(loose.c_str(), 0755), 0);
      EXPECT_EQ(open()->mode(), CacheMode::ReadWrite);
    }
}

TEST_F(CacheTrust, AFileInPlaceOfTheFolderTurnsTheCacheOff) {
  TemporaryFolder other;
  writeFile(other.path + "/file", "x");
  CacheOptions options;
  options.mode = CacheMode::ReadWrite;
  options.directory = other.path + "/file";
  auto cache = DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); });
  EXPECT_EQ(cache->mode(), CacheMode::Off);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("is not a folder"), std::string::npos) << warnings[0];
}

TEST_F(CacheTrust, TheCacheFolderMayBeALinkOfThisUsersButNothingInsideMay) {
  TemporaryFolder other;
  CacheOptions options;
  options.mode = CacheMode::ReadWrite;
  options.directory = other.path + "/link";
  ASSERT_EQ(::symlink(folder.path.c_str(), options.directory.c_str()), 0);
  auto cache = DiskCache::open(options);
  EXPECT_TRUE(cache->find(image.keyText).image);
  cache->store(cacheImage("b"));
  EXPECT_EQ(cache->entries().size(), 2u);
  EXPECT_EQ(cache->clear().entries, 2u);

  ASSERT_EQ(::symlink(other.path.c_str(), (folder.path + "/v1").c_str()), 0);
  EXPECT_EQ(open()->mode(), CacheMode::Off);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("is a symbolic link; remove it"), std::string::npos) << warnings[0];

  ::unlink(options.directory.c_str());
  ASSERT_EQ(::symlink((other.path + "/nowhere").c_str(), options.directory.c_str()), 0);
  EXPECT_EQ(DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); })->mode(), CacheMode::Off);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[1].find("does not exist"), std::string::npos) << warnings[1];
}

TEST_F(CacheTrust, EveryRefusalOfTheCacheFolderHasTheOneRemedyThatHelps) {
  const std::string version = folder.path + "/v1";
  const auto refuse = [&](const std::string &what, const std::string &remedy) {
    warnings.clear();
    EXPECT_EQ(open()->mode(), CacheMode::Off);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].ends_with(what + "; " + remedy)) << warnings[0];
    EXPECT_EQ(warnings[0].find(';'), warnings[0].rfind(';')) << warnings[0];
  };
  const std::string elsewhere = "set TESSERA_CACHE_DIR to a folder of your own", loose = "(mode 0777)";
  for (const std::string &path : {folder.path, version}) {
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
    refuse("can be written by others " + loose, "run: chmod go-w '" + path + "'");
    if (::geteuid() == 0) { // who does not own it cannot change its mode either
      ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
      refuse("belongs to user 54321, not to 0", elsewhere);
      ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    }
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  }
  std::filesystem::remove_all(version);
  writeFile(version, "x");
  refuse(version + " is not a folder", "remove it");
  ::unlink(version.c_str());
  ASSERT_EQ(::rmdir(folder.path.c_str()), 0);
  writeFile(folder.path, "x");
  refuse(folder.path + " is not a folder", elsewhere);
  ::unlink(folder.path.c_str());
  const std::string target = folder.path + "-target";
  ASSERT_EQ(::symlink(target.c_str(), folder.path.c_str()), 0);
  refuse("is a symbolic link to a folder that does not exist", "make the folder");
  writeFile(target, "x");
  refuse("is a symbolic link to something that is not a folder", elsewhere);
  ::unlink(target.c_str());
}

TEST_F(CacheTrust, VerifyFindsEveryFaultAndRemovesItOnRequest) {
  const std::string hash(64, '0');
  writeFile(folder.path + "/v1/00/" + hash + ".tski", "no image");
  writeFile(folder.path + "/v1/11/" + hash + ".tski", *image.serialize());
  std::filesystem::create_directories(folder.path + "/v1/22");
  ASSERT_EQ(::symlink(path.c_str(), (folder.path + "/v1/22/" + hash + ".tski").c_str()), 0);
  std::filesystem::create_directories(folder.path + "/v1/33/" + hash + ".tski");
  auto faults = [](const std::vector<DiskCache::Verdict> &verdicts) {
    std::map<CacheMiss, int> count;
    for (const DiskCache::Verdict &verdict : verdicts)
      ++count[verdict.fault];
    return count;
  };
  const std::map<CacheMiss, int> all = {
      {CacheMiss::None, 1}, {CacheMiss::Malformed, 1}, {CacheMiss::OtherKey, 1}, {CacheMiss::Untrusted, 2}};
  auto cache = open();
  EXPECT_EQ(faults(cache->verify(false)), all);
  std::string failure = "none";
  for (const DiskCache::Verdict &verdict : cache->verify(true, &failure))
    EXPECT_EQ(verdict.removed, verdict.fault != CacheMiss::None) << verdict.detail;
  EXPECT_EQ(failure, "none");
  EXPECT_EQ(faults(cache->verify(true)), (std::map<CacheMiss, int>{{CacheMiss::None, 1}}));
  EXPECT_EQ(cache->counters().allMisses() + cache->counters().hits, 0u) << "nobody asked for a kernel";
}

TEST_F(CacheTrust, VerifyRemovesNothingThatOnlyCouldNotBeRead) {
  auto cache = open();
  files.failOnly = "read";
  files.error = EIO;
  EXPECT_EQ(cache->verify(true).at(0).fault, CacheMiss::Unreadable);
  EXPECT_TRUE(exists(path));
}

TEST_F(CacheTrust, ADamagedNoteIsNone) {
  auto cache = open();
  cache->keepNote("n", "text");
  const std::string note = detail::CacheLayout{folder.path}.note(keyHash("n"));
  const std::string bytes = fileBytes(note);
  ASSERT_EQ(cache->note("n"), "text");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    writeFile(note, damaged);
    ASSERT_FALSE(cache->note("n")) << i;
    writeFile(note, bytes.substr(0, i));
    ASSERT_FALSE(cache->note("n")) << i;
  }
  cache->keepNote("m", "text of m");
  writeFile(note, fileBytes(detail::CacheLayout{folder.path}.note(keyHash("m"))));
  EXPECT_FALSE(cache->note("n")) << "a note of another name";
  writeFile(note, bytes, 0622);
  EXPECT_FALSE(cache->note("n"));
  cache->keepNote("n", "again");
  EXPECT_EQ(cache->note("n"), "again");
}

} // namespace
} // namespace tessera
