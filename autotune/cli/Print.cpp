// The two streams, by fwrite: fmt::print throws where a stream takes no more.
#include "autotune/cli/Print.h"

#include "autotune/cli/Commands.h"
#include "autotune/report/Visible.h"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace tessera::cli {

namespace {

/// Further lines stand below the first.
std::string indented(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (result.ends_with('\n') && character != ' ' && character != '\n')
      result += "        ";
    result += character;
  }
  return result;
}

} // namespace

void sayText(std::string_view text) { sayRaw(indented(tune::report::visible(text))); }
void sayRaw(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void remark(const CommonFlags &common, std::string_view text) {
  if (!common.quiet)
    say("tessera: {}\n", text);
}

void showText(std::string_view text) {
  const std::string safe = tune::report::visible(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
}

bool stdoutComplete() {
  const bool complete = std::fflush(stdout) == 0 && !std::ferror(stdout);
  std::clearerr(stdout);
  return complete;
}

void holdStandardStreams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0) // open() takes the lowest number that is free: this one
      (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return count == 1     ? fmt::format("1 {}", one)
         : many.empty() ? fmt::format("{} {}s", count, one)
                        : fmt::format("{} {}", count, many);
}

} // namespace tessera::cli
