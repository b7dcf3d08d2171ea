// tessera cache: what is kept of compiled kernels on this machine, and what to do about it.
#include "autotune/cli/Columns.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/SourceFlags.h"
#include "runtime/cache/TuningLog.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace tessera::cli {
namespace {

constexpr const char *kFooter = R"(Examples:
  tessera cache stat               where it is, how full, how old
  tessera cache list               every kernel, the last used first
  tessera cache verify --remove    read every entry, remove those that are damaged
  tessera cache trim --to 512M     remove the least recently used
The folder is that of --cache-dir, else $TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera.
Its size is bounded by $TESSERA_CACHE_SIZE (1 GiB).)";

/// The cache for looking at or tidying up, whatever mode programs are told to use it in; refused where its folder is
/// not to be used, with the reason.
Result<std::shared_ptr<DiskCache>> openCache(const CacheFlags &flags, CacheMode mode) {
  CacheOptions options = flags.options();
  options.mode = mode;
  if (const Result<std::string> directory = cacheDirectory(options); !directory)
    return directory.status();
  if (const char *size = std::getenv("TESSERA_CACHE_SIZE"); size && *size)
    if (const Result<uint64_t> bytes = parseByteCount(size); !bytes)
      return Status(bytes.status().code(), fmt::format("TESSERA_CACHE_SIZE: {}", bytes.status().message()),
                    bytes.status().hint());
  const auto warning = std::make_shared<std::string>(); // the cache outlives this function
  std::shared_ptr<DiskCache> cache = DiskCache::open(options, [=](const std::string &text) { *warning = text; });
  if (cache->mode() == CacheMode::Off)
    return Status(Code::File, *warning, "choose another folder with --cache-dir or TESSERA_CACHE_DIR");
  return cache;
}

/// The end of a command that could not see or remove all: what was there is printed by then.
Result<ExitCode> endOf(ExitCode code, const std::string &failure, uint64_t stayed = 0) {
  if (failure.empty())
    return code;
  if (stayed == 0)
    return Status(Code::File, fmt::format("not all of the cache was seen: {}", failure));
  return Status(Code::File, fmt::format("{} failed: {}", counted(stayed, "removal"), failure),
                "mend what the reason says, and try again");
}

bool isThere(const DiskCache &cache) {
  std::error_code error;
  return std::filesystem::exists(cache.directory(), error);
}

std::string timeText(int64_t seconds) {
  const std::time_t time = std::time_t(seconds);
  std::tm utc{};
  return gmtime_r(&time, &utc) ? fmt::format("{:%Y-%m-%d %H:%M}Z", utc) : fmt::format("{} s", seconds);
}

/// What the tuning log is, for people; its fault where it cannot be used.
std::string tuningText(const TuningLog &log) {
  if (log.fault() == CacheMiss::Absent)
    return "none";
  if (log.fault() != CacheMiss::None)
    return fmt::format("not used, {}: {}", name(log.fault()), log.detail());
  const RecordLines &lines = log.all();
  return fmt::format("{}, {}{}", counted(lines.records.size(), "record"), byteText(log.bytes()),
                     lines.damaged.empty() ? "" : fmt::format(", {} damaged", counted(lines.damaged.size(), "line")));
}

/// Faults of the tuning log, each a text; empty: it is sound, or there is none.
std::vector<std::string> tuningFaults(const TuningLog &log) {
  if (log.fault() != CacheMiss::None)
    return log.fault() == CacheMiss::Absent ? std::vector<std::string>() : std::vector{log.detail()};
  return log.all().damaged;
}

Result<ExitCode> stat(const CacheFlags &flags, const CommonFlags &common) {
  const Result<std::shared_ptr<DiskCache>> cache = openCache(flags, CacheMode::ReadOnly);
  if (!cache)
    return cache.status();
  const CacheMode mode = DiskCache::open(flags.options(), warnings(common))->mode(); // as programs see it
  std::string failure;
  const std::vector<CacheEntry> entries = (*cache)->entries(&failure);
  uint64_t bytes = 0;
  std::optional<int64_t> oldest, newest;
  for (const CacheEntry &entry : entries) {
    bytes += entry.bytes;
    oldest = std::min(entry.lastUse, oldest.value_or(entry.lastUse));
    newest = std::max(entry.lastUse, newest.value_or(entry.lastUse));
  }
  const auto time = [](const std::optional<int64_t> &seconds) {
    return seconds ? Json(timeText(*seconds)) : Json(nullptr);
  };
  if (common.json) {
    Json json;
    json["directory"] = (*cache)->directory();
    json["exists"] = isThere(**cache);
    json["mode"] = name(mode);
    json["schema"] = std::string(DiskCache::schema);
    json["entries"] = entries.size();
    json["bytes"] = bytes;
    json["max_bytes"] = (*cache)->maxBytes();
    json["oldest_use"] = time(oldest);
    json["newest_use"] = time(newest);
    const std::shared_ptr<const TuningLog> tuning = (*cache)->tuningLog();
    json["tuning_log"] = {{"path", (*cache)->tuningPath()},
                          {"records", tuning->all().records.size()},
                          {"bytes", tuning->bytes()},
                          {"faults", tuningFaults(*tuning)}};
    printJson(json);
    return endOf(Right, failure);
  }
  Table table;
  table.row("directory", (*cache)->directory() + (isThere(**cache) ? "" : " (not there yet)"));
  table.row("mode", std::string(name(mode)));
  table.row("schema", std::string(DiskCache::schema));
  table.row("entries", fmt::format("{}", entries.size()));
  table.row("size", fmt::format("{} of {}", byteText(bytes), byteText((*cache)->maxBytes())));
  if (oldest)
    table.row("last uses", fmt::format("{} to {}", timeText(*oldest), timeText(*newest)));
  table.row("tuning log", tuningText(*(*cache)->tuningLog()));
  table.print();
  return endOf(Right, failure);
}

Result<ExitCode> list(const CacheFlags &flags, const CommonFlags &common) {
  const Result<std::shared_ptr<DiskCache>> cache = openCache(flags, CacheMode::ReadOnly);
  if (!cache)
    return cache.status();
  std::string failure;
  std::vector<DiskCache::Key> keys = (*cache)->keys(&failure);
  std::sort(keys.begin(), keys.end(), [](const auto &a, const auto &b) {
    return std::pair(b.entry.lastUse, a.entry.hash) < std::pair(a.entry.lastUse, b.entry.hash);
  });
  Json json = Json::array();
  Columns columns({{"last use"}, {"size", Columns::Right}, {"target"}, {"attention"}, {"schedule"}, {"compiler"}});
  for (const DiskCache::Key &key : keys) {
    const std::vector<KeyField> fields = keyFields(key.keyText).value_or(std::vector<KeyField>());
    const auto field = [&](std::string_view name) {
      const auto found = std::ranges::find(fields, name, &KeyField::name);
      return found == fields.end() ? std::string("-") : found->value;
    };
    if (common.json)
      json.push_back({{"hash", key.entry.hash},
                      {"path", key.entry.path},
                      {"bytes", key.entry.bytes},
                      {"last_use", timeText(key.entry.lastUse)},
                      {"target", field("target")},
                      {"spec", field("spec")},
                      {"schedule", field("schedule")},
                      {"assembler", field("assembler")},
                      {"compiler", field("compiler")}});
    else
      columns.row({timeText(key.entry.lastUse), byteText(key.entry.bytes), field("target"), specText(field("spec")),
                   field("schedule"), field("compiler").substr(0, 12)});
  }
  if (common.json)
    printJson({{"directory", (*cache)->directory()}, {"entries", json}});
  else if (keys.empty() && failure.empty())
    show("no kernel is kept in {}\n", (*cache)->directory());
  columns.print();
  return endOf(Right, failure);
}

struct VerifyFlags {
  CacheFlags cache;
  bool remove = false;
};

Result<ExitCode> verify(const VerifyFlags &flags, const CommonFlags &common) {
  const Result<std::shared_ptr<DiskCache>> cache =
      openCache(flags.cache, flags.remove ? CacheMode::ReadWrite : CacheMode::ReadOnly);
  if (!cache)
    return cache.status();
  std::string failure;
  const std::vector<DiskCache::Verdict> verdicts = (*cache)->verify(flags.remove, &failure);
  Json unsound = Json::array();
  size_t left = 0; ///< that should have been removed
  for (const DiskCache::Verdict &verdict : verdicts) {
    if (verdict.fault == CacheMiss::None)
      continue;
    if (!common.json)
      show("{}: {}{}\n", name(verdict.fault), verdict.detail.empty() ? verdict.entry.path : verdict.detail,
           verdict.removed ? " (removed)" : "");
    left += flags.remove && !verdict.removed;
    unsound.push_back({{"path", verdict.entry.path},
                       {"fault", name(verdict.fault)},
                       {"detail", verdict.detail},
                       {"removed", verdict.removed}});
  }
  const std::vector<std::string> tuning = tuningFaults(*(*cache)->tuningLog());
  Status mended;
  if (!tuning.empty() && flags.remove)
    mended = (*cache)->keepTuning({}); // writes what is sound
  if (common.json)
    printJson({{"directory", (*cache)->directory()},
               {"entries", verdicts.size()},
               {"unsound", unsound},
               {"tuning_faults", tuning},
               {"removed", flags.remove}});
  else
    show("{} of {} in {} are sound\n", verdicts.size() - unsound.size(), counted(verdicts.size(), "entry", "entries"),
         (*cache)->directory());
  if (!common.json)
    for (const std::string &fault : tuning)
      show("{}: {}{}\n", (*cache)->tuningPath(), fault, flags.remove && mended ? " (removed)" : "");
  if (!mended)
    return mended;
  if (left > 0 && failure.empty())
    return Status(Code::File, fmt::format("{} could not be removed", counted(left, "unsound entry", "unsound entries")),
                  "the lines above say why");
  return endOf(unsound.empty() && tuning.empty() ? Right : CheckFailed, failure);
}

/// What a trim or a clear took away.
Result<ExitCode> removed(const DiskCache &cache, const DiskCache::Removed &removed, const CommonFlags &common) {
  uint64_t left = 0;
  for (const CacheEntry &entry : cache.entries())
    left += entry.bytes;
  if (common.json)
    printJson({{"directory", cache.directory()},
               {"removed_entries", removed.entries},
               {"removed_bytes", removed.bytes},
               {"removed_leftovers", removed.leftovers},
               {"removed_tuning_log", removed.tuning},
               {"failed", removed.failed},
               {"bytes", left}});
  else
    show("removed {}, {},{} and {} of processes that ended; {} are left in {}\n",
         counted(removed.entries, "entry", "entries"), byteText(removed.bytes), removed.tuning ? " the tuning log" : "",
         counted(removed.leftovers, "leftover"), byteText(left), cache.directory());
  return endOf(Right, removed.failure, removed.failed);
}

Result<uint64_t> parseBytes(const std::string &text) { return parseByteCount(text); }

struct TrimFlags {
  CacheFlags cache;
  uint64_t bytes = 0;
};

/// A command with --cache-dir alone.
Command declareWith(CLI::App &app, Result<ExitCode> (*run)(const CacheFlags &, const CommonFlags &)) {
  auto flags = std::make_shared<CacheFlags>();
  flags->addTo(app, false);
  return [flags, run](const CommonFlags &common) { return run(*flags, common); };
}

Command declareStat(CLI::App &app) { return declareWith(app, stat); }
Command declareList(CLI::App &app) { return declareWith(app, list); }

Command declareVerify(CLI::App &app) {
  auto flags = std::make_shared<VerifyFlags>();
  flags->cache.addTo(app, false);
  app.add_flag("--remove", flags->remove, "remove the entries that are not sound");
  app.footer("Exit code 1 where an entry is not sound: it would have been compiled anew, never loaded.");
  return [flags](const CommonFlags &common) { return verify(*flags, common); };
}

Command declareTrim(CLI::App &app) {
  auto flags = std::make_shared<TrimFlags>();
  flags->cache.addTo(app, false);
  addValue(app, "--to", flags->bytes, parseBytes, "bytes to leave at most", "512M|2G|N")->required();
  return [flags](const CommonFlags &common) -> Result<ExitCode> {
    const Result<std::shared_ptr<DiskCache>> cache = openCache(flags->cache, CacheMode::ReadWrite);
    return cache ? removed(**cache, (*cache)->trimTo(flags->bytes), common) : cache.status();
  };
}

Command declareClear(CLI::App &app) {
  return declareWith(app, [](const CacheFlags &flags, const CommonFlags &common) -> Result<ExitCode> {
    const Result<std::shared_ptr<DiskCache>> cache = openCache(flags, CacheMode::ReadWrite);
    return cache ? removed(**cache, (*cache)->clear(), common) : cache.status();
  });
}

constexpr CommandEntry kCommands[] = {
    {"stat", "where it is, how full, how old", declareStat},
    {"list", "every kernel in it, the last used first", declareList},
    {"verify", "read every entry and check it", declareVerify},
    {"trim", "remove the least recently used entries", declareTrim},
    {"clear", "remove everything that it has written", declareClear},
};

} // namespace

CommandGroup cacheCommands() { return {"cache", "compiled kernels that are kept on this machine", kFooter, kCommands}; }

} // namespace tessera::cli
