// TuneFlags: the flags of `tessera tune`, and the tasks and options that they amount to.
#pragma once

#include "autotune/cli/Commands.h"
#include "autotune/cli/ProblemFlags.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/search/Search.h"

#include <CLI/App.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct TuneFlags {
  ProblemFlags problem;
  std::vector<int64_t> seqlens; ///< key/value lengths, each with --seqlen-q or as many queries
  std::string specs;            ///< file of a list of attentions, in place of the flags
  std::string device = "auto";
  std::optional<double> budgetSeconds;
  std::optional<int64_t> trials, jobs;
  std::optional<int64_t> top;
  double margin = 0.01;
  tune::KnobLimits knobs;
  tune::Shard shard;
  std::string log, report, bundle, publicKey, explainShape;
  std::vector<std::string> replay;
  bool dryRun = false, status = false, exhaustive = false, noRecord = false;
  CacheFlags cache;

  void addTo(CLI::App &app);
  /// Contradictions between flags, before anything is done.
  Status check() const;
  /// Attentions x shapes; none where neither flags nor list name any. Notes of the attentions go to `notes`.
  Result<std::vector<tune::Task>> tasks(std::vector<std::string> &notes) const;
  tune::SearchOptions options() const;

private:
  Status checkIdleFlags() const;
  Status checkFiles() const;
  const CLI::App *app_ = nullptr;
};

/// "90", "90s", "5m" or "1h", in seconds; positive.
Result<double> parseDuration(const std::string &text);
/// "2/8": the second of eight.
Result<tune::Shard> parseShard(const std::string &text);
/// Lengths between commas.
Result<std::vector<int64_t>> parseLengths(const std::string &text);
/// "1%" or "0.01"; 0 to 0.5.
Result<double> parseMargin(const std::string &text);
/// "4096" (queries and keys), or "1x4096" (queries, keys).
struct Lengths {
  int64_t q, kv;
};
Result<Lengths> parseShape(const std::string &text);

} // namespace tessera::cli
