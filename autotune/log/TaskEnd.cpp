// Ends of searches to JSON and back, and how much of a search they say is done.
#include "autotune/log/TaskEnd.h"

#include "autotune/log/Comparable.h"
#include "autotune/log/TaskFields.h"

#include <map>
#include <tuple>

namespace tessera::tune {
namespace {

constexpr std::string_view kKind = "end";
constexpr int kVersion = 1;

template <typename Line> auto searchOf(const Line &line) {
  return std::tie(line.device, line.target, line.build, line.assembler, line.driverVersion);
}

/// The search that ended last: the last end of each of its parts, by number.
template <typename Line>
std::map<unsigned, const TaskEnd *> newestSearch(std::span<const TaskEnd> ends, const Line &like) {
  // Of ends within one second the later line is the newer one.
  const auto newer = [now = secondsNow()](const TaskEnd &end, const TaskEnd *than) {
    return !than || recency(end.time, now) >= recency(than->time, now);
  };
  const TaskEnd *newest = nullptr;
  std::map<unsigned, std::map<unsigned, const TaskEnd *>> byParts;
  for (const TaskEnd &end : ends) {
    if (end.task != like.task || searchOf(end) != searchOf(like))
      continue;
    if (newer(end, newest))
      newest = &end;
    const TaskEnd *&part = byParts[end.parts][end.part];
    if (newer(end, part))
      part = &end;
  }
  return newest ? byParts[newest->parts] : std::map<unsigned, const TaskEnd *>();
}

template <typename Line> Completeness completenessOf(std::span<const TaskEnd> ends, const Line &like) {
  Completeness result;
  for (const auto &[part, end] : newestSearch(ends, like)) {
    result.parts = end->parts;
    result.done += end->complete;
  }
  return result;
}

} // namespace

Json taskEndJson(const TaskEnd &end) {
  Json json = {{"kind", kKind}, {"version", kVersion}};
  addTask(json, end);
  json["part"] = end.part;
  json["parts"] = end.parts;
  json["complete"] = end.complete;
  addTools(json, end);
  json["time"] = end.time;
  return json;
}

Result<TaskEnd> taskEndFromJson(const Json &json) {
  if (Status right = checkKind(json, kKind, kVersion); !right)
    return right;
  TaskEnd end;
  Status fault;
  JsonFields fields(json, fault);
  readTask(fields, fault, end);
  fields.whole("part", end.part);
  fields.whole("parts", end.parts);
  if (end.part < 1 || end.part > end.parts)
    fields.fail(fmt::format("no part {} of {}", end.part, end.parts));
  fields.flag("complete", end.complete);
  readTools(fields, end);
  fields.whole("time", end.time);
  if (!fault)
    return fault;
  return end;
}

Completeness completeness(std::span<const TaskEnd> ends, const TaskEnd &like) { return completenessOf(ends, like); }
Completeness completeness(std::span<const TaskEnd> ends, const Trial &like) { return completenessOf(ends, like); }

bool repeats(std::span<const TaskEnd> ends, const TaskEnd &end) {
  const std::map<unsigned, const TaskEnd *> parts = newestSearch(ends, end);
  const auto same = parts.find(end.part);
  return same != parts.end() && same->second->parts == end.parts && same->second->complete == end.complete;
}

} // namespace tessera::tune
