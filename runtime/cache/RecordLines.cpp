// Lines to records and back.
#include "runtime/cache/RecordLines.h"

#include "runtime/cache/Lines.h"
#include "runtime/spec/CodeTarget.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr size_t mostBytes = 65536; ///< of one line
constexpr int mostDepth = 8;        ///< of what is kept of a line

Status damaged(std::string message) { return Status(Code::File, std::move(message)); }

Result<std::string> textOf(const Json &json, const char *key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string())
    return damaged(fmt::format("'{}' is not there, or no text", key));
  return found->get<std::string>();
}

Result<int64_t> sizeOf(const Json &json, const char *key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer())
    return damaged(fmt::format("problem '{}' is not there, or no whole number", key));
  return found->get<int64_t>();
}

/// `formed`: whether it has the fields of a record, whatever is in them.
Result<TuningRecord> readRecord(std::string_view line, bool &formed) {
  const auto shallow = [](int depth, Json::parse_event_t, Json &) { return depth <= mostDepth; };
  const Json json = Json::parse(line, shallow, /*allow_exceptions=*/false);
  if (!json.is_object())
    return damaged("no JSON object");
  if (const auto kind = json.find("kind"); kind != json.end() && *kind == "trial")
    return damaged("a trial of a search, which may have lost");
  const Result<std::string> spec = textOf(json, "spec"), device = textOf(json, "device"),
                            target = textOf(json, "target"), schedule = textOf(json, "schedule");
  for (const Result<std::string> *text : {&spec, &device, &target, &schedule})
    if (!*text)
      return text->status();
  const auto problem = json.find("problem");
  if (problem == json.end() || !problem->is_object())
    return damaged("'problem' is not there, or no object");
  formed = true;
  TuningRecord record;
  record.device = *device;
  record.target = *target;
  const Result<AttentionSpec> parsedSpec = AttentionSpec::parse(*spec);
  if (!parsedSpec)
    return parsedSpec.status();
  const Result<Schedule> parsedSchedule = Schedule::parse(*schedule);
  if (!parsedSchedule)
    return parsedSchedule.status();
  if (const Result<CodeTarget> parsed = CodeTarget::parse(*target); !parsed)
    return parsed.status();
  if (const Result<Target> known = Target::parse(*target)) // of another target nothing can be said
    if (const Status status = parsedSchedule->legal(*parsedSpec, *known); !status)
      return damaged(fmt::format("the schedule {} is not legal for {}: {}", *schedule, *target, status.message()));
  record.spec = *parsedSpec;
  record.schedule = *parsedSchedule;
  for (const auto &[key, field] : {std::pair("batch", &record.problem.batch),
                                   {"heads", &record.problem.heads},
                                   {"kv_heads", &record.problem.kvHeads},
                                   {"seqlen_q", &record.problem.seqlenQ},
                                   {"seqlen_kv", &record.problem.seqlenKv}}) {
    const Result<int64_t> size = sizeOf(*problem, key);
    if (!size)
      return size.status();
    *field = *size;
  }
  if (Status status = record.problem.validate(); !status)
    return status;
  return record;
}

} // namespace

RecordLines readRecordLines(std::string_view text) {
  RecordLines lines;
  const auto read = [&](bool complainOfForeign) {
    lines.records.clear();
    lines.foreign.clear();
    return readLines(text, mostBytes, [&](std::string_view line) -> Status {
      bool formed = false;
      Result<TuningRecord> record = readRecord(line, formed);
      if (record) {
        lines.records.push_back(*std::move(record));
        return {};
      }
      if (!formed)
        return record.status();
      lines.foreign.emplace_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      return complainOfForeign ? record.status() : Status();
    });
  };
  lines.damaged = read(true);
  lines.lost = lines.foreign.empty() ? lines.damaged : read(false);
  return lines;
}

std::string recordLine(const TuningRecord &record) {
  const auto quoted = [](const std::string &text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const Problem &problem = record.problem;
  return fmt::format(
      R"({{"spec":{},"device":{},"target":{},"problem":{{"batch":{},"heads":{},"kv_heads":{},"seqlen_q":{},)"
      R"("seqlen_kv":{}}},"schedule":{}}})"
      "\n",
      quoted(record.spec.text()), quoted(record.device), quoted(record.target), problem.batch, problem.heads,
      problem.kvHeads, problem.seqlenQ, problem.seqlenKv, quoted(record.schedule.text()));
}

} // namespace tessera
