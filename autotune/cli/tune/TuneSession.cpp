// Logs, device and bundle of a tuning run.
#include "autotune/cli/tune/TuneSession.h"

#include "autotune/cli/DeviceChoice.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/tune/BundleWorkshop.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace tessera::cli {
namespace {

constexpr uint64_t kMostLog = uint64_t(1) << 30;

/// Who makes the kernels, as trials name it: the compiler that the workers will use, or that of the bundle's.
Result<std::pair<std::string, std::string>> identify(const TuneFlags &flags, const Device &device,
                                                     const tune::Task &task,
                                                     const std::shared_ptr<const Bundle> &bundle) {
  if (bundle) {
    const tune::OfferedCode code = offeredCode(bundle, DeviceFacts::of(device), task.spec);
    return std::pair(code.build, code.assembler);
  }
  const Target &target = device.target();
  ImageSource source(DiskCache::open(flags.cache.options(), [](const std::string &) {}), {});
  const Result<ImageKey> key = source.keyOf(task.spec, defaultSchedule(task.spec, target), target);
  if (!key)
    return key.status();
  return std::pair(key->compilerBuild, key->assembler);
}

} // namespace

Result<tune::TrialLines> readLogs(const std::vector<std::string> &paths, bool mayLack, const CommonFlags &common) {
  tune::TrialLines merged;
  std::vector<std::vector<tune::Trial>> logs;
  for (const std::string &path : paths) {
    if (std::error_code error; mayLack && !std::filesystem::exists(path, error))
      continue;
    const Result<std::string> text = files::readWhole(path, kMostLog);
    if (!text)
      return text.status();
    tune::TrialLines lines = tune::readTrials(*text);
    for (const std::string &line : lines.damaged) {
      remark(common, fmt::format("{}: passed over {}", path, line));
      merged.damaged.push_back(fmt::format("{}: {}", path, line));
    }
    std::ranges::move(lines.ends, std::back_inserter(merged.ends));
    logs.push_back(std::move(lines.trials));
  }
  merged.trials = tune::mergeTrials(logs);
  return merged;
}

std::vector<std::string> logPaths(const TuneFlags &flags) {
  return flags.replay.empty() ? flags.log.empty() ? std::vector<std::string>{} : std::vector{flags.log} : flags.replay;
}

Result<Session> openSession(const TuneFlags &flags, const CommonFlags &common, const tune::Task &task, bool forRun) {
  Result<Device> device = openDevice(flags.device, common.quiet);
  if (!device)
    return device.status();
  const Result<tune::Gpu> gpu = tune::Gpu::of(device->info());
  if (!gpu)
    return gpu.status();
  std::shared_ptr<const Bundle> bundle;
  if (!flags.bundle.empty()) {
    const Result<std::shared_ptr<const Bundle>> opened = Bundle::open(flags.bundle);
    if (!opened)
      return opened.status();
    bundle = *opened;
    if (!flags.publicKey.empty()) {
      const Result<PublicKey> key = readPublicKey(flags.publicKey);
      if (!key)
        return key.status();
      if (Status status = bundle->verifySignature(*key); !status)
        return status;
    }
  }
  Result<std::pair<std::string, std::string>> compiler = std::pair<std::string, std::string>();
  if (forRun)
    compiler = identify(flags, *device, task, bundle);
  if (!compiler)
    return compiler.status();
  const int driver = device->context()->driver().version();
  return Session{*device,
                 {*gpu, device->target(), device->info().name, compiler->first, compiler->second, driver},
                 std::move(bundle)};
}

void addCandidates(tune::SearchOptions &options, const Session &session, std::shared_ptr<const TuningLog> recorded) {
  if (session.bundle) {
    options.offered = [&session, device = DeviceFacts::of(session.device)](const tune::Task &task) {
      return offeredSchedules(session.bundle, device, task.spec);
    };
    // Digests take reading every kernel, and are asked for more than once.
    auto known = std::make_shared<std::map<std::string, tune::OfferedCode>>();
    options.code = [&session, device = DeviceFacts::of(session.device), known](const tune::Task &task) {
      const auto [code, added] = known->try_emplace(task.spec.text());
      if (added)
        code->second = offeredCode(session.bundle, device, task.spec);
      return code->second;
    };
  }
  options.incumbents = [&session, recorded = std::move(recorded), code = options.code](const tune::Task &task) {
    const std::string target(code ? code(task).target.name : session.facts.target.name);
    std::vector<Schedule> schedules;
    for (const TuningRecord &record : recorded->of(task.spec))
      if (record.problem == task.problem && record.device == session.facts.device && record.target == target)
        schedules.push_back(record.schedule);
    return schedules;
  };
}

Status checkTasks(const Session &session, const std::vector<tune::Task> &tasks) {
  const double memory = double(session.device.info().memoryBytes);
  for (const tune::Task &task : tasks) {
    const Problem &p = task.problem;
    const AttentionSpec &spec = task.spec;
    const double queries = double(p.batch) * double(p.heads) * double(p.seqlenQ);
    const double keys = double(p.batch) * double(p.kvHeads) * double(p.seqlenKv);
    const double bytes = queries * (spec.headDim * byteSize(spec.dtype) + spec.valueDim * byteSize(spec.outputType())) +
                         keys * (spec.headDim + spec.valueDim) * byteSize(spec.dtype);
    constexpr double gibibyte = 1 << 30;
    if (bytes > memory)
      return Status(Code::Unsupported,
                    fmt::format("{}, {}: its tensors take {:.4g} GiB, and {} has {:.4g}", tune::specWords(spec),
                                shapeText(p), bytes / gibibyte, session.device.name(), memory / gibibyte),
                    "tune for shorter lengths or a smaller batch");
    if (session.bundle && offeredSchedules(session.bundle, DeviceFacts::of(session.device), spec).empty()) {
      const BundleChoice choice =
          chooseFromBundles({&session.bundle, 1}, spec, p, DeviceFacts::of(session.device), nullptr);
      return Status(Code::NotFound,
                    fmt::format("{} holds no kernel of {} that {} runs", session.bundle->path(), tune::specWords(spec),
                                session.device.name()),
                    describeNearest({&session.bundle, 1}, spec, choice));
    }
  }
  return {};
}

} // namespace tessera::cli
