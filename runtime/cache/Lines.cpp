// Lines, numbered, with what is wrong with them.
#include "runtime/cache/Lines.h"

#include <fmt/format.h>

namespace tessera {
namespace {

Status check(std::string_view line, size_t mostBytes) {
  if (line.size() > mostBytes)
    return Status(Code::File, fmt::format("it has {} bytes; at most {}", line.size(), mostBytes));
  if (line.find('\0') != line.npos)
    return Status(Code::File, "it holds a NUL");
  return {};
}

constexpr size_t mostComplaints = 100;
constexpr size_t mostComplaint = 300; ///< characters of one: it may quote the line

} // namespace

std::vector<std::string> readLines(std::string_view text, size_t mostBytes,
                                   const std::function<Status(std::string_view)> &read) {
  std::vector<std::string> damaged;
  size_t more = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    Status status = check(line, mostBytes);
    if (status)
      status = read(line);
    if (status)
      continue;
    if (damaged.size() < mostComplaints)
      damaged.push_back(
          fmt::format("line {}: {}", number, std::string_view(status.message()).substr(0, mostComplaint)));
    else
      ++more;
  }
  if (more)
    damaged.push_back(fmt::format("and {} more", more));
  return damaged;
}

} // namespace tessera
