// A Workshop of plain functions: kernels that are never compiled, with times and faults as a test wants them.
#pragma once

#include "autotune/search/Search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tessera::tune::test {

/// What goes wrong with a schedule, by its text.
struct Fault {
  enum Where { Compile, Predict, Measure, Verify } where = Compile;
  Fate fate = Fate::Crashed;
  Status status = Status(Code::CompileError, "LLVM ERROR: Cannot select");
};

class FakeWorkshop : public Workshop {
public:
  bool modelled = true;
  unsigned jobs = 2;
  uint32_t seed = 0; ///< of the order of completion; 0: as asked
  double noise = 0;  ///< of measurements that are not modelled, relative
  std::function<double(const Task &, const Schedule &)> time = standardTime;
  std::map<std::string, Fault> faults;
  std::string uncompilable; ///< a spec of which every compile crashes
  std::set<std::string> wrong, spilling;
  std::map<std::string, std::string> code; ///< machine code; else the schedule's text
  std::function<void()> everyCompile;      ///< e.g. to stop

  std::function<Fate(const Schedule &)> everyMeasurement;
  std::function<void(const Schedule &, Measurement &)> disturbance; ///< of what is measured

  // Recorded.
  std::vector<std::string> compiled; ///< spec and schedule
  std::vector<std::string> asked;    ///< "measure" or "verify" and schedule
  size_t measurements = 0, verifications = 0;

  /// Some time that differs from schedule to schedule and has no other meaning.
  static double standardTime(const Task &task, const Schedule &schedule) {
    const uint64_t hash = std::hash<std::string>()(schedule.text() + task.spec.text());
    return double(task.problem.seqlenKv) / 1000 * (1 + double(hash % 1000) / 250);
  }

  unsigned width() const override { return jobs; }

  void compile(std::span<const Candidate> candidates, const Done<Compiled> &done, const Stopped &stopped) override {
    if (!candidates.empty() && candidates[0].task.spec.text() == uncompilable) {
      for (size_t i = 0; i < candidates.size(); ++i)
        done(i, {Fate::Crashed, Fault().status, {}});
      return;
    }
    each<Compiled>(
        candidates.size(), [&](size_t i) { return candidates[i].schedule; }, Fault::Compile, done, stopped,
        [&](size_t i) {
          const Candidate &candidate = candidates[i];
          compiled.push_back(candidate.task.spec.text() + " " + candidate.schedule.text());
          if (everyCompile)
            everyCompile();
          return Compiled{imageOf(candidate), 10, false};
        });
  }
  void predictCompiled(std::span<const Job> items, const Done<Prediction> &done, const Stopped &stopped) override {
    each<Prediction>(
        items.size(), [&](size_t i) { return items[i].image->schedule; }, Fault::Predict, done, stopped,
        [&](size_t i) {
          Prediction prediction;
          prediction.milliseconds = 1.1 * time(items[i].task, items[i].image->schedule);
          return prediction;
        });
  }
  void measure(std::span<const Job> items, const Effort &effort, const Done<Measurement> &done,
               const Stopped &stopped) override {
    const Done<Measurement> tell = [&](size_t i, Answered<Measurement> answer) {
      if (everyMeasurement && answer.fate == Fate::Done)
        answer.fate = everyMeasurement(items[i].image->schedule);
      done(i, std::move(answer));
    };
    each<Measurement>(
        items.size(), [&](size_t i) { return items[i].image->schedule; }, Fault::Measure, tell, stopped,
        [&](size_t i) {
          ++measurements;
          asked.push_back("measure " + items[i].image->schedule.text());
          Measurement measurement;
          measurement.milliseconds = time(items[i].task, items[i].image->schedule);
          if (!modelled)
            measurement.milliseconds *= 1 + noise * std::uniform_real_distribution<double>(-1, 1)(random_);
          if (disturbance)
            disturbance(items[i].image->schedule, measurement);
          measurement.lowMs = measurement.highMs = measurement.milliseconds;
          measurement.repeats = modelled ? 1 : effort.minRepeats;
          measurement.modelled = modelled;
          measurement.stoppedEarly =
              !modelled && effort.stopAboveMs > 0 && measurement.milliseconds > effort.stopAboveMs;
          measurement.method = modelled ? "modelled" : "graph replay, cold L2";
          return measurement;
        });
  }
  void verify(std::span<const Job> items, const Done<Verification> &done, const Stopped &stopped) override {
    each<Verification>(
        items.size(), [&](size_t i) { return items[i].image->schedule; }, Fault::Verify, done, stopped,
        [&](size_t i) {
          ++verifications;
          asked.push_back("verify " + items[i].image->schedule.text());
          Verification verification;
          verification.right = !wrong.contains(items[i].image->schedule.text());
          verification.error = verification.right ? 1e-4 : 0.5;
          verification.bound = 1e-3;
          verification.against = "f64 at 1x4x257x300";
          verification.complaint = verification.right ? "" : "o[0,0,0,0] is 1, expected 0.5";
          return verification;
        });
  }

private:
  template <typename T>
  void each(size_t count, const std::function<Schedule(size_t)> &schedule, Fault::Where where, const Done<T> &done,
            const Stopped &stopped, const std::function<T(size_t)> &make) {
    std::vector<size_t> order(count);
    for (size_t i = 0; i < count; ++i)
      order[i] = i;
    if (seed != 0)
      std::shuffle(order.begin(), order.end(), random_);
    for (size_t i : order) {
      if (stopped()) {
        done(i, {Fate::Cancelled, {}, {}});
        continue;
      }
      const auto fault = faults.find(schedule(i).text());
      if (fault != faults.end() && fault->second.where == where)
        done(i, {fault->second.fate, fault->second.status, {}});
      else
        done(i, {Fate::Done, {}, make(i)});
    }
  }

  KernelImage imageOf(const Candidate &candidate) const {
    KernelImage image;
    image.spec = candidate.task.spec;
    image.schedule = candidate.schedule;
    image.target = candidate.target;
    image.entry = "attention";
    image.tileQ = candidate.schedule.tileQ;
    image.blockThreads = 32 * candidate.schedule.warps;
    image.dynamicSharedBytes = uint32_t(candidate.schedule.sharedBytes(candidate.task.spec));
    image.registers = 128;
    const std::string text = candidate.schedule.text();
    image.spillBytes = spilling.contains(text) ? 16 : 0;
    const auto same = code.find(text);
    const std::string bytes = candidate.task.spec.text() + (same == code.end() ? text : same->second);
    image.cubin.assign(bytes.begin(), bytes.end());
    return image;
  }

  std::mt19937 random_{seed};
};

inline Task taskOf(int64_t seqlen = 2048, unsigned headDim = 128) {
  Task task;
  task.spec.headDim = task.spec.valueDim = headDim;
  task.spec.mask = Mask::causal(Align::BottomRight);
  task.problem = {1, 32, 8, seqlen, seqlen};
  return task;
}

/// `modelled`: of a simulator, which models times; a GPU measures them.
inline RunFacts factsOf(bool modelled = true) {
  const std::string gpu = "NVIDIA A100-SXM4-80GB", suffix = modelled ? " (Tessera simulator)" : "";
  return {*Gpu::find("a100"), *Target::parse("sm_80"), gpu + suffix, "build 1", "nvJitLink 13.0", 13000};
}

inline std::string winnerOf(const TaskOutcome &outcome) {
  return outcome.choice ? outcome.choice->winner.schedule.text() : "none";
}

/// The trial of this schedule; null: none.
inline const Trial *trialOf(const TaskOutcome &outcome, const std::string &schedule) {
  for (const Trial &trial : outcome.trials)
    if (trial.schedule.text() == schedule)
      return &trial;
  return nullptr;
}

/// A space that is soon enumerated, for tests that search often.
inline KnobLimits fewValues() {
  return {{"tile_q", {"64", "128"}},
          {"tile_kv", {"32", "64", "128"}},
          {"rescale", {"every", "lazy8"}},
          {"head_group", {"1"}}};
}

/// The candidates of a plan as texts, the default first.
inline std::vector<std::string> candidatesOf(const Task &task, const RunFacts &facts, const SearchOptions &options) {
  std::vector<std::string> texts;
  const Result<std::vector<Plan>> plans = plan(std::vector{task}, facts, options);
  for (const auto &[schedule, prediction] : plans->front().candidates)
    texts.push_back(schedule.text());
  return texts;
}

} // namespace tessera::tune::test
