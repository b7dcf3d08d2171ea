// Appending trials to a log that others may append to.
#include "autotune/log/TrialLog.h"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tessera::tune {
namespace {

constexpr int kAttempts = 3;

Status failed(const std::string &path, std::string_view what, int error) {
  return Status(Code::File, fmt::format("{} cannot be {}: {}", path, what, std::generic_category().message(error)));
}

/// Whether what the file holds ends in the middle of a line; 0, 1 or -errno.
int endsOpen(int file) {
  struct stat status{};
  if (::fstat(file, &status) < 0)
    return -errno;
  if (status.st_nlink == 0) // removed since it was opened: what is written now goes nowhere
    return -ENOENT;
  if (status.st_size == 0)
    return 0;
  char last = '\n';
  const ssize_t got = ::pread(file, &last, 1, status.st_size - 1);
  return got < 0 ? -errno : last != '\n';
}

} // namespace

struct TrialLog::State {
  std::string path;
  int file = -1;
  std::mutex mutex;

  ~State() {
    if (file >= 0)
      ::close(file);
  }
};

Result<TrialLog> TrialLog::open(const std::string &path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (state->file < 0)
    return failed(path, "written", errno);
  struct stat status{};
  if (::fstat(state->file, &status) < 0)
    return failed(path, "written", errno);
  if (!S_ISREG(status.st_mode))
    return Status(Code::File, fmt::format("{} is not a plain file", path), "give the log a name of its own");
  return TrialLog(std::move(state));
}

TrialLog::TrialLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrialLog::TrialLog(TrialLog &&) noexcept = default;
TrialLog &TrialLog::operator=(TrialLog &&) noexcept = default;
TrialLog::~TrialLog() = default;

const std::string &TrialLog::path() const { return state_->path; }

Status TrialLog::append(const Trial &trial) { return append(trialJson(trial)); }
Status TrialLog::append(const TaskEnd &end) { return append(taskEndJson(end)); }

Status TrialLog::append(nlohmann::ordered_json json) {
  if (json["time"] == 0)
    json["time"] = int64_t(::time(nullptr));
  const std::string line = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::lock_guard lock(state_->mutex);
  // What a write leaves unfinished stays a damaged line: a rest written later could land behind the line of another
  // process. Whoever comes next, here or there, ends it first.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int open = endsOpen(state_->file);
    if (open < 0)
      return failed(state_->path, open == -ENOENT ? "found any more" : "read", -open);
    const std::string bytes = open ? "\n" + line : line;
    ssize_t wrote = -1;
    do
      wrote = ::write(state_->file, bytes.data(), bytes.size());
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0)
      return failed(state_->path, "written", errno);
    if (size_t(wrote) == bytes.size())
      return {};
  }
  return failed(state_->path, "written", EIO);
}

} // namespace tessera::tune
