// The waiting and printing behind Progress.
#include "autotune/cli/Progress.h"

#include "autotune/cli/Print.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace tessera::cli {

constexpr std::chrono::seconds kLong(3); ///< a step that takes less is not worth a line in a log

Progress::Progress(bool quiet) : quiet(quiet), terminal(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  done();
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (printer.joinable())
    printer.join();
}

void Progress::step(std::string what) {
  if (quiet)
    return;
  if (terminal) {
    say("\r\x1b[K{} ...", what);
    std::fflush(stderr);
    current = std::move(what);
    return;
  }
  {
    const std::lock_guard lock(mutex);
    current = std::move(what);
    ++generation;
    if (!printer.joinable())
      printer = std::thread([this] { run(); });
  }
  changed.notify_all();
}

void Progress::done() {
  if (terminal && !current.empty()) {
    say("\r\x1b[K");
    std::fflush(stderr);
  }
  {
    const std::lock_guard lock(mutex);
    current.clear();
    ++generation;
  }
  changed.notify_all();
}

void Progress::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const unsigned seen = generation;
    const auto moved = [&] { return stopping || generation != seen; };
    if (current.empty()) {
      changed.wait(lock, moved);
    } else if (!changed.wait_for(lock, kLong, moved)) {
      say("{} ...\n", current);
      changed.wait(lock, moved);
    }
  }
}

} // namespace tessera::cli
