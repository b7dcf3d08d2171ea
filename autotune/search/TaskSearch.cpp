// Waves of candidates in the order of the model: compiled side by side, sieved, timed; the rest is in Rounds.cpp.
#include "autotune/search/TaskSearch.h"

#include "autotune/search/Plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tessera::tune {
namespace {

Footprint footprintOf(const KernelImage &image) {
  Footprint footprint;
  footprint.registers = image.registers.value_or(0);
  footprint.spillBytes = image.spillBytes.value_or(0);
  footprint.sharedBytes = image.dynamicSharedBytes;
  footprint.threads = image.blockThreads;
  footprint.basis = image.registers ? Basis::Image : Basis::Estimated;
  return footprint;
}

} // namespace

std::string codeOf(const std::string &digest, const Schedule &schedule, const Footprint &footprint) {
  return fmt::format("{} q{} pack{} h{} o{} p{} {}b {}t", digest, schedule.tileQ, schedule.packHeads,
                     schedule.headGroup, unsigned(schedule.order), schedule.persistent, footprint.sharedBytes,
                     footprint.threads);
}

TaskSearch::TaskSearch(Run &run, Plan plan, Later later) : run_(run), plan_(std::move(plan)), later_(later) {
  facts_ = factsFor(plan_.task, run.facts, run.options);
  const std::map<std::string, std::string> digests =
      run.options.code ? run.options.code(plan_.task).digests : std::map<std::string, std::string>();
  const Schedule usual = defaultSchedule(plan_.task.spec, facts_.target);
  for (auto &[schedule, prediction] : plan_.candidates) {
    Entrant &entrant = entrants_.emplace_back();
    entrant.required = entrants_.size() <= plan_.required;
    Trial &trial = entrant.trial;
    trial.task = plan_.task;
    trial.schedule = schedule;
    trial.device = facts_.device;
    trial.target = facts_.target.name;
    trial.isDefault = schedule == usual;
    trial.before = std::move(prediction);
    trial.build = facts_.build;
    trial.assembler = facts_.assembler;
    trial.driverVersion = facts_.driverVersion;
    if (const auto digest = digests.find(schedule.text()); digest != digests.end())
      trial.cubinDigest = digest->second;
  }
}

TaskOutcome TaskSearch::carryOut() {
  reuseLog();
  size_t next = 0;
  updateCounts(next);
  run_.recorder.tell(SearchEvent::TaskBegins);
  crown(); // of the log
  while (next < entrants_.size() && !over()) {
    if (next > 0 && run_.budget.timeToMeasure())
      break;
    const Group wave = nextWave(next);
    if (!wave.empty())
      evaluate(wave);
    updateCounts(next);
  }
  cut_ |= next < entrants_.size();
  const auto start = std::chrono::steady_clock::now();
  halve();
  decide();
  run_.pace.finish(secondsSince(start));
  cut_ |= !decided_;
  close();
  TaskOutcome result = outcome();
  updateCounts(entrants_.size());
  run_.recorder.tell(SearchEvent::TaskEnds);
  return result;
}

/// The next candidates that need work. The first wave is small, so that there is a best soon; the default is in it, and
/// is compiled whatever the budget.
TaskSearch::Group TaskSearch::nextWave(size_t &next) {
  const size_t width = std::max(run_.workshop.width(), 1u);
  const size_t size = next == 0 ? width + 2 : std::max<size_t>(12, 4 * width);
  size_t compiles = 0;
  Group wave;
  for (; next < entrants_.size() && wave.size() < size; ++next) {
    Entrant &entrant = entrants_[next];
    if (entrant.ended)
      continue;
    entrant.kernel = run_.kernels.find(plan_.task.spec, entrant.trial.schedule);
    if (!entrant.kernel) {
      if (compiles >= run_.budget.compilesLeft() && !entrant.trial.isDefault) {
        cut_ = true;
        continue; // later ones may have been compiled for another shape
      }
      ++compiles;
    }
    wave.push_back(&entrant);
  }
  return wave;
}

void TaskSearch::evaluate(const Group &wave) {
  const auto start = std::chrono::steady_clock::now();
  const size_t before = compiled_;
  const bool first = wave.front() == &entrants_.front();
  compile(wave);
  const double compiling = secondsSince(start);
  Group rest = sieve(wave);
  // The default by itself, so that there is something to keep, and to compare with, however soon the search ends.
  if (!rest.empty() && rest.front()->trial.isDefault) {
    const Group usual = {rest.front()};
    rest.erase(rest.begin());
    time(usual);
    verify(usual);
    crown();
  }
  time(std::move(rest));
  crown();
  dropHopeless();
  if (!over())
    run_.pace.wave({compiling, secondsSince(start) - compiling, compiled_ - before, wave.size(), first});
}

/// For the first time, and not for long.
void TaskSearch::time(Group group) {
  group = predictCompiled(std::move(group));
  // Best first, so that those far behind are stopped early; what must be compared before the rest.
  const auto expected = [](const Entrant *entrant) {
    return (entrant->trial.after ? entrant->trial.after : entrant->trial.before)->milliseconds;
  };
  std::ranges::sort(group, {},
                    [&](const Entrant *entrant) { return std::tuple(!entrant->required, expected(entrant), entrant); });
  Effort effort{.minRepeats = 3,
                .maxRepeats = 10,
                .wantedSpread = 0.05,
                .mostMilliseconds = 100,
                .stopAboveMs = 2 * bestMilliseconds()};
  group = measure(group, effort);
  // Once more where the device was held back: then that is what made it twice as slow, as far as is known.
  std::erase_if(group, [](const Entrant *entrant) {
    return !entrant->trial.measurement->stoppedEarly || !entrant->trial.measurement->throttled;
  });
  effort.stopAboveMs = 0;
  measure(group, effort);
}

/// Until there is something to measure and the time for that has come; the others are cancelled then. Where nothing is
/// known yet the default is waited for as long as there is grace: without it nothing that is found can be compared.
void TaskSearch::compile(const Group &wave) {
  Group fresh;
  std::vector<Candidate> candidates;
  bool something = !best_.empty(), waits = false;
  for (Entrant *entrant : wave)
    if (!entrant->kernel) {
      waits |= entrant->trial.isDefault && best_.empty();
      fresh.push_back(entrant);
      candidates.push_back({plan_.task, entrant->trial.schedule, entrant->trial.target});
    } else {
      describe(*entrant);
      something |= !entrant->ended;
    }
  if (fresh.empty())
    return;
  run_.workshop.compile(
      candidates,
      [&](size_t index, Answered<Compiled> answer) {
        Entrant &entrant = *fresh[index];
        if (answer.fate == Fate::Cancelled) {
          cut_ = true;
          return;
        }
        if (answer.fate == Fate::Broken) {
          run_.broken = answer.status;
          return;
        }
        waits &= !entrant.trial.isDefault;
        entrant.kernel = run_.kernels.put(plan_.task.spec, entrant.trial.schedule, std::move(answer));
        ++compiled_;
        ++run_.recorder.counts.compiled;
        run_.budget.countCompiles(1);
        describe(entrant);
        something |= !entrant.ended;
        run_.recorder.tell(SearchEvent::CompileEnds, &entrant.trial);
      },
      [&] { return stopped() || (something && !waits && run_.budget.timeToMeasure()); });
  if (something && best_.empty())
    run_.budget.renewGrace();
}

/// What the trial holds of its compile; ends it where that failed.
void TaskSearch::describe(Entrant &entrant) {
  const Answered<Compiled> &compiled = entrant.kernel->compiled;
  if (compiled.fate != Fate::Done)
    return endByFate(entrant, compiled.fate, compiled.status, true);
  const KernelImage &image = compiled.value.image;
  Trial &trial = entrant.trial;
  if (!compiled.value.fromCache)
    trial.compileMs = compiled.value.milliseconds;
  trial.footprint = footprintOf(image);
  trial.cubinDigest = image.cubin.empty() ? std::string() : entrant.kernel->digest;
}

/// Without those that spill or are known under another name; in the order of the model, whatever the order in which
/// their compiles ended.
TaskSearch::Group TaskSearch::sieve(const Group &wave) {
  Group left;
  for (Entrant *entrant : wave) {
    Trial &trial = entrant->trial;
    if (!entrant->kernel || entrant->ended)
      continue;
    if (trial.footprint->spillBytes > 0 && !entrant->required && !run_.options.keepSpilling)
      end(*entrant, TrialStatus::Spills,
          fmt::format("spills {} bytes of registers per thread", trial.footprint->spillBytes));
    else if (!duplicate(*entrant))
      left.push_back(entrant);
  }
  std::erase_if(left, [](const Entrant *entrant) { return entrant->ended; });
  return left;
}

/// Whether the same machine code is there already. Of two that are the same the one that comes first in the fixed order
/// stands for both, so that the choice does not depend on which was compiled in this run or shard.
bool TaskSearch::duplicate(Entrant &entrant) {
  Trial &trial = entrant.trial;
  Entrant *&first = byCode_[codeOf(entrant.kernel->digest, trial.schedule, *trial.footprint)];
  if (!first) {
    first = &entrant;
    return false;
  }
  const auto same = [](Entrant &dropped, const Entrant &kept) {
    dropped.trial.sameAs = kept.trial.schedule.text();
    return "the same machine code as " + dropped.trial.sameAs;
  };
  const bool takesOver = preference(trial.schedule, first->trial.schedule, plan_.task, facts_.target) < 0 &&
                         (!first->ended || first->trial.status == TrialStatus::Measured);
  if (!takesOver) {
    end(entrant, TrialStatus::Duplicate, same(entrant, *first));
    return true;
  }
  trial.after = first->trial.after;
  trial.measurement = first->trial.measurement;
  trial.verification = first->trial.verification;
  if (!first->ended)
    end(*first, TrialStatus::Duplicate, same(*first, entrant));
  else
    end(entrant, TrialStatus::Measured);
  first = &entrant;
  return trial.measurement.has_value();
}

void TaskSearch::end(Entrant &entrant, TrialStatus status, std::string reason) {
  Trial &trial = entrant.trial;
  entrant.inLog &= trial.status == status; // the best so far was logged as measured
  if (!trial.measurement)
    trial.elapsedSeconds = run_.budget.elapsed();
  trial.status = status;
  trial.reason = std::move(reason);
  entrant.ended = true;
  if (!entrant.inLog)
    run_.recorder.append(trial);
  entrant.inLog = true;
  run_.recorder.tell(SearchEvent::TrialEnds, &trial);
  if (status == TrialStatus::Wrong)
    warnOfWrong(trial);
}

void TaskSearch::warnOfWrong(const Trial &trial) {
  const Verification verification = trial.verification.value_or(Verification());
  // A fault or a write beside the output is wrong whatever the error.
  const std::string size =
      verification.error > verification.bound
          ? fmt::format(" (an error of {:.3g} against a bound of {:.3g})", verification.error, verification.bound)
          : "";
  run_.recorder.warn(fmt::format(
      "WRONG ANSWER on {}: schedule {} of {}, compared with {}: {}{}. It cannot be chosen; this is a defect of Tessera "
      "or of the device, please report it",
      trial.device, trial.schedule.text(), trial.task.spec.text(), verification.against, verification.complaint, size));
}

void TaskSearch::endByFate(Entrant &entrant, Fate fate, const Status &status, bool compiling) {
  switch (fate) {
  case Fate::Crashed:
    return end(entrant, TrialStatus::Crashed, status.text());
  case Fate::Killed:
    return end(entrant, TrialStatus::Killed, status.text());
  case Fate::TimedOut:
    return end(entrant, TrialStatus::TimedOut, status.text());
  case Fate::Refused:
    return end(entrant, !compiling && status.code() == Code::DriverError ? TrialStatus::Faulted : TrialStatus::Failed,
               status.text());
  case Fate::Broken:
    run_.broken = status;
    return;
  case Fate::Cancelled:
  case Fate::Done:
    return;
  }
}

} // namespace tessera::tune
