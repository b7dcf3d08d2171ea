// Trials to JSON and back.
#include "autotune/log/Trial.h"

#include "autotune/log/TaskFields.h"

namespace tessera::tune {
namespace {

constexpr std::string_view kKind = "trial";
constexpr int kVersion = 1;
constexpr size_t kMostText = 4096; ///< of a text for people

constexpr std::string_view statusNames[] = {"measured", "predicted", "duplicate", "spills", "failed",
                                            "crashed",  "timed out", "faulted",   "wrong",  "killed"};

void addText(Json &json, const char *key, std::string_view text) {
  size_t end = std::min(text.size(), kMostText);
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80) // not within a character
    --end;
  if (end > 0)
    json[key] = text.substr(0, end);
}

Json footprintJson(const Footprint &footprint) {
  return {{"registers", footprint.registers},
          {"spill_bytes", footprint.spillBytes},
          {"shared_bytes", footprint.sharedBytes},
          {"threads", footprint.threads},
          {"basis", name(footprint.basis)}};
}

Json predictionJson(const Prediction &prediction) {
  Json json = {{"ms", numberJson(prediction.milliseconds)}, {"bound", prediction.bound}};
  json["terms"] = Json::array();
  for (const Term &term : prediction.terms)
    json["terms"].push_back(Json::array({term.name, numberJson(term.milliseconds)}));
  json["blocks_per_sm"] = prediction.blocksPerSm;
  json["waves"] = numberJson(prediction.waves);
  json["memory_bytes"] = numberJson(prediction.memoryBytes);
  json["flops"] = numberJson(prediction.flops);
  json["work"] = name(prediction.work);
  json["footprint"] = name(prediction.footprint);
  return json;
}

Json verificationJson(const Verification &verification) {
  Json json = {{"right", verification.right},
               {"error", numberJson(verification.error)},
               {"bound", numberJson(verification.bound)}};
  addText(json, "against", verification.against);
  addText(json, "complaint", verification.complaint);
  return json;
}

Json measurementJson(const Measurement &measurement) {
  return {{"ms", numberJson(measurement.milliseconds)},
          {"low_ms", numberJson(measurement.lowMs)},
          {"high_ms", numberJson(measurement.highMs)},
          {"repeats", measurement.repeats},
          {"modelled", measurement.modelled},
          {"method", measurement.method},
          {"clock_mhz", numberJson(measurement.clockMHz)},
          {"throttled", measurement.throttled},
          {"stopped_early", measurement.stoppedEarly}};
}

void readBasis(JsonFields &fields, const char *key, Basis &to) {
  std::string text(name(to));
  fields.text(key, text);
  for (Basis basis : {Basis::Estimated, Basis::Image, Basis::Simulated, Basis::Measured})
    if (text == name(basis))
      return void(to = basis);
  fields.fail(fmt::format("'{}' is '{}', which is no basis", key, text));
}

void readPrediction(JsonFields &trial, const char *key, Status &fault, std::optional<Prediction> &to) {
  const Json *json = trial.object(key);
  if (!json)
    return;
  JsonFields fields(*json, fault);
  Prediction &prediction = to.emplace();
  fields.number("ms", prediction.milliseconds);
  fields.text("bound", prediction.bound);
  if (const Json *terms = fields.find("terms"); terms && fields.check("terms", terms->is_array(), "no list"))
    for (const Json &term : *terms)
      if (fields.check("terms", term.is_array() && term.size() == 2 && term[0].is_string(), "no list of terms")) {
        const std::string name = term[0].get<std::string>();
        prediction.terms.push_back({name, fields.numberOf(name, term[1])});
      }
  fields.whole("blocks_per_sm", prediction.blocksPerSm);
  fields.number("waves", prediction.waves);
  fields.number("memory_bytes", prediction.memoryBytes);
  fields.number("flops", prediction.flops);
  readBasis(fields, "work", prediction.work);
  readBasis(fields, "footprint", prediction.footprint);
}

void readFootprint(JsonFields &trial, Status &fault, std::optional<Footprint> &to) {
  const Json *json = trial.object("footprint");
  if (!json)
    return;
  JsonFields fields(*json, fault);
  Footprint &footprint = to.emplace();
  fields.whole("registers", footprint.registers);
  fields.whole("spill_bytes", footprint.spillBytes);
  fields.whole("shared_bytes", footprint.sharedBytes);
  fields.whole("threads", footprint.threads);
  readBasis(fields, "basis", footprint.basis);
}

void readVerification(JsonFields &trial, Status &fault, std::optional<Verification> &to) {
  const Json *json = trial.object("verification");
  if (!json)
    return;
  JsonFields fields(*json, fault);
  Verification &verification = to.emplace();
  fields.flag("right", verification.right);
  fields.number("error", verification.error);
  fields.number("bound", verification.bound);
  fields.text("against", verification.against);
  fields.text("complaint", verification.complaint);
}

void readMeasurement(JsonFields &trial, Status &fault, std::optional<Measurement> &to) {
  const Json *json = trial.object("measurement");
  if (!json)
    return;
  JsonFields fields(*json, fault);
  Measurement &measurement = to.emplace();
  fields.number("ms", measurement.milliseconds);
  fields.number("low_ms", measurement.lowMs);
  fields.number("high_ms", measurement.highMs);
  fields.whole("repeats", measurement.repeats);
  fields.flag("modelled", measurement.modelled);
  fields.text("method", measurement.method);
  fields.number("clock_mhz", measurement.clockMHz);
  fields.flag("throttled", measurement.throttled);
  fields.flag("stopped_early", measurement.stoppedEarly);
}

/// What names the candidate.
void readCandidate(JsonFields &fields, Status &fault, Trial &trial) {
  for (const char *key : {"schedule", "status"})
    fields.check(key, fields.find(key) != nullptr, "not there");
  readTask(fields, fault, trial);
  readParsed(fields, "schedule", trial.schedule);
}

void readStatus(JsonFields &fields, TrialStatus &to) {
  std::string text;
  fields.text("status", text);
  for (size_t i = 0; i < std::size(statusNames); ++i)
    if (text == statusNames[i])
      return void(to = TrialStatus(i));
  fields.fail(fmt::format("'status' is '{}', which is none", text));
}

} // namespace

Json shapeJson(const Problem &problem) {
  return {{"batch", problem.batch},
          {"heads", problem.heads},
          {"kv_heads", problem.kvHeads},
          {"seqlen_q", problem.seqlenQ},
          {"seqlen_kv", problem.seqlenKv}};
}

std::string_view name(TrialStatus status) { return statusNames[size_t(status)]; }

Json trialJson(const Trial &trial) {
  Json json = {{"kind", kKind}, {"version", kVersion}};
  addTask(json, trial);
  json["schedule"] = trial.schedule.text();
  json["default"] = trial.isDefault;
  json["status"] = name(trial.status);
  addText(json, "reason", trial.reason);
  addText(json, "same_as", trial.sameAs);
  if (trial.compileMs)
    json["compile_ms"] = numberJson(*trial.compileMs);
  if (trial.footprint)
    json["footprint"] = footprintJson(*trial.footprint);
  addText(json, "cubin_digest", trial.cubinDigest);
  if (trial.before)
    json["predicted_before"] = predictionJson(*trial.before);
  if (trial.after)
    json["predicted_after"] = predictionJson(*trial.after);
  if (trial.verification)
    json["verification"] = verificationJson(*trial.verification);
  if (trial.measurement)
    json["measurement"] = measurementJson(*trial.measurement);
  addTools(json, trial);
  json["elapsed_s"] = numberJson(trial.elapsedSeconds);
  json["time"] = trial.time;
  return json;
}

Result<Trial> trialFromJson(const Json &json) {
  if (Status right = checkKind(json, kKind, kVersion); !right)
    return right;
  Trial trial;
  Status fault;
  JsonFields fields(json, fault);
  readCandidate(fields, fault, trial);
  readStatus(fields, trial.status);
  fields.flag("default", trial.isDefault);
  fields.text("reason", trial.reason);
  fields.text("same_as", trial.sameAs);
  if (fields.find("compile_ms"))
    fields.number("compile_ms", trial.compileMs.emplace());
  readFootprint(fields, fault, trial.footprint);
  fields.text("cubin_digest", trial.cubinDigest);
  readPrediction(fields, "predicted_before", fault, trial.before);
  readPrediction(fields, "predicted_after", fault, trial.after);
  readVerification(fields, fault, trial.verification);
  readMeasurement(fields, fault, trial.measurement);
  readTools(fields, trial);
  fields.number("elapsed_s", trial.elapsedSeconds);
  fields.whole("time", trial.time);
  if (!fault)
    return fault;
  return trial;
}

} // namespace tessera::tune
