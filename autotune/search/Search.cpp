// One task after the other, with what they share: budget, kernels, log.
#include "autotune/search/Plan.h"
#include "autotune/search/TaskSearch.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

/// The plans of all tasks, so that what is left of a run is known from its start; none where there are so many tasks,
/// or so little time, that planning them would hold up the first result: then each is planned when its turn comes.
std::vector<Plan> planAhead(const Deal &mine, const RunFacts &facts, const SearchOptions &options, const Known &known,
                            const Budget &budget) {
  constexpr size_t kMostTasks = 32;
  constexpr double kMostShare = 0.05; // of the time
  std::vector<Plan> plans;
  if (mine.tasks.size() > kMostTasks)
    return {};
  for (const Task &task : mine.tasks) {
    if (budget.stopped() || (options.seconds && budget.elapsed() > kMostShare * *options.seconds))
      return {};
    plans.push_back(planOf(task, facts, options, mine.candidates));
  }
  foresee(plans, facts, options, known);
  return plans;
}

/// How many candidates the tasks from `first` on have; without plans, about: as many as another task, `candidates`, and
/// where that is of the same spec with its kernels.
TaskSearch::Later countLater(std::span<const Plan> plans, std::span<const Task> tasks, size_t first,
                             size_t candidates) {
  TaskSearch::Later later;
  later.tasks = tasks.size() - first;
  if (!plans.empty()) {
    for (const Plan &plan : plans.subspan(first)) {
      later.fresh += size_t(std::ranges::count(plan.steps, Step::Compile));
      later.shared += size_t(std::ranges::count(plan.steps, Step::Shared));
    }
    return later;
  }
  for (size_t i = first; i < tasks.size(); ++i) {
    const bool shared = std::any_of(tasks.begin(), tasks.begin() + ptrdiff_t(i),
                                    [&](const Task &task) { return task.spec == tasks[i].spec; });
    (shared ? later.shared : later.fresh) += candidates;
  }
  return later;
}

TaskOutcome withoutSpace(const Plan &plan, Recorder &recorder) {
  recorder.warn(fmt::format("nothing to search for {}: {}", plan.task.spec.text(), plan.status.text()));
  TaskOutcome outcome;
  outcome.task = plan.task;
  outcome.complete = true;
  return outcome;
}

TaskEnd endOf(const TaskOutcome &outcome, const RunFacts &facts, const Shard &part) {
  TaskEnd end{.task = outcome.task,
              .device = facts.device,
              .target = std::string(facts.target.name),
              .build = facts.build,
              .assembler = facts.assembler,
              .driverVersion = facts.driverVersion};
  end.part = part.index;
  end.parts = part.count;
  end.complete = outcome.complete;
  return end;
}

} // namespace

Result<SearchOutcome> search(std::span<const Task> tasks, const RunFacts &facts, const SearchOptions &options,
                             Workshop &workshop, TrialLog *log, const Known &known, const std::atomic<bool> &stop,
                             const std::function<void(const SearchEvent &)> &tell) {
  const Result<Deal> mine = deal(tasks, options);
  if (!mine)
    return mine.status();
  SearchOutcome outcome;
  Budget budget(options, mine->tasks.size(), stop);
  Pace pace;
  Recorder recorder(outcome, log, tell, budget);
  KernelStore kernels;
  Run run{facts, options, workshop, known.trials, budget, pace, recorder, kernels, {}};
  Status nothing; // why the first task without a legal schedule has none
  size_t searched = 0, unreached = 0;
  const Shard part = mine->candidates ? options.shard : Shard{};
  std::vector<Plan> plans = planAhead(*mine, facts, options, known, budget);
  for (size_t i = 0; i < mine->tasks.size(); ++i) {
    const Task &task = mine->tasks[i];
    const auto ends = [&] {
      if (const TaskEnd end = endOf(outcome.tasks.back(), factsFor(task, facts, options), part);
          !repeats(known.ends, end))
        recorder.append(end);
    };
    if (!run.broken.ok() || budget.stopped() || budget.secondsLeft() == 0) {
      outcome.tasks.push_back({.task = task});
      ends();
      ++unreached;
      continue;
    }
    recorder.counts = {};
    recorder.counts.task = i;
    recorder.counts.tasks = mine->tasks.size();
    budget.beginTask();
    Plan plan = plans.empty() ? planOf(task, facts, options, mine->candidates) : std::move(plans[i]);
    if (plan.status.ok()) {
      const TaskSearch::Later later = countLater(plans, mine->tasks, i + 1, plan.candidates.size());
      outcome.tasks.push_back(TaskSearch(run, std::move(plan), later).carryOut());
      ++searched;
    } else {
      nothing = nothing.ok() ? plan.status : nothing;
      outcome.tasks.push_back(withoutSpace(plan, recorder));
    }
    ends();
    const auto same = [&](const Task &other) { return other.spec == task.spec; };
    if (std::none_of(mine->tasks.begin() + ptrdiff_t(i) + 1, mine->tasks.end(), same))
      kernels.forget(task.spec);
  }
  if (searched == 0 && unreached == 0)
    return nothing;
  if (unreached > 0)
    recorder.warn(fmt::format("{} of {} attentions and shapes were not reached before the search ended", unreached,
                              mine->tasks.size()));
  const auto chosen = [](const TaskOutcome &task) { return task.choice.has_value(); };
  if (!run.broken.ok()) {
    if (std::none_of(outcome.tasks.begin(), outcome.tasks.end(), chosen))
      return run.broken;
    recorder.warn("the search ended early: " + run.broken.text());
  }
  const auto complete = [](const TaskOutcome &task) { return task.complete; };
  outcome.interrupted = budget.stopped();
  outcome.outOfBudget =
      !outcome.interrupted && run.broken.ok() && !std::all_of(outcome.tasks.begin(), outcome.tasks.end(), complete);
  return outcome;
}

} // namespace tessera::tune
