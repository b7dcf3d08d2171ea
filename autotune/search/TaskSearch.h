// TaskSearch: the search for one task: waves of candidates that are compiled and timed at once, then rounds among the
// best.
#pragma once

#include "autotune/search/KernelStore.h"
#include "autotune/search/Recorder.h"

namespace tessera::tune {

/// What the tasks of a run share.
struct Run {
  const RunFacts &facts;
  const SearchOptions &options;
  Workshop &workshop;
  std::span<const Trial> known;
  Budget &budget;
  Pace &pace;
  Recorder &recorder;
  KernelStore &kernels;
  Status broken; ///< of the workshop: nothing more can be asked of it
};

/// A candidate and what is known of it so far.
struct Entrant {
  Trial trial;
  std::shared_ptr<StoredKernel> kernel; ///< null: not compiled, or its trial is from the log
  bool required = false;                ///< the default or an incumbent
  bool ended = false;                   ///< its trial is complete; after that only the status Measured may win
  bool fromLog = false;
  bool inLog = false; ///< as it stands

  /// Whether it may win as far as is known: not yet verified perhaps.
  bool contends() const {
    return trial.measurement && !trial.measurement->stoppedEarly && (!ended || trial.status == TrialStatus::Measured);
  }
  bool verified() const { return trial.verification && trial.verification->right; }
  double milliseconds() const { return trial.measurement->milliseconds; }
  bool modelled() const { return trial.measurement->modelled; }
};

class TaskSearch {
public:
  /// `laterFresh` and `laterShared`: candidates of the tasks after this one, for the time that is left.
  struct Later {
    size_t fresh = 0, shared = 0, tasks = 0;
  };
  TaskSearch(Run &run, Plan plan, Later later);
  TaskOutcome carryOut();
  /// Of each candidate, whether the log has a trial that stands for it. Nothing is carried out after this.
  std::vector<bool> standInLog();

private:
  using Group = std::vector<Entrant *>;

  // Reuse.cpp
  void reuseLog();
  void reuse(Entrant &entrant, std::span<const Trial *const> known);
  bool standsStill(const Trial &logged, const Entrant &entrant) const;
  bool beaten(const Trial &logged) const;

  // TaskSearch.cpp: waves.
  Group nextWave(size_t &next);
  void evaluate(const Group &wave);
  void time(Group group);
  void compile(const Group &wave);
  void describe(Entrant &entrant);
  Group sieve(const Group &wave);
  bool duplicate(Entrant &entrant);
  void end(Entrant &entrant, TrialStatus status, std::string reason = {});
  void warnOfWrong(const Trial &trial);
  void endByFate(Entrant &entrant, Fate fate, const Status &status, bool compiling);

  // Summary.cpp
  void updateCounts(size_t next);
  void close();
  TaskOutcome outcome();
  std::string whyNoChoice() const;

  // Rounds.cpp: timing and verification.
  Group predictCompiled(Group group);
  Group measure(const Group &group, const Effort &effort);
  void verify(const Group &group);
  Group contenders();
  double bestMilliseconds();
  void crown();
  void dropHopeless();
  void measureAgainst(Entrant &leader, Group group, Effort effort, double factor);
  void halve();
  void decide();
  Group finalists();
  void interleave(const Group &finalists);

  bool over() const { return stopped() || !run_.broken.ok(); }
  bool stopped() const { return run_.budget.over(/*found=*/!best_.empty()); }
  Stopped whenStopped() const {
    return [this] { return stopped(); };
  }

  Run &run_;
  RunFacts facts_; ///< of the run, for this task
  Plan plan_;
  Later later_;
  std::vector<Entrant> entrants_; ///< the default first, then the incumbents, then by rank
  std::map<std::string, Entrant *> byCode_;
  std::string best_; ///< schedule of the best that was told
  size_t compiled_ = 0, measured_ = 0;
  bool cut_ = false;     ///< candidates were left out for time or count
  bool decided_ = false; ///< every round was played
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Kernels are the same where their code is and where they are launched alike: what a launch takes from the schedule
/// rather than from the code stands beside the digest.
std::string codeOf(const std::string &digest, const Schedule &schedule, const Footprint &footprint);

/// One measurement out of several short ones of the same kernel.
Measurement combine(std::span<const Measurement> parts);

} // namespace tessera::tune
