// Reads the wanted kernels from a bundle in place of compiling them.
#include "autotune/cli/tune/BundleWorkshop.h"

#include "autotune/search/KernelStore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <set>

namespace tessera::cli {

namespace {

/// By the text of the schedule; the entries of a bundle are sorted.
std::vector<std::pair<Schedule, const BundleEntry *>>
offeredEntries(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device, const AttentionSpec &spec) {
  std::vector<std::pair<Schedule, const BundleEntry *>> entries;
  for (const tessera::Candidate &candidate : nearestCode({&bundle, 1}, spec, device))
    if (const Result<Schedule> schedule = Schedule::parse(candidate.entry->schedule))
      entries.emplace_back(*schedule, candidate.entry);
  return entries;
}

std::string joined(const std::set<std::string> &names) { return fmt::format("{}", fmt::join(names, "+")); }

} // namespace

std::vector<Schedule> offeredSchedules(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device,
                                       const AttentionSpec &spec) {
  std::vector<Schedule> schedules;
  for (const auto &[schedule, entry] : offeredEntries(bundle, device, spec))
    schedules.push_back(schedule);
  return schedules;
}

tune::OfferedCode offeredCode(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device,
                              const AttentionSpec &spec) {
  tune::OfferedCode code;
  code.target = device.target;
  std::set<std::string> builds, assemblers;
  for (const auto &[schedule, entry] : offeredEntries(bundle, device, spec)) {
    if (const Result<Target> target = Target::parse(entry->target.text()))
      code.target = *target;
    const Result<KernelImage> image = bundle->image(*entry);
    if (!image)
      continue;
    builds.insert(image->buildId);
    const auto assembler = image->toolVersions.find("assembler");
    assemblers.insert(image->cubin.empty() || assembler == image->toolVersions.end() ? "none" : assembler->second);
    if (!image->cubin.empty())
      code.digests[schedule.text()] = tune::codeDigest(*image);
  }
  code.build = joined(builds);
  code.assembler = joined(assemblers);
  return code;
}

void BundleWorkshop::compile(std::span<const tune::Candidate> candidates, const tune::Done<tune::Compiled> &done,
                             const tune::Stopped &stopped) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < candidates.size(); ++i) {
    tune::Answered<tune::Compiled> answer;
    if (stopped()) {
      answer.fate = tune::Fate::Cancelled;
      done(i, std::move(answer));
      continue;
    }
    const auto start = Clock::now();
    const tune::Candidate &wanted = candidates[i];
    const BundleChoice choice =
        chooseFromBundles({&bundle_, 1}, wanted.task.spec, wanted.task.problem, device_, &wanted.schedule);
    Result<KernelImage> image = choice.chosen
                                    ? choice.chosen->bundle->image(*choice.chosen->entry)
                                    : Status(Code::NotFound,
                                             fmt::format("{} holds no kernel of {} that {} runs", bundle_->path(),
                                                         wanted.schedule.text(), device_.name),
                                             describeNearest({&bundle_, 1}, wanted.task.spec, choice));
    answer.status = image.status();
    if (image) {
      answer.fate = tune::Fate::Done;
      answer.value.image = *std::move(image);
      answer.value.fromCache = true;
      answer.value.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    done(i, std::move(answer));
  }
}

} // namespace tessera::cli
