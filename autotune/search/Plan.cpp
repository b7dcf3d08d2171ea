// Which candidates of which tasks a run, or one shard of it, looks at.
#include "autotune/search/Plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune {
namespace {

Status checkOptions(std::span<const Task> tasks, const SearchOptions &options) {
  if (tasks.empty())
    return Status(Code::InvalidArgument, "there is nothing to tune: no spec, or no shape", "name at least one of each");
  if (options.shard.count == 0 || options.shard.index == 0 || options.shard.index > options.shard.count)
    return Status(Code::InvalidArgument,
                  fmt::format("no shard {}/{}: I/N has I from 1 to N", options.shard.index, options.shard.count));
  if (!(options.margin >= 0 && options.margin < 1))
    return Status(Code::InvalidArgument,
                  fmt::format("the margin of ties must be at least 0 and less than 1, got {}", options.margin));
  if (options.finalists == 0)
    return Status(Code::InvalidArgument, "there must be at least one finalist, got 0");
  if (options.seconds && !(*options.seconds > 0))
    return Status(Code::InvalidArgument, fmt::format("the budget must be positive, got {} seconds", *options.seconds));
  return {};
}

/// Of which shard a spec is: by the order in which specs first appear.
std::vector<size_t> specIndices(std::span<const Task> tasks) {
  std::vector<std::string> specs;
  std::vector<size_t> indices;
  for (const Task &task : tasks) {
    const std::string text = task.spec.text();
    const size_t index = size_t(std::find(specs.begin(), specs.end(), text) - specs.begin());
    if (index == specs.size())
      specs.push_back(text);
    indices.push_back(index);
  }
  return indices;
}

/// Only what is offered and legal; the default need not be among it.
Result<Space> offeredSpace(const Task &task, const Target &target, const std::vector<Schedule> &offered) {
  Space space;
  space.combinations = offered.size();
  const Schedule usual = defaultSchedule(task.spec, target);
  for (const Schedule &schedule : offered) {
    if (Status legal = schedule.legal(task.spec, target); !legal)
      ++space.refused["not legal for " + std::string(target.name)];
    else if (std::find(space.legal.begin(), space.legal.end(), schedule) == space.legal.end())
      space.legal.insert(schedule == usual ? space.legal.begin() : space.legal.end(), schedule);
  }
  if (space.legal.empty())
    return Status(Code::InvalidArgument,
                  fmt::format("none of the {} schedules offered is legal for {} on {}", offered.size(),
                              task.spec.text(), target.name),
                  "build the bundle with candidates for this target (tessera bundle build --candidates)");
  return space;
}

Result<Space> spaceOf(const Task &task, const RunFacts &facts, const SearchOptions &options) {
  if (options.offered)
    return offeredSpace(task, facts.target, options.offered(task));
  if (Status valid = task.spec.validate(); !valid)
    return valid;
  if (Status valid = task.problem.validate(); !valid)
    return valid;
  return Space::of(task, facts.target, options.limits);
}

/// The default and the incumbents, without repetitions.
std::vector<std::pair<Schedule, Prediction>>
requiredOf(const Task &task, const RunFacts &facts, const SearchOptions &options, const std::vector<Schedule> &legal) {
  std::vector<Schedule> wanted = {defaultSchedule(task.spec, facts.target)};
  if (options.incumbents)
    std::ranges::copy(options.incumbents(task), std::back_inserter(wanted));
  std::vector<std::pair<Schedule, Prediction>> required;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Schedule &schedule = wanted[i];
    const bool able = options.offered ? std::find(legal.begin(), legal.end(), schedule) != legal.end()
                                      : schedule.legal(task.spec, facts.target).ok();
    if (able && std::find(wanted.begin(), wanted.begin() + ptrdiff_t(i), schedule) == wanted.begin() + ptrdiff_t(i))
      required.emplace_back(schedule, predict(facts.gpu, task, schedule));
  }
  return required;
}

/// How many of a space of this size are compiled beside the default.
size_t wantedTop(const SearchOptions &options, size_t legal) {
  constexpr size_t usual = 48, share = 10;
  if (options.top || options.offered)
    return options.top.value_or(0) == 0 ? legal : *options.top;
  return std::min(usual, std::max<size_t>(2, legal / share) - 1); // and the default
}

} // namespace

Result<Deal> deal(std::span<const Task> tasks, const SearchOptions &options) {
  if (Status right = checkOptions(tasks, options); !right)
    return right;
  const std::vector<size_t> specs = specIndices(tasks);
  Deal mine;
  mine.candidates = 1 + *std::max_element(specs.begin(), specs.end()) < options.shard.count;
  for (size_t i = 0; i < tasks.size(); ++i)
    if ((mine.candidates || specs[i] % options.shard.count == options.shard.index - 1) &&
        std::find(mine.tasks.begin(), mine.tasks.end(), tasks[i]) == mine.tasks.end())
      mine.tasks.push_back(tasks[i]);
  return mine;
}

RunFacts factsFor(const Task &task, const RunFacts &facts, const SearchOptions &options) {
  RunFacts mine = facts;
  if (options.code) {
    const OfferedCode code = options.code(task);
    mine.target = code.target;
    mine.build = code.build;
    mine.assembler = code.assembler;
  }
  return mine;
}

Plan planOf(const Task &task, const RunFacts &ofRun, const SearchOptions &options, bool dealCandidates) {
  const RunFacts facts = factsFor(task, ofRun, options);
  Plan plan;
  plan.task = task;
  Result<Space> space = spaceOf(task, facts, options);
  if (!space) {
    plan.status = space.status();
    return plan;
  }
  plan.space = *std::move(space);
  const Schedule usual = defaultSchedule(task.spec, facts.target);
  const bool mine = !dealCandidates || options.shard.index == 1;
  if (mine)
    plan.candidates = requiredOf(task, facts, options, plan.space.legal);
  plan.required = plan.candidates.size();
  const auto required = [&](const Schedule &schedule) {
    const auto end = plan.candidates.begin() + ptrdiff_t(plan.required);
    return std::find_if(plan.candidates.begin(), end, [&](const auto &one) { return one.first == schedule; }) != end;
  };
  const size_t top = wantedTop(options, plan.space.legal.size());
  size_t place = 0; // in the order of the model without the default, the same in all shards
  for (size_t index : rank(facts.gpu, task, plan.space.legal, facts.target)) {
    const Schedule &schedule = plan.space.legal[index];
    Prediction prediction = predict(facts.gpu, task, schedule);
    if (schedule == usual)
      continue;
    if (!std::isfinite(prediction.milliseconds)) {
      ++plan.space.refused["more registers or shared memory than one SM has"];
      continue;
    }
    if (place == top)
      continue; // the reasons of the others are counted
    const bool dealt = place++ % options.shard.count == options.shard.index - 1 || !dealCandidates;
    if (dealt && !required(schedule))
      plan.candidates.emplace_back(schedule, std::move(prediction));
  }
  return plan;
}

Result<std::vector<Plan>> plan(std::span<const Task> tasks, const RunFacts &facts, const SearchOptions &options,
                               const Known &known) {
  const Result<Deal> mine = deal(tasks, options);
  if (!mine)
    return mine.status();
  std::vector<Plan> plans;
  for (const Task &task : mine->tasks)
    plans.push_back(planOf(task, facts, options, mine->candidates));
  const auto legal = [](const Plan &plan) { return plan.status.ok(); };
  if (std::none_of(plans.begin(), plans.end(), legal))
    return plans.front().status;
  foresee(plans, facts, options, known);
  return plans;
}

} // namespace tessera::tune
