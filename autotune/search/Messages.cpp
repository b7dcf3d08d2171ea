// Values as texts that have their own parsers, images as their serialised form, findings as a trial has them.
#include "autotune/search/Messages.h"

#include "autotune/log/JsonFields.h"

namespace tessera::tune {
namespace {

constexpr std::string_view serviceNames[] = {"begin", "compile", "predict", "measure", "verify"};

Json optionsJson(const WorkerOptions &options) {
  Json json = {
      {"device", options.device}, {"compiler", options.compilerLibrary}, {"cache_directory", options.cache.directory}};
  if (options.cache.mode)
    json["cache_mode"] = name(*options.cache.mode);
  if (options.cache.maxBytes)
    json["cache_bytes"] = *options.cache.maxBytes;
  return json;
}

void readOptions(JsonFields &fields, WorkerOptions &options) {
  std::string mode;
  fields.text("device", options.device);
  fields.text("compiler", options.compilerLibrary);
  fields.text("cache_directory", options.cache.directory);
  fields.text("cache_mode", mode);
  options.cache.mode = parseCacheMode(mode);
  if (fields.find("cache_bytes"))
    fields.whole("cache_bytes", options.cache.maxBytes.emplace());
}

Json taskJson(const Task &task) {
  const Problem &p = task.problem;
  return {{"spec", task.spec.text()}, {"shape", Json::array({p.batch, p.heads, p.kvHeads, p.seqlenQ, p.seqlenKv})}};
}

void readTask(JsonFields &fields, Task &task) {
  std::string spec;
  fields.text("spec", spec);
  if (Result<AttentionSpec> parsed = AttentionSpec::parse(spec))
    task.spec = *parsed;
  else
    fields.fail(parsed.status().message());
  const Json *shape = fields.find("shape");
  Problem &p = task.problem;
  int64_t *extents[] = {&p.batch, &p.heads, &p.kvHeads, &p.seqlenQ, &p.seqlenKv};
  if (!fields.check("shape", shape && shape->is_array() && shape->size() == std::size(extents), "no shape"))
    return;
  for (size_t i = 0; i < std::size(extents); ++i)
    if (fields.check("shape", (*shape)[i].is_number_integer(), "no shape"))
      *extents[i] = (*shape)[i].get<int64_t>();
}

Json effortJson(const Effort &effort) {
  return {{"least", effort.minRepeats},
          {"most", effort.maxRepeats},
          {"spread", effort.wantedSpread},
          {"most_ms", effort.mostMilliseconds},
          {"stop_above_ms", effort.stopAboveMs}};
}

void readEffort(JsonFields &fields, Effort &effort) {
  fields.whole("least", effort.minRepeats);
  fields.whole("most", effort.maxRepeats);
  fields.number("spread", effort.wantedSpread);
  fields.number("most_ms", effort.mostMilliseconds);
  fields.number("stop_above_ms", effort.stopAboveMs);
}

} // namespace

std::string_view name(Service service) { return serviceNames[size_t(service)]; }

Result<Frame> Request::frame() const {
  Frame frame;
  frame.head = service == Service::Begin ? optionsJson(options) : taskJson(candidate.task);
  frame.head["service"] = name(service);
  if (service == Service::Compile) {
    frame.head["schedule"] = candidate.schedule.text();
    frame.head["target"] = candidate.target;
  } else if (service != Service::Begin) {
    Result<std::string> bytes = image.serialize();
    if (!bytes)
      return bytes.status();
    frame.body = *std::move(bytes);
  }
  if (service == Service::Measure)
    frame.head["effort"] = effortJson(effort);
  return frame;
}

Result<Request> Request::parse(const Frame &frame) {
  Request request;
  Status fault;
  JsonFields fields(frame.head, fault);
  std::string text;
  fields.text("service", text);
  const auto found = std::find(std::begin(serviceNames), std::end(serviceNames), text);
  if (found == std::end(serviceNames))
    return Status(Code::File, fmt::format("'{}' is no service of a worker", text));
  request.service = Service(found - std::begin(serviceNames));
  if (request.service == Service::Begin) {
    readOptions(fields, request.options);
    return fault ? Result(request) : fault;
  }
  readTask(fields, request.candidate.task);
  if (request.service == Service::Compile) {
    fields.text("schedule", text);
    const Result<Schedule> schedule = Schedule::parse(text);
    if (!schedule)
      return schedule.status();
    request.candidate.schedule = *schedule;
    fields.text("target", request.candidate.target);
  } else {
    Result<KernelImage> image = KernelImage::parse(frame.body);
    if (!image)
      return image.status();
    request.image = *std::move(image);
  }
  if (const Json *effort = fields.object("effort")) {
    JsonFields inner(*effort, fault);
    readEffort(inner, request.effort);
  }
  return fault ? Result(request) : fault;
}

Result<Frame> Reply::frame() const {
  Frame frame;
  frame.head = {
      {"fate", unsigned(fate)}, {"code", int(status.code())}, {"message", status.message()}, {"hint", status.hint()}};
  if (fate != Fate::Done)
    return frame;
  if (compiled.image.entry.empty()) {
    if (!found.target.empty())
      frame.head["found"] = trialJson(found);
    return frame;
  }
  Result<std::string> bytes = compiled.image.serialize();
  if (!bytes)
    return bytes.status();
  frame.body = *std::move(bytes);
  frame.head["ms"] = compiled.milliseconds;
  frame.head["cached"] = compiled.fromCache;
  return frame;
}

Result<Reply> Reply::parse(const Frame &frame) {
  Reply reply;
  Status fault;
  JsonFields fields(frame.head, fault);
  unsigned fate = unsigned(Fate::Refused);
  int code = 0;
  std::string message, hint;
  fields.whole("fate", fate);
  fields.whole("code", code);
  fields.text("message", message);
  fields.text("hint", hint);
  fields.check("fate", fate <= unsigned(Fate::Broken), "none");
  fields.check("code", code >= 0 && code <= int(Code::Internal), "none");
  reply.fate = Fate(fate);
  reply.status = Status(Code(code), message, hint);
  fields.number("ms", reply.compiled.milliseconds);
  fields.flag("cached", reply.compiled.fromCache);
  if (const Json *found = fields.object("found")) {
    Result<Trial> trial = trialFromJson(*found);
    if (!trial)
      return trial.status();
    reply.found = *std::move(trial);
  }
  if (!frame.body.empty()) {
    Result<KernelImage> image = KernelImage::parse(frame.body);
    if (!image)
      return image.status();
    reply.compiled.image = *std::move(image);
  }
  return fault ? Result(reply) : fault;
}

} // namespace tessera::tune
