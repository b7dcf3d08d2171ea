// Declares the flags of `tessera tune` and turns their texts into values.
#include "autotune/cli/tune/TuneFlags.h"

#include "autotune/cli/bundle/SpecList.h"
#include "autotune/cli/files/ByteSource.h"
#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>

namespace tessera::cli {
namespace {

constexpr uint64_t kMostText = uint64_t(256) << 20; ///< of a list of attentions

Status refuse(std::string message, std::string hint) {
  return Status(Code::InvalidArgument, std::move(message), std::move(hint));
}

/// A number and what stands behind it.
std::optional<std::pair<double, std::string_view>> leadingNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc())
    return std::nullopt;
  return std::pair(value, text.substr(size_t(end - text.data())));
}

std::vector<std::string> between(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1))
    parts.emplace_back(text.substr(0, end));
  parts.emplace_back(text);
  return parts;
}

/// Whether two paths name one place, be there a file or not.
bool sameName(const std::string &a, const std::string &b) {
  std::error_code error;
  const auto whole = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return files::sameFile(a, b) || whole(a) == whole(b);
}

Result<std::pair<std::string, std::vector<std::string>>> parseKnob(const std::string &text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || equals + 1 == text.size())
    return refuse(fmt::format("'{}' limits no knob", text), "write --knob tile_kv=64,96; --dry-run lists the knobs");
  return std::pair(text.substr(0, equals), between(std::string_view(text).substr(equals + 1), ','));
}

} // namespace

Result<double> parseDuration(const std::string &text) {
  constexpr std::pair<std::string_view, double> units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
  if (const auto number = leadingNumber(text); number && number->first > 0 && number->first < 1e9)
    for (const auto &[unit, seconds] : units)
      if (number->second == unit)
        return number->first * seconds;
  return refuse(fmt::format("'{}' is no time", text), "write 90s, 5m or 1h");
}

Result<tune::Shard> parseShard(const std::string &text) {
  const std::vector<std::string> parts = between(text, '/');
  if (parts.size() == 2) {
    const Result<int64_t> index = parsePositive(parts[0]), count = parsePositive(parts[1]);
    if (index && count && *index <= *count && *count <= 1'000'000)
      return tune::Shard{unsigned(*index), unsigned(*count)};
  }
  return refuse(fmt::format("'{}' is no shard", text), "write 1/8 to 8/8 for the eight parts of one search");
}

Result<std::vector<int64_t>> parseLengths(const std::string &text) {
  std::vector<int64_t> lengths;
  for (const std::string &part : between(text, ',')) {
    const Result<int64_t> length = parsePositive(part);
    if (!length)
      return refuse(fmt::format("'{}' in '{}' is no length", part, text), "write 512,2048,8192");
    lengths.push_back(*length);
  }
  return lengths;
}

Result<double> parseMargin(const std::string &text) {
  if (const auto number = leadingNumber(text); number && (number->second.empty() || number->second == "%"))
    if (const double margin = number->second.empty() ? number->first : number->first / 100;
        margin >= 0 && margin <= 0.5)
      return margin;
  return refuse(fmt::format("'{}' is no margin", text), "write 1% or 0.01, at most 50%");
}

Result<Lengths> parseShape(const std::string &text) {
  const std::vector<std::string> parts = between(text, 'x');
  const Result<int64_t> first = parsePositive(parts.front()), last = parsePositive(parts.back());
  if (parts.size() > 2 || !first || !last)
    return refuse(fmt::format("'{}' is no shape", text),
                  "write the length, 4096, or queries x keys, 1x4096; heads and batch are flags of their own");
  return Lengths{*first, *last};
}

void TuneFlags::addTo(CLI::App &app) {
  app_ = &app;
  problem.addTo(app);
  addValue(app, "--seqlen", seqlens, parseLengths,
           "key/value lengths to tune for, with as many queries each or with --seqlen-q (default: --seqlen-q and "
           "--seqlen-kv)",
           "N,N,...")
      ->group("Attention");
  app.add_option("--specs", specs, "JSON list of attentions with their sizes, in place of the flags above")
      ->type_name("FILE")
      ->group("Attention");

  app.add_option("--device", device, "cuda:N, sim:NAME or auto (default auto)")->type_name("DEVICE")->group("Search");
  addValue(app, "--budget", budgetSeconds, parseDuration, "time for everything; the best so far is kept", "90s|5m|1h")
      ->group("Search");
  addValue(app, "--trials", trials, parsePositive, "candidates to compile at most, over all attentions and shapes", "N")
      ->group("Search");
  addValue(app, "--top", top, parsePositive,
           "candidates of each attention and shape, best in the model (default 48, but less than a tenth of the space)",
           "N")
      ->group("Search");
  app.add_flag("--exhaustive", exhaustive, "the whole space in place of the model's best")->group("Search");
  app.add_option_function<std::vector<std::string>>(
         "--knob",
         [this](const std::vector<std::string> &texts) {
           for (const std::string &text : texts) {
             const auto knob = parseKnob(text);
             if (!knob)
               throw CLI::ValidationError("--knob", knob.status().text());
             std::vector<std::string> &values = knobs[knob->first];
             values.insert(values.end(), knob->second.begin(), knob->second.end());
           }
         },
         "only these values of a knob, e.g. tile_kv=64,96; may be given several times, also for more values of one")
      ->type_name("NAME=V,V")
      ->group("Search");
  addValue(app, "--margin", margin, parseMargin,
           "times nearer than this are equal, and a fixed order decides (default 1%)", "P%")
      ->group("Search");
  addValue(app, "--jobs", jobs, parsePositive, "compiles at a time (default: one for each processor that may be used)",
           "N")
      ->group("Search");
  addValue(app, "--shard", shard, parseShard, "only this part of the search; the logs of all parts make the whole",
           "I/N")
      ->group("Search");
  app.add_option("--bundle", bundle, "candidates are the kernels of this bundle; nothing is compiled")
      ->type_name("FILE")
      ->group("Search");
  app.add_option("--public-key", publicKey, "the bundle must be signed by this key")
      ->type_name("FILE")
      ->group("Search");

  app.add_option("--log", log,
                 "append every trial to this file, a log or a new one; what stands in it is not done again")
      ->type_name("FILE")
      ->group("Results");
  app.add_option("--replay", replay, "the result of these logs together; nothing is compiled or measured")
      ->type_name("FILE")
      ->group("Results");
  app.add_option("--report", report, "write an HTML report, one file")->type_name("FILE")->group("Results");
  app.add_flag("--no-record", noRecord, "do not enter the winners into the cache's tuning log, which engines choose by")
      ->group("Results");
  app.add_flag("--dry-run", dryRun,
               "what the same command without this would try, with the model's predictions; nothing is compiled")
      ->group("Results");
  app.add_flag("--status", status,
               "how far the run of --log, or those of --replay, came: the best so far, and what is complete")
      ->group("Results");
  app.add_option(
         "--explain", explainShape,
         "which schedule this shape gets, why, and what the model says of it: from --log or --replay, else as an "
         "engine on this machine chooses")
      ->type_name("N|QxKV")
      ->group("Results");
  cache.addTo(app);
}

/// What a question does not depend on is not said beside it, lest it look as if it did. A dry run asks about a whole
/// command line, and everything of that may stand.
Status TuneFlags::checkIdleFlags() const {
  const bool explain = !explainShape.empty(), logs = !log.empty() || !replay.empty();
  const auto isOneOf = [](const std::string &name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto idle = [&](const std::string &group, const std::string &name) {
    const bool searching = group == "Search" && name != "margin";
    if (explain)
      return isOneOf(name, {"bundle", "public-key"}) || group == "Disk cache"  ? logs
             : name == "margin"                                                ? !logs
             : isOneOf(name, {"seqlen", "seqlen-q", "seqlen-kv", "no-record"}) ? true
                                                                               : searching && name != "device";
    if (status)
      return searching || group == "Attention" || group == "Disk cache" || name == "no-record";
    return !replay.empty() && (searching || group == "Attention");
  };
  const char *mode = explain ? "--explain" : status ? "--status" : "--replay";
  const char *why = explain && logs ? "which asks the logs about this shape"
                    : explain       ? "which asks what an engine chooses for this shape"
                                    : "which tells what the logs hold";
  for (const CLI::Option *option : app_->get_options())
    if (option->count() > 0 && idle(option->get_group(), option->get_single_name()))
      return refuse(fmt::format("--{} has no effect with {}, {}", option->get_single_name(), mode, why),
                    explain ? "leave it out" : "leave it out; give only the logs that shall count");
  return {};
}

/// The log is appended to: no other file of the command may be it.
Status TuneFlags::checkFiles() const {
  for (const char *name : {"--log", "--report", "--bundle", "--specs"})
    if (const CLI::Option *option = app_->get_option(name); option->count() > 0 && option->as<std::string>().empty())
      return refuse(fmt::format("{} is given an empty name", name), "name a file, or leave it out");
  const std::pair<const char *, const std::string &> others[] = {
      {"--report", report}, {"--specs", specs}, {"--bundle", bundle}, {"--public-key", publicKey}};
  for (const auto &[name, path] : others)
    if (!log.empty() && !path.empty() && sameName(log, path))
      return refuse(fmt::format("--log and {} are both {}, and the log is appended to", name, log),
                    "give the log a file of its own");
  return {};
}

Status TuneFlags::check() const {
  if (Status status = checkFiles(); !status)
    return status;
  if (!specs.empty())
    for (const CLI::Option *option :
         app_->get_options([](const CLI::Option *one) { return one->get_group() == "Attention"; }))
      if (option->count() > 0 && option->get_single_name() != "specs" && option->get_single_name() != "seqlen")
        return refuse(fmt::format("--{} and --specs {} both say what to tune", option->get_single_name(), specs),
                      "put it into the list, or leave --specs out");
  if (!seqlens.empty() && problem.seqlenKv)
    return refuse("--seqlen and --seqlen-kv both give the length of keys and values",
                  "--seqlen takes a list; --seqlen-q alone makes the queries fewer");
  const std::pair<bool, const char *> modes[] = {
      {dryRun, "--dry-run"}, {status, "--status"}, {!explainShape.empty(), "--explain"}};
  const char *mode = nullptr;
  for (const auto &[given, flag] : modes) {
    if (!given)
      continue;
    if (mode)
      return refuse(fmt::format("{} and {} are two questions", mode, flag), "ask one at a time");
    mode = flag;
  }
  if (mode && !report.empty())
    return refuse(fmt::format("--report is of a run, and {} makes none", mode), "leave one of them out");
  if (dryRun && !replay.empty())
    return refuse("--replay tries nothing, and --dry-run asks what would be tried", "leave one of them out");
  if (status && log.empty() && replay.empty())
    return refuse("--status needs the log of a run", "add --log FILE, or --replay FILE ...");
  if (!replay.empty() && !log.empty())
    return refuse("--replay measures nothing that --log could keep", "give all logs to --replay");
  if (!replay.empty() && !bundle.empty())
    return refuse("--replay tries nothing, and --bundle says what to try", "leave one of them out");
  if (exhaustive && top)
    return refuse("--exhaustive takes the whole space, and --top a part of it", "leave one of them out");
  if (!publicKey.empty() && bundle.empty())
    return refuse("--public-key is for --bundle, which is not given", "leave it out, or name the bundle");
  return checkIdleFlags();
}

Result<std::vector<tune::Task>> TuneFlags::tasks(std::vector<std::string> &notes) const {
  std::vector<ResolvedProblem> problems;
  if (specs.empty()) {
    const Result<ResolvedProblem> resolved = problem.resolve();
    if (!resolved)
      return resolved.status();
    problems.push_back(*resolved);
  } else {
    const Result<std::string> text = files::readWhole(specs, kMostText);
    if (!text)
      return text.status();
    const Result<std::vector<ResolvedProblem>> list = parseSpecList(*text);
    if (!list)
      return Status(list.status().code(), fmt::format("{}: {}", specs, list.status().message()), list.status().hint());
    problems = *list;
  }
  std::vector<tune::Task> tasks;
  const auto add = [&](const AttentionSpec &spec, const Problem &shape) {
    const tune::Task task{spec, shape};
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end())
      tasks.push_back(task);
  };
  for (const ResolvedProblem &one : problems) {
    notes.insert(notes.end(), one.notes.begin(), one.notes.end());
    Problem shape = one.problem();
    if (seqlens.empty())
      add(one.spec, shape);
    for (const int64_t length : seqlens) {
      shape.seqlenKv = length;
      shape.seqlenQ = problem.seqlenQ.value_or(length);
      add(one.spec, shape);
    }
  }
  for (const tune::Task &task : tasks)
    if (task.problem.batch == 0 || task.problem.heads == 0 || task.problem.seqlenQ == 0 || task.problem.seqlenKv == 0)
      return refuse("an attention without queries, keys or heads has nothing to tune", "give sizes above 0");
  return tasks;
}

tune::SearchOptions TuneFlags::options() const {
  tune::SearchOptions options;
  if (exhaustive)
    options.top = 0;
  else if (top)
    options.top = size_t(*top);
  options.seconds = budgetSeconds;
  if (trials)
    options.trials = size_t(*trials);
  options.margin = margin;
  options.limits = knobs;
  options.shard = shard;
  return options;
}

} // namespace tessera::cli
