// Lines to records and back.
#include "autotune/cli/bundle/RecordLines.h"

#include "runtime/spec/CodeTarget.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostBytes = 65536; ///< of one line

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

Result<TuningRecord> readRecord(std::string_view line) {
  if (line.size() > kMostBytes)
    return damaged(fmt::format("{} bytes are no record", line.size()));
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object())
    return damaged("no JSON object");
  const Result<std::string> spec = textOf(json, "spec"), device = textOf(json, "device"),
                            target = textOf(json, "target"), schedule = textOf(json, "schedule");
  for (const Result<std::string> *text : {&spec, &device, &target, &schedule})
    if (!*text)
      return text->status();
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
  record.spec = *parsedSpec;
  record.schedule = *parsedSchedule;
  const auto problem = json.find("problem");
  if (problem == json.end() || !problem->is_object())
    return damaged("'problem' is not there, or no object");
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
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    Result<TuningRecord> record = readRecord(line);
    if (record)
      lines.records.push_back(*std::move(record));
    else
      lines.damaged.push_back(fmt::format("line {}: {}", number, record.status().message()));
  }
  return lines;
}

nlohmann::ordered_json recordJson(const TuningRecord &record) {
  const Problem &problem = record.problem;
  Json json;
  json["spec"] = record.spec.text();
  json["device"] = record.device;
  json["target"] = record.target;
  json["problem"] = {{"batch", problem.batch},
                     {"heads", problem.heads},
                     {"kv_heads", problem.kvHeads},
                     {"seqlen_q", problem.seqlenQ},
                     {"seqlen_kv", problem.seqlenKv}};
  json["schedule"] = record.schedule.text();
  return json;
}

std::string recordLine(const TuningRecord &record) {
  return recordJson(record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessera::cli
