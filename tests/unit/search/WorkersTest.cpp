// Worker processes that crash, hang, end, print and are killed; none of it costs more than the candidate at hand.
#include "autotune/search/Workers.h"
#include "tests/unit/search/FakeWorkshop.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

double secondsOf(const std::function<void()> &what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Children of a process that are alive.
std::vector<pid_t> childrenOf(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string pid, line;
    std::getline(file, line);
    const size_t name = line.rfind(')');
    char state = 0;
    long ofParent = 0;
    if (name != std::string::npos && std::sscanf(line.c_str() + name + 1, " %c %ld", &state, &ofParent) == 2 &&
        ofParent == parent && state != 'Z')
      children.push_back(pid_t(std::atol(line.c_str())));
  }
  return children;
}

bool alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name = line.rfind(')');
  return name != std::string::npos && line.substr(name + 2, 1) != "Z";
}

bool within(double seconds, const std::function<bool()> &holds) {
  for (int i = 0; i < int(seconds * 100); ++i) {
    if (holds())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return holds();
}

struct WorkersTest : testing::Test {
  WorkerOptions options;
  std::vector<Candidate> candidates;
  std::unique_ptr<Workshop> workers;

  WorkersTest() {
    unsetenv("FAULTY_SCHEDULES");
    unsetenv("FAULTY_RIG");
    unsetenv("FAULTY_DELAY_MS");
    unsetenv("FAULTY_STARTS");
    options.command = {WORKER_PROGRAM, "worker"};
    options.jobs = 2;
    options.device = "sim:a100";
    options.compilerLibrary = FAULTY_COMPILER;
    options.cache.mode = CacheMode::Off;
    for (unsigned tile : {16, 32, 48, 64, 80, 96, 112, 128}) {
      Schedule schedule;
      schedule.tileKv = tile;
      candidates.push_back({taskOf(), schedule, "sm_80"});
    }
  }

  void fault(const char *what, size_t candidate, const char *where = "FAULTY_SCHEDULES") {
    const char *before = std::getenv(where);
    setenv(where,
           ((before ? before : "") + std::string(what) + " " + candidates[candidate].schedule.text() + "\n").c_str(),
           1);
  }
  void start() {
    Result<std::unique_ptr<Workshop>> made = makeWorkers(options);
    ASSERT_TRUE(made.ok()) << made.status().text();
    workers = *std::move(made);
  }
  std::vector<Answered<Compiled>> compile(const Stopped &stopped = [] { return false; }) {
    if (!workers)
      start();
    std::vector<Answered<Compiled>> answers(candidates.size());
    std::vector<int> heard(candidates.size());
    workers->compile(
        candidates,
        [&](size_t index, Answered<Compiled> answer) {
          ++heard[index];
          answers[index] = std::move(answer);
        },
        stopped);
    EXPECT_EQ(heard, std::vector<int>(candidates.size(), 1)) << "one answer each";
    return answers;
  }
  std::vector<Fate> fates(const std::vector<Answered<Compiled>> &answers) {
    std::vector<Fate> all;
    for (const Answered<Compiled> &answer : answers)
      all.push_back(answer.fate);
    return all;
  }
  /// Everything is Done but one.
  std::vector<Fate> allDoneBut(size_t index, Fate fate) {
    std::vector<Fate> all(candidates.size(), Fate::Done);
    all[index] = fate;
    return all;
  }
  std::vector<Answered<Measurement>> measure(const std::vector<Answered<Compiled>> &kernels) {
    std::vector<Job> jobs;
    for (size_t i = 0; i < kernels.size(); ++i)
      jobs.push_back({&kernels[i].value.image, candidates[i].task});
    std::vector<Answered<Measurement>> answers(jobs.size());
    workers->measure(
        jobs, Effort{.minRepeats = 17},
        [&](size_t index, Answered<Measurement> answer) { answers[index] = std::move(answer); }, [] { return false; });
    return answers;
  }
};

} // namespace

TEST_F(WorkersTest, CompileAndMeasureSideBySide) {
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), std::vector<Fate>(candidates.size(), Fate::Done));
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].value.image.schedule, candidates[i].schedule);
    EXPECT_FALSE(kernels[i].value.fromCache);
  }
  EXPECT_EQ(childrenOf(getpid()).size(), 2u);
  const std::vector<Answered<Measurement>> times = measure(kernels);
  for (size_t i = 0; i < times.size(); ++i) {
    ASSERT_EQ(times[i].fate, Fate::Done) << times[i].status.text();
    EXPECT_EQ(times[i].value.milliseconds, FakeWorkshop::standardTime(candidates[i].task, candidates[i].schedule));
    EXPECT_EQ(times[i].value.repeats, 17u) << "the effort arrives";
    EXPECT_TRUE(times[i].value.modelled);
  }
  const std::vector<Job> jobs = {{&kernels[0].value.image, candidates[0].task}};
  workers->verify(
      jobs, [](size_t, Answered<Verification> answer) { EXPECT_TRUE(answer.value.right) << answer.status.text(); },
      [] { return false; });
  workers->predictCompiled(
      jobs,
      [](size_t, Answered<Prediction> answer) {
        EXPECT_NE(answer.value.bound, "") << answer.status.text();
        EXPECT_EQ(answer.value.terms.size(), 1u);
      },
      [] { return false; });
  workers.reset();
  EXPECT_TRUE(childrenOf(getpid()).empty()) << "they die with the object";
}

TEST_F(WorkersTest, AKernelGoesToTheProcessThatKnowsItsCounts) {
  const std::vector<Answered<Compiled>> kernels = compile();
  std::vector<Job> jobs;
  for (size_t i = 0; i < kernels.size(); ++i)
    jobs.push_back({&kernels[i].value.image, candidates[i].task});
  std::vector<std::string> processes(kernels.size());
  const auto predict = [&] {
    workers->predictCompiled(
        jobs, [&](size_t index, Answered<Prediction> answer) { processes[index] = answer.value.bound; },
        [] { return false; });
  };
  predict();
  const std::vector<std::string> before = processes;
  EXPECT_EQ(std::set(before.begin(), before.end()).size(), 2u);
  std::reverse(jobs.begin(), jobs.end());
  predict();
  std::reverse(processes.begin(), processes.end());
  size_t moved = 0; // one that has nothing left of its own helps the other
  for (size_t i = 0; i < before.size(); ++i)
    moved += processes[i] != before[i];
  EXPECT_LE(moved, 2u);
}

TEST_F(WorkersTest, B4_76_ACompilerThatAbortsCostsItsCandidate) {
  fault("abort", 3);
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), allDoneBut(3, Fate::Crashed));
  EXPECT_NE(kernels[3].status.message().find("the compile ended by signal 6 (Aborted): LLVM ERROR: Cannot select: t7"),
            std::string::npos)
      << kernels[3].status.text();
}

TEST_F(WorkersTest, B4_76_ACompilerThatExitsCostsItsCandidate) {
  fault("exit", 0);
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), allDoneBut(0, Fate::Crashed));
  EXPECT_NE(kernels[0].status.message().find("exit code 0"), std::string::npos) << kernels[0].status.text();
}

TEST_F(WorkersTest, B4_76_ACompilerThatRefusesCostsItsCandidateAndNoProcess) {
  start();
  compile();
  const std::vector<pid_t> before = childrenOf(getpid());
  workers.reset();
  fault("refuse", 5);
  fault("full", 6);
  start();
  const std::vector<Answered<Compiled>> kernels = compile();
  const std::vector<pid_t> after = childrenOf(getpid());
  EXPECT_EQ(kernels[5].fate, Fate::Refused);
  EXPECT_NE(kernels[5].status.text().find("refused by the faulty compiler"), std::string::npos);
  EXPECT_EQ(kernels[6].fate, Fate::Refused);
  EXPECT_NE(kernels[6].status.text().find("No space left on device"), std::string::npos);
  compile();
  EXPECT_EQ(childrenOf(getpid()), after) << "the same two processes go on";
}

TEST_F(WorkersTest, ACompilerThatHangsIsKilledWhileTheOtherGoesOn) {
  fault("hang", 1);
  options.slowestSeconds = 1.5;
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile(); }), 3);
  EXPECT_EQ(fates(kernels), allDoneBut(1, Fate::TimedOut));
  EXPECT_EQ(kernels[1].status.message(), "the compile was killed after 1.5 s in which it did nothing");
}

TEST_F(WorkersTest, ACompilerThatNeverEndsIsKilledOnceItHadItsProcessorTime) {
  fault("spin", 1);
  options.slowestSeconds = 1;
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), allDoneBut(1, Fate::TimedOut));
  EXPECT_EQ(kernels[1].status.message(), "the compile was killed after 1.0 s of processor time");
}

TEST_F(WorkersTest, TimeInWhichAllWereSuspendedIsNotHeldAgainstThem) {
  setenv("FAULTY_DELAY_MS", "300", 1);
  options.slowestSeconds = 1;
  start();
  candidates.resize(3);
  std::vector<Fate> all(candidates.size(), Fate::Broken);
  bool suspended = false;
  workers->compile(
      candidates,
      [&](size_t index, Answered<Compiled> answer) {
        all[index] = answer.fate;
        if (std::exchange(suspended, true))
          return;
        const std::vector<pid_t> children = childrenOf(getpid());
        for (pid_t pid : children)
          kill(pid, SIGSTOP);
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        for (pid_t pid : children)
          kill(pid, SIGCONT);
      },
      [] { return false; });
  EXPECT_EQ(all, std::vector<Fate>(candidates.size(), Fate::Done));
}

TEST_F(WorkersTest, ASignalThatEndsAWholeJobEndsNoWorker) {
  setenv("FAULTY_DELAY_MS", "300", 1);
  start();
  std::vector<pid_t> before;
  std::jthread sender([&] {
    within(2, [&] { return (before = childrenOf(getpid())).size() == 2; });
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // in the middle of a compile
    for (pid_t pid : before)
      for (int signal : {SIGTERM, SIGINT, SIGHUP})
        kill(pid, signal);
  });
  EXPECT_EQ(fates(compile()), std::vector<Fate>(candidates.size(), Fate::Done));
  sender.join();
  EXPECT_EQ(childrenOf(getpid()), before);
}

TEST_F(WorkersTest, WhereMemoryRunsOutTheKernelTakesAWorkerFirst) {
  const auto scoreOf = [](const std::string &process) {
    int score = -2000;
    std::ifstream("/proc/" + process + "/oom_score_adj") >> score;
    return score;
  };
  compile();
  for (pid_t pid : childrenOf(getpid()))
    EXPECT_EQ(scoreOf(std::to_string(pid)), std::min(scoreOf("self") + 500, 1000));
}

TEST_F(WorkersTest, AnErrorBehindMuchTalkIsFound) {
  fault("flood-abort", 2);
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), allDoneBut(2, Fate::Crashed));
  EXPECT_NE(kernels[2].status.message().find("LLVM ERROR: Cannot select: t7"), std::string::npos)
      << kernels[2].status.text();
}

TEST_F(WorkersTest, AWorkerThatDoesNotComeUpIsStartedAgainButNotForEver) {
  const std::string file = testing::TempDir() + "tessera-starts-" + std::to_string(getpid());
  setenv("FAULTY_STARTS", file.c_str(), 1);
  options.jobs = 1;
  candidates.resize(2);
  for (const size_t deaths : {2, 3}) {
    std::ofstream(file) << std::string(deaths, 'x');
    workers.reset();
    const std::vector<Answered<Compiled>> kernels = compile();
    EXPECT_EQ(fates(kernels), std::vector<Fate>(2, deaths < 3 ? Fate::Done : Fate::Broken)) << deaths;
    EXPECT_EQ(kernels[0].status.message().find(
                  "ended by signal 9 (Killed) before it could be asked anything, 3 times") != std::string::npos,
              deaths == 3)
        << kernels[0].status.text();
  }
  unsetenv("FAULTY_STARTS");
  std::filesystem::remove(file);
}

TEST_F(WorkersTest, TimeoutsAdaptToWhatCompilesTook) {
  fault("hang", 7); // the last: the others tell how long one takes
  options.slowestSeconds = 60;
  options.leastSeconds = 0.5;
  options.jobs = 1;
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile(); }), 10);
  EXPECT_EQ(fates(kernels), allDoneBut(7, Fate::TimedOut));
}

TEST_F(WorkersTest, ACompilerThatHangsAmongTheFirstIsKilledOnceOthersToldHowLongOneTakes) {
  fault("hang", 0);
  options.leastSeconds = 0.5;
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile(); }), 10);
  EXPECT_EQ(fates(kernels), allDoneBut(0, Fate::TimedOut));
}

TEST_F(WorkersTest, ARequestWhoseWorkerIsKilledFromOutsideIsAskedOnceMore) {
  const std::string file = testing::TempDir() + "tessera-times-" + std::to_string(getpid());
  setenv("FAULTY_TIMES", file.c_str(), 1);
  const struct {
    const char *what;
    size_t times, left;
    Fate fate;
  } cases[] = {{"kill-times", 1, 0, Fate::Done},
               {"kill-times", 3, 1, Fate::Killed},
               {"limit-times", 1, 0, Fate::Done},
               {"limit-times", 2, 0, Fate::Killed},
               {"abort-times", 3, 2, Fate::Crashed}};
  for (const auto &[what, times, left, fate] : cases) {
    std::ofstream(file) << std::string(times, 'x');
    unsetenv("FAULTY_SCHEDULES");
    fault(what, 3);
    workers.reset();
    const std::vector<Answered<Compiled>> kernels = compile();
    EXPECT_EQ(fates(kernels), allDoneBut(3, fate)) << what;
    EXPECT_EQ(std::filesystem::file_size(file), left) << what;
    const std::string text = kernels[3].status.text();
    EXPECT_EQ(text.find("\n  hint: it was so twice") != std::string::npos, fate == Fate::Killed) << text;
  }
  unsetenv("FAULTY_TIMES");
  std::filesystem::remove(file);
}

TEST_F(WorkersTest, WhatLibrariesPrintDoesNotReachTheAnswers) {
  fault("print", 2);
  fault("flood", 4);
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), std::vector<Fate>(candidates.size(), Fate::Done));
  fault("measure-print", 2, "FAULTY_RIG");
  workers.reset();
  start();
  compile();
  EXPECT_EQ(measure(kernels)[2].fate, Fate::Done);
}

TEST_F(WorkersTest, AWorkerThatSendsGarbageCostsItsCandidate) {
  fault("garbage", 2);
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(fates(kernels), allDoneBut(2, Fate::Crashed));
}

TEST_F(WorkersTest, AStopInTheMiddleOfACompileIsQuick) {
  for (size_t i = 0; i < candidates.size(); ++i)
    fault("hang", i);
  bool stop = false;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop = true;
  });
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile([&] { return stop; }); }), 1.0);
  EXPECT_EQ(fates(kernels), std::vector<Fate>(candidates.size(), Fate::Cancelled));
  EXPECT_TRUE(childrenOf(getpid()).empty()) << "what hangs is killed";
}

TEST_F(WorkersTest, ASignalHandlerMayStopIt) {
  static volatile std::sig_atomic_t asked;
  asked = 0;
  const auto former = std::signal(SIGUSR1, [](int) { asked = 1; });
  fault("hang", 0);
  fault("hang", 1);
  std::jthread stopper([thread = pthread_self()] {
    for (int i = 0; i < 20; ++i) { // interrupted calls go on
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      pthread_kill(thread, SIGUSR1);
    }
  });
  EXPECT_LT(secondsOf([&] { compile([] { return asked != 0; }); }), 1.0);
  stopper.join();
  std::signal(SIGUSR1, former);
}

TEST_F(WorkersTest, AKernelThatHangsOrKillsItsProcessCostsItself) {
  options.slowestRunSeconds = 1;
  fault("measure-hang", 2, "FAULTY_RIG");
  fault("measure-abort", 4, "FAULTY_RIG");
  fault("measure-fault", 5, "FAULTY_RIG");
  const std::vector<Answered<Measurement>> times = measure(compile());
  for (size_t i = 0; i < times.size(); ++i)
    EXPECT_EQ(times[i].fate, i == 2   ? Fate::TimedOut
                             : i == 4 ? Fate::Crashed
                             : i == 5 ? Fate::Refused
                                      : Fate::Done)
        << i << times[i].status.text();
  EXPECT_EQ(times[5].status.code(), Code::DriverError);
}

TEST_F(WorkersTest, AProcessWhoseDeviceFaultedIsNotAskedAgain) {
  options.jobs = 1;
  fault("verify-fault", 0, "FAULTY_RIG");
  fault("measure-fault", 1, "FAULTY_RIG");
  const std::vector<Answered<Compiled>> kernels = compile();
  const std::vector<pid_t> first = childrenOf(getpid());
  workers->verify(
      std::vector<Job>{{&kernels[0].value.image, candidates[0].task}},
      [](size_t, Answered<Verification> answer) {
        EXPECT_EQ(answer.fate, Fate::Done);
        EXPECT_FALSE(answer.value.right);
      },
      [] { return false; });
  EXPECT_TRUE(childrenOf(getpid()).empty());
  EXPECT_EQ(measure(kernels)[1].fate, Fate::Refused);
  EXPECT_NE(childrenOf(getpid()), first);
}

TEST_F(WorkersTest, AWorkerKilledWhileIdleIsReplacedAndNoCandidateBlamed) {
  compile();
  for (pid_t pid : childrenOf(getpid()))
    kill(pid, SIGKILL);
  ASSERT_TRUE(within(2, [] { return childrenOf(getpid()).empty(); }));
  EXPECT_EQ(fates(compile()), std::vector<Fate>(candidates.size(), Fate::Done));
}

TEST_F(WorkersTest, AProgramThatCannotBeRunIsAnErrorAtOnce) {
  options.command = {"/nowhere/tessera", "worker"};
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile(); }), 1.0);
  EXPECT_EQ(fates(kernels), std::vector<Fate>(candidates.size(), Fate::Broken));
  EXPECT_NE(kernels[0].status.message().find("/nowhere/tessera"), std::string::npos);
  EXPECT_NE(kernels[0].status.message().find("No such file"), std::string::npos) << kernels[0].status.text();
}

TEST_F(WorkersTest, AProgramThatIsNoWorkerIsAnErrorAtOnce) {
  options.command = {WORKER_PROGRAM, "something else"};
  std::vector<Answered<Compiled>> kernels;
  EXPECT_LT(secondsOf([&] { kernels = compile(); }), 1.0);
  EXPECT_EQ(fates(kernels), std::vector<Fate>(candidates.size(), Fate::Broken));
  EXPECT_NE(kernels[0].status.message().find("exit code 7"), std::string::npos) << kernels[0].status.text();
}

TEST_F(WorkersTest, ACompilerThatIsNotThereBreaksTheWorkshopAndNoCandidate) {
  options.compilerLibrary = "/nowhere/libtessera-compiler.so";
  const std::vector<Answered<Compiled>> kernels = compile();
  EXPECT_EQ(kernels[0].fate, Fate::Broken);
  EXPECT_NE(kernels[0].status.text().find("/nowhere/libtessera-compiler.so"), std::string::npos);
}

TEST_F(WorkersTest, ADeviceThatIsNotThereBreaksTheWorkshopAndNoCandidate) {
  const std::vector<Answered<Compiled>> kernels = compile();
  workers.reset();
  options.device = "sim:no-such-gpu";
  start();
  EXPECT_EQ(measure(kernels)[0].fate, Fate::Broken);
}

TEST_F(WorkersTest, WorkersOfAKilledParentDieToo) {
  char program[] = WORKER_PROGRAM, what[] = "parent";
  char *arguments[] = {program, what, nullptr};
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, program, nullptr, nullptr, arguments, environ), 0);
  std::vector<pid_t> workersOfIt;
  EXPECT_TRUE(within(5, [&] { return (workersOfIt = childrenOf(parent)).size() == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300)); // in the middle of a compile
  for (pid_t pid : workersOfIt) {
    EXPECT_TRUE(alive(pid));
    EXPECT_NE(getpgid(pid), getpgid(parent)) << "Ctrl-C reaches the parent alone";
  }
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (pid_t pid : workersOfIt)
    EXPECT_TRUE(within(2, [&] { return !alive(pid); })) << pid;
}

TEST_F(WorkersTest, ASearchWithAllOfTheseEndsWell) {
  const RunFacts facts = factsOf();
  const SearchOptions few{.top = 12, .limits = fewValues()};
  const std::vector<std::string> texts = candidatesOf(taskOf(), facts, few);
  std::string lines;
  const char *faults[] = {"abort", "hang", "exit", "refuse", "print", "spill"};
  for (size_t i = 0; i < std::size(faults); ++i)
    lines += std::string(faults[i]) + " " + texts[i + 1] + "\n";
  setenv("FAULTY_SCHEDULES", lines.c_str(), 1);
  setenv("FAULTY_RIG", ("measure-fault " + texts[7] + "\nverify-abort " + texts[8]).c_str(), 1);
  options.slowestSeconds = 1;
  start();
  const std::atomic<bool> stop{false};
  const Result<SearchOutcome> outcome = search(std::vector{taskOf()}, facts, few, *workers, nullptr, {}, stop);
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  const TaskOutcome &task = outcome->tasks[0];
  const TrialStatus expected[] = {TrialStatus::Crashed, TrialStatus::TimedOut, TrialStatus::Crashed,
                                  TrialStatus::Failed};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(trialOf(task, texts[i + 1])->status, expected[i]) << faults[i];
  EXPECT_EQ(trialOf(task, texts[6])->status, TrialStatus::Spills);
  EXPECT_EQ(trialOf(task, texts[7])->status, TrialStatus::Faulted);
  EXPECT_TRUE(task.choice);
  EXPECT_TRUE(task.complete);
}

TEST_F(WorkersTest, ABudgetThatEndsWhileOthersCompileKeepsTheDefault) {
  const SearchOptions brief{.top = 12, .seconds = 1.5, .limits = fewValues()};
  const std::vector<std::string> texts = candidatesOf(taskOf(), factsOf(), brief);
  std::string lines;
  for (size_t i = 1; i < texts.size(); ++i)
    lines += "hang " + texts[i] + "\n";
  setenv("FAULTY_SCHEDULES", lines.c_str(), 1);
  start();
  const std::atomic<bool> stop{false};
  const auto go = [&] { return search(std::vector{taskOf()}, factsOf(), brief, *workers, nullptr, {}, stop); };
  std::optional<Result<SearchOutcome>> outcome;
  EXPECT_LT(secondsOf([&] { outcome.emplace(go()); }), 4);
  ASSERT_TRUE(outcome->ok()) << outcome->status().text();
  const TaskOutcome &task = (*outcome)->tasks[0];
  EXPECT_EQ(winnerOf(task), texts[0]);
  EXPECT_EQ(task.trials.size(), 1u) << "of those that were cut off nothing is said";
  EXPECT_EQ(task.candidates, texts.size());
  EXPECT_TRUE(task.comparedAll);
  EXPECT_TRUE((*outcome)->outOfBudget);
}

TEST_F(WorkersTest, ABudgetThatEndsWhileTheDefaultCompilesWaitsForIt) {
  const SearchOptions brief{.top = 12, .seconds = 1.5, .limits = fewValues()};
  const std::vector<std::string> texts = candidatesOf(taskOf(), factsOf(), brief);
  std::string lines = "slow " + texts[0] + "\n"; // as long as the budget; the second is there at once
  for (size_t i = 2; i < texts.size(); ++i)
    lines += "hang " + texts[i] + "\n";
  setenv("FAULTY_SCHEDULES", lines.c_str(), 1);
  start();
  const std::atomic<bool> stop{false};
  const Result<SearchOutcome> outcome = search(std::vector{taskOf()}, factsOf(), brief, *workers, nullptr, {}, stop);
  ASSERT_TRUE(outcome.ok()) << outcome.status().text();
  const TaskOutcome &task = outcome->tasks[0];
  ASSERT_TRUE(task.choice);
  EXPECT_TRUE(task.choice->byDefault);
  EXPECT_TRUE(task.comparedAll);
  EXPECT_FALSE(task.complete);
  EXPECT_LT(task.seconds, 4);
}

TEST_F(WorkersTest, WrongOptionsAreRefused) {
  options.patience = 0;
  EXPECT_EQ(makeWorkers(options).status().code(), Code::InvalidArgument);
  options.patience = 20;
  options.command.clear();
  EXPECT_EQ(makeWorkers(options).status().code(), Code::InvalidArgument);
}
