// The tuning log of a cache: kept whole or not at all, shared by processes, and never an error to a reader.
#include "runtime/cache/TuningLog.h"
#include "tests/unit/cache/CacheFixtures.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

using namespace tessera::test;

TuningRecord record(int64_t seqlen, unsigned tileKv = 32, const char *device = "NVIDIA A100-SXM4-80GB") {
  TuningRecord record;
  record.device = device;
  record.target = "sm_80";
  record.problem = {1, 8, 8, seqlen, seqlen};
  record.schedule.tileKv = tileKv;
  return record;
}

struct TuningLogFile : testing::Test {
  TemporaryFolder folder;
  FaultyFileSystem files; // for speed: no fsync
  std::vector<std::string> warnings;
  const std::string path = detail::CacheLayout{folder.path}.tuning();

  std::shared_ptr<DiskCache> open(CacheMode mode = CacheMode::ReadWrite) {
    CacheOptions options;
    options.directory = folder.path;
    options.mode = mode;
    options.maxBytes = uint64_t(1) << 30;
    return DiskCache::open(options, [this](const std::string &w) { warnings.push_back(w); }, files);
  }
  void keep(const std::vector<TuningRecord> &records) {
    const Status status = open()->keepTuning(records);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  std::vector<TuningRecord> kept() { return open()->tuningLog()->all().records; }
};

TEST_F(TuningLogFile, WhatIsKeptIsReadByOthersInItsOrder) {
  keep({record(512), record(1024)});
  keep({record(2048)});
  EXPECT_EQ(kept(), (std::vector{record(512), record(1024), record(2048)}));
  EXPECT_EQ(open()->tuningLog()->of({}), kept());
  EXPECT_EQ(open()->tuningLog()->fault(), CacheMiss::None);
  EXPECT_EQ(open()->tuningLog()->bytes(), fileBytes(path).size());
  EXPECT_EQ(open()->tuningPath(), path);
  EXPECT_EQ(fileBytes(path), recordLine(record(512)) + recordLine(record(1024)) + recordLine(record(2048)));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(treeOf(folder.path), (std::vector<std::string>{"v1", "v1/tuning.jsonl"})) << "no lock, no temporary file";
  EXPECT_TRUE(warnings.empty());
}

TEST_F(TuningLogFile, ALineIsInPlainWords) {
  EXPECT_EQ(recordLine(record(512, 32, "a \"GPU\" \xff")),
            R"({"spec":"v1:in=bf16,out=bf16,d=128,dv=128,mask=full,scale=0.088388346,softcap=none,outputs=o,)"
            R"(precision=tf32,access=16","device":"a \"GPU\" )"
            "\xef\xbf\xbd"
            R"(","target":"sm_80","problem":{"batch":1,"heads":8,)"
            R"("kv_heads":8,"seqlen_q":512,"seqlen_kv":512},"schedule":"v1:q128,kv32,w4,s1,lazy8,add,qsmem,online"})"
            "\n");
}

TEST_F(TuningLogFile, TheLastOfEachSpecDeviceTargetAndShapeCounts) {
  TuningRecord other = record(512, 48);
  other.target = "sm_86";
  AttentionSpec narrow;
  narrow.headDim = narrow.valueDim = 64;
  TuningRecord spec = record(512, 64);
  spec.spec = narrow;
  keep({record(512, 16), record(1024), other, spec, record(512, 16, "another")});
  keep({record(512, 48)});
  EXPECT_EQ(kept(), (std::vector{record(1024), other, spec, record(512, 16, "another"), record(512, 48)}));
  EXPECT_EQ(open()->tuningLog()->of(narrow), std::vector{spec});
  EXPECT_EQ(std::ranges::count(fileBytes(path), '\n'), 5) << "what is replaced is gone from the file";
  // Written by hand it may hold both.
  writeFile(path, recordLine(record(512, 16)) + recordLine(record(512, 48)));
  EXPECT_EQ(open()->tuningLog()->of({}), std::vector{record(512, 48)});
  EXPECT_EQ(kept(), std::vector{record(512, 48)});
}

TEST_F(TuningLogFile, B4_74_ASpecWhoseTextBeginsLikeAnothersIsAnother) {
  AttentionSpec wide;
  wide.accessBytes = 16;
  AttentionSpec one = wide;
  one.accessBytes = 1; // "...access=1" and "...access=16"
  TuningRecord first = record(512);
  first.spec = wide;
  writeFile(path, recordLine(first));
  EXPECT_TRUE(open()->tuningLog()->of(one).empty());
  // A spec's text in another field makes no record of it.
  TuningRecord strange = record(512, 32, wide.text().c_str());
  strange.spec.headDim = strange.spec.valueDim = 64;
  writeFile(path, recordLine(strange));
  EXPECT_TRUE(open()->tuningLog()->of(wide).empty());
  EXPECT_EQ(open()->tuningLog()->of(strange.spec), std::vector{strange});
}

TEST_F(TuningLogFile, DamagedLinesCostNothingElseAndGoWithTheNextRecord) {
  writeFile(path, recordLine(record(512)) + recordLine(record(1024)).substr(0, 99) + std::string("\n\0\xff\n", 4) +
                      recordLine(record(2048)));
  EXPECT_EQ(kept(), (std::vector{record(512), record(2048)}));
  EXPECT_EQ(open()->tuningLog()->all().damaged.size(), 2u);
  EXPECT_TRUE(warnings.empty());
  const std::string damaged = fileBytes(path);
  keep({record(4096)});
  EXPECT_EQ(kept(), (std::vector{record(512), record(2048), record(4096)}));
  EXPECT_TRUE(open()->tuningLog()->all().damaged.empty());
  EXPECT_EQ(warnings, std::vector{"lines of the tuning log " + path +
                                  " that held no record are gone: line 2: no JSON object, and others"});
  writeFile(path, damaged);
  keep({}); // mends it, as was asked
  EXPECT_EQ(kept(), (std::vector{record(512), record(2048)}));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(TuningLogFile, LinesOfANewerTesseraAreCarriedAlong) {
  const auto with = [&](const std::string &text, const std::string &by) {
    std::string line = recordLine(record(512));
    return line.replace(line.find(text), text.size(), by);
  };
  const std::string knob = with("qsmem,online", "qsmem,online,tma"), spec = with("v1:in", "v7:in"),
                    target = with("\"sm_80\"", "\"sm_80x\""), legal = with("kv32", "kv24");
  writeFile(path, knob + spec + "{\"spec\": 1}\n" + target + recordLine(record(512)) + legal);
  EXPECT_EQ(kept(), std::vector{record(512)});
  EXPECT_EQ(open()->tuningLog()->all().damaged.size(), 5u) << "which are said";
  keep({record(1024)});
  const std::string after = recordLine(record(512)) + recordLine(record(1024)) + knob + spec + target + legal;
  EXPECT_EQ(fileBytes(path), after) << "they stand last, and count where they are understood";
  EXPECT_EQ(warnings, std::vector{"lines of the tuning log " + path +
                                  " that held no record are gone: line 3: 'spec' is not there, or no text"});
  keep({record(1024)});
  EXPECT_EQ(fileBytes(path), after);
  EXPECT_EQ(warnings.size(), 1u);
  keep({}); // mends it, as was asked
  EXPECT_EQ(fileBytes(path), recordLine(record(512)) + recordLine(record(1024)));
}

TEST_F(TuningLogFile, LinesOfANewerTesseraLeaveRoom) {
  std::string line = recordLine(record(512)), text;
  line.replace(line.find("online"), 6, "online,tma");
  for (size_t i = 0; i < TuningLog::maxRecords; ++i)
    text += line;
  writeFile(path, text);
  keep({record(1024)});
  EXPECT_EQ(kept(), std::vector{record(1024)});
  EXPECT_EQ(size_t(std::ranges::count(fileBytes(path), '\n')), TuningLog::maxRecords / 2 + 1);
  line.insert(line.size() - 2, ",\"more\":\"" + std::string(60000, 'x') + "\"");
  text.clear();
  while (text.size() + line.size() <= TuningLog::maxBytes)
    text += line;
  writeFile(path, text);
  keep({record(1024)});
  EXPECT_EQ(kept(), std::vector{record(1024)});
  EXPECT_LE(fileBytes(path).size(), TuningLog::maxBytes / 2 + 1000);
}

TEST_F(TuningLogFile, TheOldestGoBeyondTheBound) {
  std::vector<TuningRecord> many;
  for (size_t i = 0; i < TuningLog::maxRecords + 3; ++i)
    many.push_back(record(int64_t(i + 1)));
  keep(many);
  keep({record(1)});
  const std::vector<TuningRecord> left = kept();
  ASSERT_EQ(left.size(), TuningLog::maxRecords);
  EXPECT_EQ(left.front(), record(5));
  EXPECT_EQ(left.back(), record(1));
  EXPECT_LT(fileBytes(path).size(), TuningLog::maxBytes / 2) << "ordinary records are far from the other bound";
}

TEST_F(TuningLogFile, WhatIsNotPlainlyOursIsNeitherReadNorReplaced) {
  const std::string good = recordLine(record(512)), elsewhere = folder.path + "/elsewhere";
  writeFile(elsewhere, good);
  struct Case {
    CacheMiss fault;
    const char *why;
    std::function<void()> make;
  };
  const Case cases[] = {
      {CacheMiss::Untrusted, "is a symbolic link", [&] { std::filesystem::create_symlink(elsewhere, path); }},
      {CacheMiss::Untrusted, "can be written by others (mode 0666)", [&] { writeFile(path, good, 0666); }},
      {CacheMiss::Untrusted, "is not a plain file", [&] { ::mkfifo(path.c_str(), 0600); }},
      {CacheMiss::Untrusted, "is not a plain file", [&] { std::filesystem::create_directory(path); }},
      {CacheMiss::Malformed, "has 4194305 bytes", [&] { writeFile(path, std::string(TuningLog::maxBytes + 1, '\n')); }},
  };
  keep({record(1)});
  for (const Case &one : cases) {
    SCOPED_TRACE(one.why);
    std::filesystem::remove_all(path);
    one.make();
    const std::filesystem::file_status before = std::filesystem::symlink_status(path);
    const auto log = open()->tuningLog();
    EXPECT_EQ(log->fault(), one.fault) << log->detail();
    EXPECT_TRUE(log->of({}).empty());
    EXPECT_TRUE(log->all().records.empty());
    const Status status = open()->keepTuning(std::vector{record(7)});
    EXPECT_EQ(status.code(), Code::File);
    EXPECT_NE(status.message().find(log->detail()), std::string::npos) << status.text();
    EXPECT_NE(status.message().find(one.why), std::string::npos) << status.text();
    EXPECT_EQ(status.hint().rfind("remove it, ", 0), 0u) << status.text();
    EXPECT_EQ(std::filesystem::symlink_status(path).type(), before.type()) << "it stays";
    EXPECT_EQ(std::filesystem::symlink_status(path).permissions(), before.permissions());
    EXPECT_EQ(open()->tuningLog()->fault(), one.fault);
    EXPECT_FALSE(exists(detail::CacheLayout{folder.path}.tuningLock()));
  }
  EXPECT_EQ(fileBytes(elsewhere), good);
  std::filesystem::remove_all(path);
  keep({record(7)});
  EXPECT_EQ(kept(), std::vector{record(7)});
  EXPECT_TRUE(warnings.empty());
  files.otherUser = FileSystem::real().user() + 1;
  EXPECT_NE(open()->tuningLog()->fault(), CacheMiss::None) << "of another user";
}

TEST_F(TuningLogFile, ModesReadAndWriteAsTheySay) {
  keep({record(512)});
  for (CacheMode mode : {CacheMode::ReadOnly, CacheMode::Off}) {
    const Status status = open(mode)->keepTuning(std::vector{record(1024)});
    EXPECT_EQ(status.code(), Code::File);
    EXPECT_NE(status.message().find(path), std::string::npos) << status.text();
    EXPECT_NE(status.message().find(name(mode)), std::string_view::npos) << status.text();
  }
  EXPECT_EQ(open(CacheMode::ReadOnly)->tuningLog()->of({}).size(), 1u);
  EXPECT_EQ(open(CacheMode::Off)->tuningLog()->fault(), CacheMiss::Off);
  EXPECT_EQ(open(CacheMode::Refresh)->tuningLog()->of({}), std::vector{record(512)})
      << "kernels are compiled anew, not chosen anew";
  EXPECT_TRUE(open(CacheMode::Refresh)->keepTuning(std::vector{record(1024)}));
  EXPECT_EQ(kept().size(), 2u) << "refresh keeps what was there";
}

TEST_F(TuningLogFile, AFolderThatIsNotToBeUsedIsNotBlamedOnAModeThatNobodySet) {
  std::filesystem::permissions(folder.path, std::filesystem::perms::all); // anybody may write there
  const Status status = open()->keepTuning(std::vector{record(512)});
  EXPECT_EQ(status.code(), Code::File);
  EXPECT_NE(status.message().find("its folder is not to be used"), std::string::npos) << status.text();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(folder.path), std::string::npos) << warnings[0];
}

TEST_F(TuningLogFile, ACacheThatIsNotThereYetIsMade) {
  CacheOptions options;
  options.directory = folder.path + "/deep/cache";
  options.mode = CacheMode::ReadWrite;
  auto cache = DiskCache::open(options, {}, files);
  EXPECT_EQ(cache->tuningLog()->fault(), CacheMiss::Absent);
  bool locked = false;
  files.atSync = [&] { locked = exists(detail::CacheLayout{options.directory}.tuningLock()); };
  EXPECT_TRUE(cache->keepTuning(std::vector{record(512)}));
  EXPECT_EQ(cache->tuningLog()->of({}), std::vector{record(512)});
  EXPECT_TRUE(locked) << "the first writer locks too";
}

TEST_F(TuningLogFile, B3_71_AFullDiskLeavesWhatWasThere) {
  for (const char *call : {"open", "write", "sync", "close", "rename"})
    for (int error : {ENOSPC, EDQUOT, EROFS, EIO}) {
      SCOPED_TRACE(testing::Message() << call << ": " << std::generic_category().message(error));
      std::filesystem::remove_all(path);
      files.failOnly.clear();
      keep({record(512)});
      auto cache = open();
      files.failOnly = call;
      files.error = error;
      const Status status = cache->keepTuning(std::vector{record(1024)});
      files.failOnly.clear();
      EXPECT_EQ(status.code(), Code::File);
      EXPECT_NE(status.message().find(std::generic_category().message(error)), std::string::npos) << status.text();
      EXPECT_EQ(kept(), std::vector{record(512)});
      EXPECT_EQ(treeOf(folder.path), (std::vector<std::string>{"v1", "v1/tuning.jsonl"}));
    }
}

TEST_F(TuningLogFile, WhatCannotBeReadIsNotOverwritten) {
  keep({record(512)});
  auto cache = open();
  files.failOnly = "read";
  files.error = EIO;
  EXPECT_EQ(cache->keepTuning(std::vector{record(1024)}).code(), Code::File);
  EXPECT_EQ(cache->tuningLog()->fault(), CacheMiss::Unreadable);
  files.failOnly.clear();
  EXPECT_EQ(kept(), std::vector{record(512)});
}

TEST_F(TuningLogFile, ProcessesThatWriteAtOnceLoseNothing) {
  constexpr int processes = 6, each = 15;
  for (int p = 0; p < processes; ++p)
    if (::fork() == 0) {
      auto cache = open();
      for (int i = 0; i < each; ++i)
        if (!cache->keepTuning(std::vector{record(1 + p * 1000 + i)}))
          ::_exit(1);
      ::_exit(0);
    }
  for (int p = 0; p < processes; ++p) {
    int status = 1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(kept().size(), size_t(processes * each));
  EXPECT_EQ(treeOf(folder.path), (std::vector<std::string>{"v1", "v1/tuning.jsonl"}));
}

TEST_F(TuningLogFile, AFileSystemWithoutLocksKeepsThemAllTheSame) {
  files.failOnly = "lock";
  files.error = ENOLCK;
  keep({record(512)});
  EXPECT_EQ(kept(), std::vector{record(512)});
}

TEST_F(TuningLogFile, TheLogIsNoEntryAndGoesWithTheCacheAlone) {
  keep({record(512)});
  auto cache = open();
  cache->store(cacheImage());
  EXPECT_EQ(cache->entries().size(), 1u);
  EXPECT_EQ(cache->verify(true).size(), 1u);
  EXPECT_FALSE(cache->trimTo(0).tuning);
  EXPECT_EQ(kept().size(), 1u);
  const DiskCache::Removed removed = cache->clear();
  EXPECT_TRUE(removed.tuning);
  EXPECT_EQ(removed.failed, 0u) << removed.failure;
  EXPECT_TRUE(treeOf(folder.path).empty());
  EXPECT_FALSE(cache->clear().tuning);
}

TEST_F(TuningLogFile, WhatADeadWriterLeftIsTidiedAway) {
  keep({record(512)});
  const std::string version = detail::CacheLayout{folder.path}.version();
  for (const char *name : {"/tuning.77-88.tmp", "/tuning.lock"}) {
    writeFile(version + name, "half");
    setStamp(version + name, ::time(nullptr) - 10000);
  }
  EXPECT_EQ(open()->trimTo(0).leftovers, 2u);
  EXPECT_EQ(treeOf(folder.path), (std::vector<std::string>{"v1", "v1/tuning.jsonl"}));
}

} // namespace
} // namespace tessera
