// TaskFields: the fields that every line of a tuning log has: what was tuned, where, and with which tools.
#pragma once

#include "autotune/log/JsonFields.h"
#include "autotune/log/Trial.h"
#include "runtime/spec/CodeTarget.h"

namespace tessera::tune {

/// The text of this key as a T.
template <typename T> void readParsed(JsonFields &fields, const char *key, T &to) {
  std::string text;
  fields.text(key, text);
  Result<T> value = T::parse(text);
  if (value)
    to = *std::move(value);
  else
    fields.fail(fmt::format("'{}': {}", key, value.status().message()));
}

/// File unless the object is of this kind and version.
inline Status checkKind(const Json &json, std::string_view wanted, int wantedVersion) {
  if (!json.is_object())
    return Status(Code::File, "no JSON object");
  std::string kind;
  int64_t version = 0;
  Status fault;
  JsonFields fields(json, fault);
  fields.text("kind", kind);
  fields.whole("version", version);
  if (!fault || kind != wanted)
    return Status(Code::File, fmt::format("a line of kind '{}' and no {}", kind, wanted));
  if (version != wantedVersion)
    return Status(Code::File,
                  fmt::format("{} of version {}; this Tessera reads version {}", wanted, version, wantedVersion));
  return {};
}

inline void readShape(JsonFields &fields, Status &fault, Problem &problem) {
  const Json *shape = fields.object("shape");
  if (!shape)
    return;
  JsonFields extents(*shape, fault);
  for (const auto &[key, extent] : {std::pair("batch", &problem.batch),
                                    {"heads", &problem.heads},
                                    {"kv_heads", &problem.kvHeads},
                                    {"seqlen_q", &problem.seqlenQ},
                                    {"seqlen_kv", &problem.seqlenKv}}) {
    extents.check(key, extents.find(key) != nullptr, "not there");
    extents.whole(key, *extent);
  }
  if (const Status status = problem.validate(); !status)
    fields.fail(status.message());
}

/// Line is a Trial or a TaskEnd.
template <typename Line> void addTask(Json &json, const Line &line) {
  json["spec"] = line.task.spec.text();
  json["shape"] = shapeJson(line.task.problem);
  json["device"] = line.device;
  json["target"] = line.target;
}

template <typename Line> void readTask(JsonFields &fields, Status &fault, Line &line) {
  for (const char *key : {"spec", "shape", "device", "target"})
    fields.check(key, fields.find(key) != nullptr, "not there");
  readParsed(fields, "spec", line.task.spec);
  fields.text("device", line.device);
  fields.text("target", line.target);
  if (const Result<CodeTarget> target = CodeTarget::parse(line.target); !target)
    fields.fail(fmt::format("'target': {}", target.status().message()));
  readShape(fields, fault, line.task.problem);
}

template <typename Line> void addTools(Json &json, const Line &line) {
  if (!line.build.empty())
    json["build"] = line.build;
  if (!line.assembler.empty())
    json["assembler"] = line.assembler;
  json["driver"] = line.driverVersion;
}

template <typename Line> void readTools(JsonFields &fields, Line &line) {
  fields.text("build", line.build);
  fields.text("assembler", line.assembler);
  fields.whole("driver", line.driverVersion);
}

} // namespace tessera::tune
