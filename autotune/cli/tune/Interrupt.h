// Interrupt: Ctrl-C as a request to end well, within a scope.
#pragma once

#include <atomic>
#include <csignal>

namespace tessera::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets stop(); the second ends the process as ever. A signal that
/// was ignored stays ignored. Meanwhile a file that may not grow further is a failure of its writer and not the end of
/// the process (SIGXFSZ), and children that end are waited for, whatever the starter of this process made of SIGCHLD.
/// One at a time; for the thread that runs the command.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  const std::atomic<bool> &stop() const;
  /// The signal that came; 0: none.
  int signal() const;

private:
  static constexpr int signals_[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction former_[3] = {}, formerFileSize_ = {}, formerChild_ = {};
};

} // namespace tessera::cli
