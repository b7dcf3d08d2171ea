// What a run would do with each candidate of its plans: found by the search's own rules, without doing any of it.
#include "autotune/search/Plan.h"
#include "autotune/search/TaskSearch.h"

#include <set>
#include <utility>

namespace tessera::tune {
namespace {

/// Asked for nothing.
class NoWorkshop final : public Workshop {
public:
  unsigned width() const override { return 1; }
  void compile(std::span<const Candidate>, const Done<Compiled> &, const Stopped &) override {}
  void predictCompiled(std::span<const Job>, const Done<Prediction> &, const Stopped &) override {}
  void measure(std::span<const Job>, const Effort &, const Done<Measurement> &, const Stopped &) override {}
  void verify(std::span<const Job>, const Done<Verification> &, const Stopped &) override {}
};

} // namespace

std::vector<bool> TaskSearch::standInLog() {
  reuseLog();
  std::vector<bool> stand;
  for (const Entrant &entrant : entrants_)
    stand.push_back(entrant.ended);
  return stand;
}

void foresee(std::vector<Plan> &plans, const RunFacts &facts, const SearchOptions &options, const Known &known) {
  SearchOptions counted = options;
  counted.seconds.reset(); // how far time reaches is not known before
  const std::atomic<bool> never = false;
  const std::function<void(const SearchEvent &)> nobody;
  SearchOutcome outcome;
  Budget budget(counted, plans.size(), never);
  Pace pace;
  Recorder recorder(outcome, nullptr, nobody, budget);
  KernelStore kernels;
  NoWorkshop workshop;
  Run run{facts, counted, workshop, known.trials, budget, pace, recorder, kernels, {}};
  std::set<std::pair<std::string, std::string>> compiled; // spec and schedule
  for (Plan &plan : plans) {
    budget.beginTask();
    plan.steps.clear();
    if (!plan.status.ok())
      continue;
    const std::vector<bool> logged = TaskSearch(run, plan, {}).standInLog();
    const Schedule usual = defaultSchedule(plan.task.spec, factsFor(plan.task, facts, options).target);
    for (size_t i = 0; i < plan.candidates.size(); ++i) {
      const Schedule &schedule = plan.candidates[i].first;
      std::pair<std::string, std::string> kernel(plan.task.spec.text(), schedule.text());
      if (logged[i]) {
        plan.steps.push_back(Step::Logged);
      } else if (compiled.contains(kernel)) {
        plan.steps.push_back(Step::Shared);
      } else if (budget.compilesLeft() == 0 && schedule != usual) {
        plan.steps.push_back(Step::Beyond);
      } else {
        plan.steps.push_back(Step::Compile);
        budget.countCompiles(1);
        compiled.insert(std::move(kernel));
      }
    }
  }
}

} // namespace tessera::tune
