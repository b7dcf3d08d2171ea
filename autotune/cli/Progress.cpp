// The waiting and printing behind Progress.
#include "autotune/cli/Progress.h"

#include "autotune/cli/Print.h"
#include "autotune/report/Visible.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace tessera::cli {

constexpr std::chrono::seconds kLong(3);  ///< a step that takes less is not worth a line in a log
constexpr std::chrono::seconds kRenew(1); ///< a line on a terminal, while its step lasts

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
  step([what = std::move(what)] { return what; });
}

void Progress::step(Text what) {
  if (quiet)
    return;
  {
    const std::lock_guard lock(mutex);
    current = std::move(what);
    ++generation;
    if (terminal)
      draw();
    if (!printer.joinable())
      printer = std::thread([this] { run(); });
  }
  changed.notify_all();
}

void Progress::done() {
  {
    const std::lock_guard lock(mutex);
    if (terminal && current) {
      sayRaw("\r\x1b[K");
      std::fflush(stderr);
    }
    current = nullptr;
    ++generation;
  }
  changed.notify_all();
}

void Progress::draw() const {
  sayRaw(fmt::format("\r\x1b[K{} ...", tune::report::visibleLine(current())));
  std::fflush(stderr);
}

void Progress::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    const unsigned seen = generation;
    const auto moved = [&] { return stopping || generation != seen; };
    if (!current) {
      changed.wait(lock, moved);
    } else if (terminal) {
      if (!changed.wait_for(lock, kRenew, moved))
        draw();
    } else if (!changed.wait_for(lock, kLong, moved)) {
      say("{} ...\n", current());
      changed.wait(lock, moved);
    }
  }
}

} // namespace tessera::cli
