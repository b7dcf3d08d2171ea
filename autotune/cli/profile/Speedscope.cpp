// The speedscope form: weighted stacks, see "$schema" in the file.
#include "autotune/cli/profile/Writers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace tessera::cli::profile {
namespace {

using Json = nlohmann::ordered_json;

/// Frames are shared by all graphs of the file and numbered as they come.
class Frames {
public:
  explicit Frames(std::string_view source) : source_(source) {}

  size_t of(const std::string &name, int64_t line = 0) {
    const auto [entry, isNew] = numbers_.try_emplace({name, line}, frames_.size());
    if (isNew) {
      Json frame = {{"name", name}};
      if (line > 0) {
        frame["file"] = source_;
        frame["line"] = line;
      }
      frames_.push_back(std::move(frame));
    }
    return entry->second;
  }
  Json take() { return std::move(frames_); }

private:
  std::string source_;
  Json frames_ = Json::array();
  std::map<std::pair<std::string, int64_t>, size_t> numbers_;
};

class Graphs {
public:
  Graphs(const LaunchProfile &profile, std::string_view source) : profile_(profile), frames_(source) {}

  /// One flame graph, whose weights are what `weight` says of each instruction.
  template <typename Weight> void add(const std::string &name, bool withPipe, Weight weight) {
    samples_ = Json::array();
    weights_ = Json::array();
    total_ = 0;
    std::vector<size_t> stack{frames_.of(profile_.kernel)};
    descend(-1, stack, withPipe, weight);
    graphs_.push_back({{"type", "sampled"},
                       {"name", name},
                       {"unit", "none"},
                       {"startValue", 0},
                       {"endValue", total_},
                       {"samples", std::move(samples_)},
                       {"weights", std::move(weights_)}});
  }

  std::string finish() {
    Json file = {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                 {"exporter", "tessera"},
                 {"name", profile_.heading()},
                 {"activeProfileIndex", 0},
                 {"shared", {{"frames", frames_.take()}}},
                 {"profiles", std::move(graphs_)}};
    return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

private:
  template <typename Weight> void descend(int loop, std::vector<size_t> &stack, bool withPipe, Weight weight) {
    for (const Child &child : childrenOf(profile_, loop)) {
      if (child.loop >= 0) {
        const Loop &inner = profile_.loops[size_t(child.loop)];
        const size_t depth = stack.size();
        pushFunction(inner.function, loop, stack);
        stack.push_back(frames_.of(inner.name(), inner.headerLine));
        descend(child.loop, stack, withPipe, weight);
        stack.resize(depth);
        continue;
      }
      const Instruction &instruction = *child.instruction;
      const double clocks = weight(instruction);
      if (clocks <= 0)
        continue;
      const size_t depth = stack.size();
      pushFunction(instruction.function, loop, stack);
      if (withPipe)
        stack.push_back(frames_.of(instruction.pipe));
      stack.push_back(frames_.of(fmt::format("{}: {}", instruction.line, instruction.text), instruction.line));
      samples_.push_back(stack);
      weights_.push_back(clocks);
      total_ += clocks;
      stack.resize(depth);
    }
  }

  /// Functions that the kernel calls stand below it.
  void pushFunction(const std::string &function, int loop, std::vector<size_t> &stack) {
    if (loop < 0 && function != profile_.kernel)
      stack.push_back(frames_.of(function));
  }

  const LaunchProfile &profile_;
  Frames frames_;
  Json graphs_ = Json::array(), samples_, weights_;
  double total_ = 0;
};

} // namespace

std::string speedscope(const LaunchProfile &profile, std::string_view sourceName) {
  Graphs graphs(profile, sourceName);
  Clocks units = profile.clocks;
  std::sort(units.begin(), units.end(),
            [](const auto &a, const auto &b) { return std::pair(b.second, a.first) < std::pair(a.second, b.first); });
  for (const auto &[unit, total] : units)
    if (unit != "memory") // which instruction fetched a sector first is not told
      graphs.add(fmt::format("{}: modelled clocks", unit), false,
                 [&unit = unit](const Instruction &i) { return clocksOf(i.clocks, unit); });
  graphs.add("warp instructions", true, [](const Instruction &i) { return i.executions; });
  return graphs.finish();
}

} // namespace tessera::cli::profile
