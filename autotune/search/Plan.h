// Plan: which tasks and candidates a run, or one shard of it, looks at.
#pragma once

#include "autotune/search/Search.h"

namespace tessera::tune {

struct Deal {
  std::vector<Task> tasks; ///< of this shard, without repetitions
  bool candidates = false; ///< shards share every task: each has every Nth candidate
};
/// InvalidArgument where there are no tasks, or shard, margin or budget are wrong.
Result<Deal> deal(std::span<const Task> tasks, const SearchOptions &options);

/// The facts with what is offered for this task in place of what would be compiled.
RunFacts factsFor(const Task &task, const RunFacts &facts, const SearchOptions &options);

/// `status` says why where the task has no legal schedule.
Plan planOf(const Task &task, const RunFacts &facts, const SearchOptions &options, bool dealCandidates);

/// Fills in the steps of all plans of a run.
void foresee(std::vector<Plan> &plans, const RunFacts &facts, const SearchOptions &options, const Known &known);

} // namespace tessera::tune
