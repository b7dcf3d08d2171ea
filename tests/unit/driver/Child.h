// Runs a piece of a test in a forked child.
#pragma once

#include "runtime/spec/Result.h"

#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::test {

/// What `body` returns in a child process, or how that ended. A child that hangs is ended by its alarm.
inline std::string inChild(const std::function<std::string()> &body) {
  int ends[2];
  if (pipe(ends) != 0)
    return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string text = body();
    _exit(write(ends[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return text + " ended with status " + std::to_string(status);
  return text;
}

/// Empty for the error of a call after fork().
inline std::string expectRefused(const char *call, const Status &status) {
  if (status.code() == Code::DriverError &&
      status.message().starts_with(
          "CUDA cannot be used after fork(): the driver was initialised in the parent process") &&
      status.hint() == "open devices in the child only, or start it with exec or spawn")
    return {};
  return std::string(call) + ": " + (status.ok() ? "ok" : status.text()) + "\n";
}

} // namespace tessera::test
