// Reads the wanted kernels from a bundle in place of compiling them.
#include "autotune/cli/tune/BundleWorkshop.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

namespace tessera::cli {

std::vector<Schedule> offeredSchedules(const std::shared_ptr<const Bundle> &bundle, const DeviceFacts &device,
                                       const tune::Task &task) {
  std::set<std::string> texts;
  for (const BundleEntry &entry : bundle->index().find(task.spec.text()))
    texts.emplace(entry.schedule);
  std::vector<Schedule> schedules;
  for (const std::string &text : texts)
    if (const Result<Schedule> schedule = Schedule::parse(text))
      if (chooseFromBundles({&bundle, 1}, task.spec, task.problem, device, &*schedule).chosen)
        schedules.push_back(*schedule);
  return schedules;
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
