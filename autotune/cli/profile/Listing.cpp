// The annotated PTX listing.
#include "autotune/cli/profile/Writers.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

namespace tessera::cli::profile {
namespace {

std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : std::string();
}

/// "12/8": what it took and what it would take at best; empty where there is no such traffic.
std::string against(double measured, double ideal) {
  return measured > 0 ? fmt::format("{:.0f}/{:.0f}", measured, ideal) : std::string();
}

void head(std::string &text, const LaunchProfile &profile) {
  auto out = std::back_inserter(text);
  const double bound = clocksOf(profile.clocks, profile.bound);
  fmt::format_to(out, "# {}\n", profile.heading());
  fmt::format_to(out, "# modelled: {:.3f} us with the launch; {:.0f} clocks, bound by {}\n", profile.microseconds,
                 bound, profile.bound.empty() ? "nothing counted" : profile.bound);
  fmt::format_to(out, "#\n# {:<10}{:>18}{:>18}{:>10}\n", "unit", "warp instructions", "modelled clocks", "of bound");
  for (const auto &[unit, clocks] : profile.clocks) {
    const double count = clocksOf(profile.instructionsByPipe, unit);
    fmt::format_to(out, "# {:<10}{:>18}{:>18.1f}{:>10}\n", unit, count > 0 ? fmt::format("{:.0f}", count) : "", clocks,
                   share(clocks, bound));
  }
  for (const auto &[pipe, count] : profile.instructionsByPipe)
    if (count > 0 && clocksOf(profile.clocks, pipe) == 0)
      fmt::format_to(out, "# {:<10}{:>18.0f}\n", pipe, count);
  fmt::format_to(out, "# The uniform datapath is not told apart: PTX does not say what goes there.\n#\n");
  for (size_t i = 0; i < profile.loops.size(); ++i) {
    const Loop &loop = profile.loops[i];
    const double clocks = clocksOf(loop.clocks, loop.bound);
    fmt::format_to(out, "# {:>{}}[{}] {}: {:.0f} iterations, {:.0f} clocks ({} of the kernel), bound by {}\n", "",
                   2 * (loop.depth - 1), i + 1, loop.name(), loop.iterations, clocks, share(clocks, bound),
                   loop.bound.empty() ? "nothing" : loop.bound);
  }
}

constexpr const char *rowFormat = "{:>11} {:>6} {:<8}{:>11} {:>6} {:>13} {:>13} {:<9}|{}\n";

std::string marks(const LaunchProfile &profile, const Instruction &instruction) {
  std::string numbers;
  for (int loop = instruction.loop; loop >= 0; loop = profile.loops[size_t(loop)].parent)
    numbers.insert(0, fmt::format("[{}]", loop + 1));
  if (instruction.loop >= 0 && profile.loops[size_t(instruction.loop)].headerLine == instruction.line)
    numbers += ">";
  return numbers;
}

void row(std::string &text, const LaunchProfile &profile, const Instruction &i, std::string_view shown) {
  const double own = i.ownClocks(), lanes = i.executions > 0 ? i.lanes / i.executions / 32 : 0;
  const bool byPipe = clocksOf(i.clocks, i.pipe) > 0;
  fmt::format_to(
      std::back_inserter(text), rowFormat, fmt::format("{:.0f}", i.executions),
      i.executions > 0 ? fmt::format("{:.0f}%", 100 * lanes) : "", i.pipe, own > 0 ? fmt::format("{:.1f}", own) : "",
      own > 0 ? share(own, clocksOf(profile.clocks, byPipe ? i.pipe : "issue")) : "",
      against(i.wavefronts, i.idealWavefronts), against(i.sectors, i.idealSectors), marks(profile, i), shown);
}

} // namespace

std::string annotatedListing(const LaunchProfile &profile, std::string_view ptx) {
  std::string text;
  head(text, profile);
  text +=
      "#\n# clocks and share: of the instruction's pipe, or of the issue slots where the pipe has no clocks; [n]: in "
      "loop n; >: its header\n";
  fmt::format_to(std::back_inserter(text), rowFormat, "executions", "lanes", "pipe", "clocks", "share", "waves/ideal",
                 "sectors/ideal", "loop", " PTX");
  std::multimap<int64_t, const Instruction *> byLine;
  for (const Instruction &instruction : profile.instructions)
    byLine.emplace(instruction.line, &instruction);
  int64_t number = 0;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    at = end + 1;
    const auto [first, last] = byLine.equal_range(++number);
    if (std::distance(first, last) == 1) {
      row(text, profile, *first->second, line);
      continue;
    }
    fmt::format_to(std::back_inserter(text), rowFormat, "", "", "", "", "", "", "", "", line);
    for (auto it = first; it != last; ++it) // several on one line
      row(text, profile, *it->second, fmt::format("    {};", it->second->text));
  }
  return text;
}

} // namespace tessera::cli::profile
