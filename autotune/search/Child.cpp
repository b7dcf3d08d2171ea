// fork and exec with all that keeps parent and child from harming each other.
#include "autotune/search/Child.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::tune {
namespace {

constexpr size_t kMostSaid = 8192, kMostLine = 400;
/// Read in one go, so that one child that never ends to talk does not keep us from the others.
constexpr size_t kMostErrors = size_t(1) << 20, kMostAnswer = size_t(16) << 20;

template <typename Call> auto retry(Call call) {
  decltype(call()) result;
  do
    result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

/// What the kernel adds to the score of a worker when memory has run out: more than to ours, so that it is ended first.
std::string workersOomScore() {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> own;
  return std::to_string(std::min(own + 500, 1000));
}

/// Between fork and exec in a process that may have threads: only calls that are safe in a signal handler. Returns
/// where exec fails.
void becomeWorker(char *const *arguments, int socket, int errors, pid_t parent, std::string_view oomScore) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before the line above
    _exit(1);
  // Whoever ends the whole job asks us, and we end our children.
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_IGN);
  for (int signal : {SIGPIPE, SIGCHLD})
    ::signal(signal, SIG_DFL);
  if (const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); score >= 0) {
    (void)!write(score, oomScore.data(), oomScore.size());
    close(score);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Copies above 2 first: any of the three may be the number of one of ours.
  const int spareSocket = fcntl(socket, F_DUPFD, 3), spareErrors = fcntl(errors, F_DUPFD, 3);
  if (spareSocket < 0 || spareErrors < 0 || dup2(spareSocket, 0) < 0 || dup2(spareSocket, 1) < 0 ||
      dup2(spareErrors, 2) < 0)
    return;
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execv(arguments[0], arguments);
}

} // namespace

bool isFromOutside(int signal) {
  switch (signal) {
  case SIGABRT:
  case SIGBUS:
  case SIGFPE:
  case SIGILL:
  case SIGPIPE:
  case SIGSEGV:
  case SIGSYS:
  case SIGTRAP:
  case SIGXFSZ:
    return false;
  default:
    return true;
  }
}

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string> &command) {
  const auto failed = [&](const char *what, int error) {
    return Status(Code::File, fmt::format("cannot start a worker ({}): {}: {}",
                                          command.empty() ? "no command" : command[0], what, std::strerror(error)));
  };
  if (command.empty())
    return failed("command", EINVAL);
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);

  int sockets[2], errors[2], fate[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return failed("socketpair", errno);
  if (pipe2(errors, O_CLOEXEC) != 0) {
    const int error = errno;
    close(sockets[0]), close(sockets[1]);
    return failed("pipe", error);
  }
  if (pipe2(fate, O_CLOEXEC) != 0) {
    const int error = errno;
    close(sockets[0]), close(sockets[1]), close(errors[0]), close(errors[1]);
    return failed("pipe", error);
  }
  const pid_t parent = getpid();
  const std::string oomScore = workersOomScore();
  const pid_t pid = fork();
  const int forkError = errno;
  if (pid == 0) {
    becomeWorker(arguments.data(), sockets[1], errors[1], parent, oomScore);
    const int error = errno;
    (void)!write(fate[1], &error, sizeof error);
    _exit(127);
  }
  close(sockets[1]), close(errors[1]), close(fate[1]);
  if (pid < 0) {
    close(sockets[0]), close(errors[0]), close(fate[0]);
    return failed("fork", forkError);
  }
  std::unique_ptr<Child> child(new Child(pid, sockets[0], errors[0]));
  int error = 0;
  const ssize_t bytes = retry([&] { return read(fate[0], &error, sizeof error); });
  close(fate[0]);
  if (bytes > 0)
    return failed("exec", error);
  fcntl(sockets[0], F_SETFL, O_NONBLOCK);
  fcntl(errors[0], F_SETFL, O_NONBLOCK);
  return child;
}

Child::~Child() {
  kill();
  close(socket_);
  close(errors_);
}

void Child::send(const Frame &frame) {
  forgetSaid();
  unsent_ += encode(frame);
}

void Child::wanted(pollfd *polls) const {
  polls[0] = {socket_, short(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  polls[1] = {errors_, POLLIN, 0};
}

void Child::pump(const pollfd *polls) {
  if (polls[1].revents)
    readErrors();
  while (polls[0].revents & POLLOUT && !unsent_.empty()) {
    const ssize_t bytes = retry([&] { return ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL); });
    if (bytes < 0) {
      gone_ |= errno != EAGAIN;
      break;
    }
    unsent_.erase(0, size_t(bytes));
  }
  if (!(polls[0].revents & (POLLIN | POLLHUP | POLLERR)))
    return;
  char buffer[65536];
  for (size_t got = 0; got < kMostAnswer;) {
    const ssize_t bytes = retry([&] { return recv(socket_, buffer, sizeof buffer, MSG_NOSIGNAL); });
    if (bytes > 0) {
      reader_.feed({buffer, size_t(bytes)});
      got += size_t(bytes);
      continue;
    }
    gone_ |= bytes == 0 || errno != EAGAIN;
    return;
  }
}

void Child::readErrors() {
  char buffer[4096];
  ssize_t bytes;
  for (size_t got = 0;
       got < kMostErrors && (bytes = retry([&] { return read(errors_, buffer, sizeof buffer); })) > 0;) {
    got += size_t(bytes);
    const size_t first = std::min(size_t(bytes), kMostSaid - said_.size());
    said_.append(buffer, first);
    saidLast_.append(buffer + first, size_t(bytes) - first);
    if (saidLast_.size() > 2 * kMostSaid)
      saidLast_.erase(0, saidLast_.size() - kMostSaid);
  }
}

void Child::forgetSaid() {
  said_.clear();
  saidLast_.clear();
}

std::string Child::complaint() const {
  std::string last;
  const std::string said = said_ + saidLast_;
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\n', begin), said.size());
    const std::string line = said.substr(begin, end - begin);
    for (const char *sign : {"ERROR", "rror:", "ssert", "terminate called", "what():"})
      if (line.find(sign) != std::string::npos)
        return line;
    if (!line.empty())
      last = line;
    begin = end + 1;
  }
  return last;
}

double Child::cpuSeconds() {
  clockid_t clock;
  timespec used{};
  if (pid_ >= 0 && clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &used) == 0)
    cpuSeconds_ = std::max(cpuSeconds_, double(used.tv_sec) + 1e-9 * double(used.tv_nsec));
  return cpuSeconds_;
}

End Child::kill() {
  if (pid_ < 0)
    return {};
  // Where its end of the socket is closed it is ending by itself, and how says more; but not for long. It is not reaped
  // yet then, so that its number stays that of its group.
  bool byItself = false;
  for (int i = 0; i < 100 && !byItself; ++i) {
    siginfo_t info{};
    byItself = retry([&] { return waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT); }) == 0 &&
               info.si_pid == pid_;
    if (!gone_ || byItself)
      break;
    poll(nullptr, 0, 5);
  }
  ::kill(-pid_, SIGKILL);
  int status = 0;
  const pid_t reaped = retry([&] { return waitpid(pid_, &status, 0); });
  pid_ = -1;
  gone_ = true;
  readErrors();
  std::string text = !byItself    ? "was killed"
                     : reaped < 0 ? "ended"
                     : WIFSIGNALED(status)
                         ? fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                         : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  if (const std::string line = complaint(); !line.empty())
    text += ": " + line.substr(0, kMostLine);
  return {text, byItself && reaped > 0 && WIFSIGNALED(status) && isFromOutside(WTERMSIG(status))};
}

} // namespace tessera::tune
