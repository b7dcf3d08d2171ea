// Threads that take the next item each, while the caller's thread reports.
#include "autotune/cli/bundle/ParallelCompile.h"

#include "autotune/cli/Print.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::cli {

std::vector<Result<FoundImage>> compileAll(ImageSource &source, const std::vector<BuildItem> &items, unsigned jobs,
                                           Progress &progress) {
  using Clock = std::chrono::steady_clock;
  std::vector<Result<FoundImage>> outcomes(items.size(), Status(Code::Internal, "not compiled"));
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0, done = 0;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < items.size()) {
      const size_t mine = next++;
      lock.unlock();
      const BuildItem &item = items[mine];
      outcomes[mine] = source.get(item.spec, item.schedule, item.target, Policy::Jit);
      lock.lock();
      ++done;
      changed.notify_all();
    }
  };
  std::vector<std::jthread> threads;
  const auto start = Clock::now();
  for (size_t count = std::min<size_t>(std::max(jobs, 1u), items.size()); threads.size() < count;)
    threads.emplace_back(work);
  std::unique_lock lock(mutex);
  while (done < items.size()) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::string text = fmt::format("compiling {}: {} done", counted(items.size(), "kernel"), done);
    if (done > 0)
      text += fmt::format(", {:.1f} a second, about {:.0f} s left", double(done) / seconds,
                          seconds / double(done) * double(items.size() - done));
    progress.step(std::move(text));
    const auto until = Clock::now() + progress.interval();
    const size_t seen = done;
    changed.wait_until(lock, until, [&] { return done == items.size(); });
    if (done == seen) // nothing new to say
      changed.wait(lock, [&] { return done != seen; });
  }
  lock.unlock();
  threads.clear(); // joins
  progress.done();
  return outcomes;
}

} // namespace tessera::cli
