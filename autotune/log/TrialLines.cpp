// Reading trials and the ends of searches from the lines of a log.
#include "autotune/log/JsonFields.h"
#include "autotune/log/TrialLog.h"
#include "runtime/cache/Lines.h"

namespace tessera::tune {
namespace {

constexpr size_t kMostBytes = size_t(1) << 20; ///< of one line; a trial has about four thousand
constexpr int kMostDepth = 8;                  ///< of what is kept of one; a trial has three

} // namespace

TrialLines readTrials(std::string_view text) {
  TrialLines lines;
  lines.damaged = readLines(text, kMostBytes, [&](std::string_view line) -> Status {
    const auto shallow = [](int depth, Json::parse_event_t, Json &) { return depth <= kMostDepth; };
    const Json json = Json::parse(line, shallow, /*allow_exceptions=*/false);
    if (!json.is_object())
      return Status(Code::File, "no JSON object");
    const auto kind = json.find("kind");
    if (kind != json.end() && *kind == "end") {
      Result<TaskEnd> end = taskEndFromJson(json);
      if (!end)
        return end.status();
      lines.ends.push_back(*std::move(end));
      return {};
    }
    if (kind != json.end() && kind->is_string() && *kind != "trial")
      return {};
    Result<Trial> trial = trialFromJson(json);
    if (!trial)
      return trial.status();
    if (Status status = plausible(*trial); !status)
      return status;
    trial->time = std::max<int64_t>(trial->time, 1); // what is in a log was logged, even if it does not say when
    lines.trials.push_back(*std::move(trial));
    return {};
  });
  return lines;
}

} // namespace tessera::tune
