// The log as a file: many writers, cut lines, full disks.
#include "tests/unit/log/Trials.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tessera::tune {
namespace {

using namespace tessera::tune::test;

struct TrialLogFile : testing::Test {
  std::string folder = testing::TempDir() + "tessera-log-XXXXXX", path;

  TrialLogFile() {
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    path = folder + "/tune.jsonl";
  }
  ~TrialLogFile() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string text() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
};

TEST_F(TrialLogFile, WhatIsAppendedIsReadInItsOrder) {
  Result<TrialLog> log = TrialLog::open(path);
  ASSERT_TRUE(log.ok()) << log.status().text();
  EXPECT_EQ(log->path(), path);
  EXPECT_TRUE(log->append(measured(32, 1)));
  EXPECT_TRUE(log->append(everything()));
  TrialLog moved = *std::move(log);
  EXPECT_TRUE(moved.append(measured(16, 2)));
  const TrialLines lines = readTrials(text());
  EXPECT_TRUE(lines.damaged.empty());
  ASSERT_EQ(lines.trials.size(), 3u);
  EXPECT_EQ(lineOf(lines.trials[1]), lineOf(everything()));
  EXPECT_EQ(lines.trials[2].schedule.tileKv, 16u);
}

TEST_F(TrialLogFile, EndsOfSearchesStandBesideTheTrials) {
  Result<TrialLog> log = TrialLog::open(path);
  ASSERT_TRUE(log.ok()) << log.status().text();
  const Trial trial = measured(32, 1);
  TaskEnd end{.task = trial.task, .device = trial.device, .target = trial.target, .build = {}, .assembler = {}};
  EXPECT_TRUE(log->append(trial));
  EXPECT_TRUE(log->append(end));
  end.time = 7;
  EXPECT_TRUE(log->append(end));
  const TrialLines lines = readTrials(text());
  EXPECT_TRUE(lines.damaged.empty());
  EXPECT_EQ(lines.trials.size(), 1u);
  ASSERT_EQ(lines.ends.size(), 2u);
  EXPECT_GT(lines.ends[0].time, 1000) << "set where it is not known";
  EXPECT_EQ(lines.ends[1].time, 7);
}

TEST_F(TrialLogFile, AnOldLogIsContinued) {
  write(lineOf(measured(32, 1)));
  EXPECT_TRUE(TrialLog::open(path)->append(measured(16, 2)));
  EXPECT_EQ(text(), lineOf(measured(32, 1)) + lineOf(measured(16, 2)));
}

TEST_F(TrialLogFile, TheTimeIsSetWhereItIsNotKnown) {
  Trial trial = measured(32, 1);
  trial.time = 0;
  const int64_t before = ::time(nullptr);
  EXPECT_TRUE(TrialLog::open(path)->append(trial));
  const int64_t time = readTrials(text()).trials.at(0).time;
  EXPECT_GE(time, before);
  EXPECT_LE(time, ::time(nullptr));
}

TEST_F(TrialLogFile, ALineThatACrashCutShortCostsNothingElse) {
  const std::string whole = lineOf(measured(32, 1));
  for (size_t length = 1; length < whole.size(); length += 97) {
    write(whole + whole.substr(0, length));
    EXPECT_TRUE(TrialLog::open(path)->append(measured(16, 2)));
    const TrialLines lines = readTrials(text());
    EXPECT_EQ(lines.trials.size(), 2u) << length;
    EXPECT_EQ(lines.damaged.size(), 1u) << length;
  }
  write(whole.substr(0, whole.size() - 1)); // only its end is missing
  EXPECT_TRUE(TrialLog::open(path)->append(measured(16, 2)));
  EXPECT_EQ(text(), whole + lineOf(measured(16, 2)));
}

TEST_F(TrialLogFile, ProcessesAndThreadsShareALog) {
  constexpr int processes = 4, threads = 3, each = 40;
  for (int p = 0; p < processes; ++p)
    if (::fork() == 0) {
      Result<TrialLog> log = TrialLog::open(path);
      bool right = log.ok();
      {
        std::vector<std::jthread> workers;
        for (int t = 0; t < threads; ++t)
          workers.emplace_back([&, t] {
            for (int i = 0; i < each; ++i)
              if (!log->append(measured(16, 1 + p * 10000 + t * 100 + i)))
                right = false;
          });
      }
      ::_exit(right ? 0 : 1);
    }
  for (int p = 0; p < processes; ++p) {
    int status = 1;
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  const TrialLines lines = readTrials(text());
  EXPECT_TRUE(lines.damaged.empty()) << lines.damaged[0];
  EXPECT_EQ(lines.trials.size(), size_t(processes * threads * each));
  EXPECT_EQ(mergeTrials({{lines.trials}}).size(), lines.trials.size()) << "each once";
}

TEST_F(TrialLogFile, WhatIsNoFileToWriteIsRefusedAndNamed) {
  std::filesystem::create_directory(path);
  Result<TrialLog> log = TrialLog::open(path);
  EXPECT_EQ(log.status().code(), Code::File);
  EXPECT_NE(log.status().message().find(path), std::string::npos) << log.status().text();
  EXPECT_EQ(TrialLog::open(folder + "/no/such/folder.jsonl").status().code(), Code::File);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(TrialLog::open(pipe).status().message().find("is not a plain file"), std::string::npos);
  EXPECT_EQ(TrialLog::open("/dev/null").status().code(), Code::File);
}

/// In a process of its own whose files may not grow beyond `bytes`: the write that crosses the limit is cut short, the
/// next fails, as on a full disk.
template <typename Body> void withFileLimit(rlim_t bytes, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(body([](rlim_t more) {
      const rlimit raised{more, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &raised);
    }));
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

TEST_F(TrialLogFile, B3_71_AFullDiskIsSaidAndTheLogGoesOnWhenThereIsRoom) {
  const std::string line = lineOf(measured(32, 1));
  for (const size_t room : {size_t(0), size_t(1), line.size() / 2, line.size() - 1}) {
    write(line);
    withFileLimit(line.size() + room, [&](auto raise) {
      Result<TrialLog> log = TrialLog::open(path);
      if (!log)
        return 1;
      for (int i = 0; i < 3; ++i) { // and again: it must not grow by a newline each time
        const Status full = log->append(measured(16, 2));
        if (full || full.code() != Code::File || full.message().find(path) == std::string::npos ||
            full.message().find(std::generic_category().message(EFBIG)) == std::string::npos)
          return 2;
      }
      if (readTrials(text()).trials.size() > 2)
        return 3;
      raise(RLIM_INFINITY);
      return log->append(measured(48, 3)) ? 0 : 4;
    });
    const TrialLines lines = readTrials(text());
    ASSERT_GE(lines.trials.size(), 2u) << text();
    EXPECT_EQ(lines.trials.front().schedule.tileKv, 32u);
    EXPECT_EQ(lines.trials.back().schedule.tileKv, 48u);
    EXPECT_LE(lines.damaged.size(), 1u) << room;
  }
}

TEST_F(TrialLogFile, B3_71_AnotherProcessGoesOnBehindAHalfLine) {
  const std::string line = lineOf(measured(32, 1));
  withFileLimit(line.size() / 2, [&](auto) { return TrialLog::open(path)->append(measured(32, 1)) ? 1 : 0; });
  EXPECT_EQ(text(), line.substr(0, line.size() / 2));
  EXPECT_TRUE(TrialLog::open(path)->append(measured(16, 2)));
  EXPECT_EQ(text(), line.substr(0, line.size() / 2) + "\n" + lineOf(measured(16, 2)));
}

} // namespace
} // namespace tessera::tune
