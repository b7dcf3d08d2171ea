// Child: a process of our own program that answers messages, and that can be killed at any time.
#pragma once

#include "autotune/search/Frame.h"

#include <memory>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tessera::tune {

/// What became of a process.
struct End {
  std::string text;         ///< for people: "ended by signal 6 (Aborted): LLVM ERROR: ..."
  bool fromOutside = false; ///< see isFromOutside()
};

/// Whether a process that this signal ended is not to blame for it: somebody sent it, or memory or processor time ran
/// out. Those that a program brings about itself, by a fault, abort() or a write, are the others.
bool isFromOutside(int signal);

/// Its standard input and output are one end of a socket pair and its standard error a pipe, of which what it says is
/// kept. It leads a process group of its own, so that Ctrl-C in a terminal does not reach it, ignores what asks all of
/// a job to end (SIGINT, SIGTERM, SIGHUP), and is killed when the thread that started it ends, however that comes
/// about. Where memory runs out the kernel takes it rather than us. Not thread-safe; its calls do not block, but where
/// they say so. SIGCHLD must not be ignored, or nobody learns how it ended.
class Child {
public:
  /// File with the reason where the program cannot be run.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string> &command);
  /// Kills it.
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Queues the message and forgets what standard error said before.
  void send(const Frame &frame);
  /// What to poll for; two entries.
  void wanted(pollfd *polls) const;
  /// Writes and reads what is possible.
  void pump(const pollfd *polls);
  /// The next message from it; File where it sent something else.
  Result<std::optional<Frame>> receive() { return reader_.next(); }
  /// Whether it has closed its end: it ended or is about to.
  bool gone() const { return gone_; }

  /// Ends it, with its process group, and waits for that. What became of it where it had ended by itself; else "was
  /// killed".
  End kill();

  /// Processor time that it has used, in seconds; once it has ended, what was known before.
  double cpuSeconds();

  pid_t pid() const { return pid_; }

private:
  Child(pid_t pid, int socket, int errors) : pid_(pid), socket_(socket), errors_(errors) {}
  void readErrors();
  /// The line of standard error that says most.
  std::string complaint() const;
  void forgetSaid();

  pid_t pid_;  // -1 once it is reaped
  int socket_; // owned
  int errors_; // owned
  bool gone_ = false;
  FrameReader reader_;
  std::string unsent_;
  std::string said_, saidLast_; ///< on standard error: the beginning, and the end of what was too long for that
  double cpuSeconds_ = 0;
};

} // namespace tessera::tune
