// The table of knobs: what may be tried for a task, and how each value is written and read.
#include "autotune/space/HeadGroup.h"
#include "autotune/space/TileRange.h"
#include "runtime/spec/CanonicalText.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::tune {
namespace {

using Values = std::vector<std::string>;

Values texts(std::initializer_list<unsigned> numbers) {
  Values values;
  for (unsigned number : numbers)
    values.push_back(fmt::format("{}", number));
  return values;
}

/// The knob's value in the task's default schedule.
std::string defaultValue(std::string_view knob, const Task &task, const Target &target) {
  const Schedule schedule = defaultSchedule(task.spec, target);
  for (const Knob &one : Knob::all())
    if (one.name == knob)
      return one.get(schedule);
  return {};
}

/// The default's value comes first, so that a knob without other values is one that is not offered.
Values withDefault(std::string_view knob, const Task &task, const Target &target, Values others) {
  std::string value = defaultValue(knob, task, target);
  std::erase(others, value);
  others.insert(others.begin(), std::move(value));
  return others;
}

template <typename T> Status setNumber(T &field, std::string_view knob, const std::string &text) {
  T value{};
  if (!detail::readNumber(text, value))
    return {Code::InvalidArgument, fmt::format("{} is a number, got '{}'", knob, text)};
  field = value;
  return {};
}

Status setChoice(bool &field, std::string_view knob, const std::string &text, std::string_view no,
                 std::string_view yes) {
  if (text != no && text != yes)
    return {Code::InvalidArgument, fmt::format("{} is {} or {}, got '{}'", knob, no, yes, text)};
  field = text == yes;
  return {};
}

// --- which values make a difference

/// The rows that the largest useful tile may have: those of a packed group.
int64_t mostRows(const Task &task) { return task.problem.seqlenQ * headsPerGroup(task.problem); }

Values tileQ(const Task &task, const Target &target) {
  Values values = texts({32, 64, 128, 256});
  if (mostRows(task) <= 32)
    values.insert(values.begin(), "16");
  return withDefault("tile_q", task, target, std::move(values));
}

// Wide heads leave shared memory and registers for few keys.
Values tileKv(const Task &task, const Target &target) {
  const bool wide = std::max(task.spec.headDim, task.spec.valueDim) > 128;
  return withDefault("tile_kv", task, target,
                     wide ? texts({16, 32, 48, 64, 80, 96, 112, 128})
                          : texts({32, 48, 64, 80, 96, 112, 128, 160, 192}));
}

int64_t smallestTileKv(const Task &task, const Target &target) {
  int64_t smallest = INT64_MAX;
  for (const std::string &value : tileKv(task, target))
    if (int64_t number = 0; detail::readNumber(value, number))
      smallest = std::min(smallest, number);
  return smallest;
}

Values warps(const Task &task, const Target &target) {
  Values values = texts({2, 4, 8});
  if (mostRows(task) <= 32)
    values.insert(values.begin(), "1");
  return withDefault("warps", task, target, std::move(values));
}

Values stages(const Task &task, const Target &target) {
  const bool several = task.problem.seqlenKv > smallestTileKv(task, target);
  return withDefault("stages", task, target, several ? texts({1, 2, 3}) : texts({1}));
}

Values query(const Task &task, const Target &target) { return withDefault("query", task, target, {"qsmem", "qreg"}); }

// A policy says what happens from the second KV tile on. f16 probabilities have no room for an anchor, but some for a
// larger threshold.
Values rescale(const Task &task, const Target &target) {
  Values values;
  if (task.problem.seqlenKv > smallestTileKv(task, target))
    values = {"every", "lazy8", task.spec.dtype == DType::F16 ? "lazy15" : "anchored"};
  return withDefault("rescale", task, target, std::move(values));
}

Values rowSum(const Task &task, const Target &target) {
  const bool rounded =
      task.spec.dtype == DType::F16 || (task.spec.dtype == DType::BF16 && !contains(task.spec.outputs, Output::LSE));
  return withDefault("row_sum", task, target, rounded ? Values{"add", "mma"} : Values{"add"});
}

Values pack(const Task &task, const Target &target) {
  return withDefault("pack", task, target, headsPerGroup(task.problem) > 1 ? Values{"off", "on"} : Values{"off"});
}

// One value for heads as they are, and one for packed ones.
Values headGroup(const Task &task, const Target &target) {
  Values values;
  for (int64_t group :
       {int64_t(1), usefulHeadGroup(task, false), usefulHeadGroup(task, headsPerGroup(task.problem) > 1)})
    if (std::string value = fmt::format("{}", group); std::ranges::find(values, value) == values.end())
      values.push_back(std::move(value));
  return withDefault("head_group", task, target, std::move(values));
}

Values order(const Task &task, const Target &target) {
  return withDefault("order", task, target, lengthsVary(task) ? Values{"last", "first"} : Values{"last"});
}

Values persistent(const Task &task, const Target &target) {
  Schedule smallest;
  smallest.tileQ = 32;
  const bool several = queryTiles(task, smallest) * headPairs(task, smallest) > 1;
  return withDefault("persistent", task, target, several ? Values{"off", "on"} : Values{"off"});
}

// --- texts

std::string getRescale(const Schedule &s) {
  return s.rescale == Rescale::Every  ? "every"
         : s.rescale == Rescale::Lazy ? "lazy" + detail::floatText(s.lazyThreshold)
                                      : "anchored";
}

Status setRescale(Schedule &s, const std::string &text) {
  float threshold = 0;
  if (text == "every")
    s.rescale = Rescale::Every;
  else if (text == "anchored")
    s.rescale = Rescale::Anchored;
  else if (text.starts_with("lazy") && detail::readNumber(std::string_view(text).substr(4), threshold))
    s.rescale = Rescale::Lazy, s.lazyThreshold = threshold;
  else
    return {Code::InvalidArgument,
            fmt::format("rescale is every, lazy with its threshold (lazy8) or anchored, got '{}'", text)};
  return {};
}

constexpr std::array<Knob, 11> table = {{
    {"tile_q", "query rows of a thread block", tileQ, [](const Schedule &s) { return fmt::format("{}", s.tileQ); },
     [](Schedule &s, const std::string &v) { return setNumber(s.tileQ, "tile_q", v); }},
    {"tile_kv", "keys per step of the loop", tileKv, [](const Schedule &s) { return fmt::format("{}", s.tileKv); },
     [](Schedule &s, const std::string &v) { return setNumber(s.tileKv, "tile_kv", v); }},
    {"warps", "warps of a block, all along the query rows", warps,
     [](const Schedule &s) { return fmt::format("{}", s.warps); },
     [](Schedule &s, const std::string &v) { return setNumber(s.warps, "warps", v); }},
    {"stages", "buffers per K and V in shared memory", stages,
     [](const Schedule &s) { return fmt::format("{}", s.stages); },
     [](Schedule &s, const std::string &v) { return setNumber(s.stages, "stages", v); }},
    {"query", "Q re-read from shared memory, or kept in registers", query,
     [](const Schedule &s) -> std::string { return s.queryInRegisters ? "qreg" : "qsmem"; },
     [](Schedule &s, const std::string &v) { return setChoice(s.queryInRegisters, "query", v, "qsmem", "qreg"); }},
    {"rescale", "when the reference of the softmax moves", rescale, getRescale, setRescale},
    {"row_sum", "row sums by additions, or by one more column of P V", rowSum,
     [](const Schedule &s) -> std::string { return s.rowSum == RowSum::Mma ? "mma" : "add"; },
     [](Schedule &s, const std::string &v) {
       bool mma = false;
       Status status = setChoice(mma, "row_sum", v, "add", "mma");
       s.rowSum = mma ? RowSum::Mma : RowSum::Add;
       return status;
     }},
    {"pack", "the heads of a KV head's group in the rows of one tile", pack,
     [](const Schedule &s) -> std::string { return s.packHeads ? "on" : "off"; },
     [](Schedule &s, const std::string &v) { return setChoice(s.packHeads, "pack", v, "off", "on"); }},
    {"head_group", "heads that take their query tiles in turn", headGroup,
     [](const Schedule &s) { return fmt::format("{}", s.headGroup); },
     [](Schedule &s, const std::string &v) { return setNumber(s.headGroup, "head_group", v); }},
    {"order", "which query tile of a head runs first", order,
     [](const Schedule &s) -> std::string { return s.order == TileOrder::FirstFirst ? "first" : "last"; },
     [](Schedule &s, const std::string &v) {
       bool first = false;
       Status status = setChoice(first, "order", v, "last", "first");
       s.order = first ? TileOrder::FirstFirst : TileOrder::LastFirst;
       return status;
     }},
    {"persistent", "one block per place on the GPU that takes tile after tile", persistent,
     [](const Schedule &s) -> std::string { return s.persistent ? "on" : "off"; },
     [](Schedule &s, const std::string &v) { return setChoice(s.persistent, "persistent", v, "off", "on"); }},
}};

} // namespace

std::span<const Knob> Knob::all() { return table; }

} // namespace tessera::tune
