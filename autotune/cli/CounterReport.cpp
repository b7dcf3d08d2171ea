// Counters as JSON and as tables with the least possible beside them.
#include "autotune/cli/CounterReport.h"

#include "autotune/cli/Print.h"

#include "autotune/reference/Attention.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {
namespace {

/// A counter by its path in the simulator's JSON ("ldmatrix", "wavefronts"); 0 where the simulator has none of that
/// name.
double read(const Json &counters, std::string_view outer, std::string_view inner = {}) {
  const auto found = counters.find(outer);
  if (found == counters.end())
    return 0;
  if (inner.empty())
    return found->is_number() ? found->get<double>() : 0;
  const auto field = found->is_object() ? found->find(inner) : found->end();
  return found->is_object() && field != found->end() && field->is_number() ? field->get<double>() : 0;
}

/// Scores in the tiles of one head that hold at least one visible score.
double scoresInTiles(const ResolvedProblem &problem, const Schedule &schedule) {
  const reference::Sizes &sizes = problem.sizes;
  const int64_t tileQ = schedule.tileQ, tileKv = schedule.tileKv;
  int64_t tiles = 0;
  for (int64_t first = 0; first < sizes.queryLength; first += tileQ) {
    int64_t begin = sizes.keyLength, end = 0;
    for (int64_t row = first; row < std::min(first + tileQ, sizes.queryLength); ++row) {
      const reference::KeyRange keys =
          reference::visibleKeys(problem.spec.mask, row, sizes.queryLength, sizes.keyLength);
      if (keys.begin < keys.end) {
        begin = std::min(begin, keys.begin);
        end = std::max(end, keys.end);
      }
    }
    if (begin < end)
      tiles += (end + tileKv - 1) / tileKv - begin / tileKv;
  }
  return double(tiles) * double(tileQ) * double(tileKv);
}

constexpr const char *rowFormat = "  {:<44} {:>16} {:>16} {:>8}\n";

std::string whole(double value) { return fmt::format("{:.0f}", value); }

void print(const CounterRow &row) {
  const std::optional<double> ratio = row.ratio();
  show(rowFormat, row.name, whole(row.measured), row.least ? whole(*row.least) : "",
       ratio ? fmt::format("{:.2f}x", *ratio) : "");
}

void printPipes(const profile::LaunchProfile &profile) {
  const double bound = profile::clocksOf(profile.clocks, profile.bound);
  show("\n");
  show(rowFormat, "unit", "warp instructions", "modelled clocks", "of bound");
  const auto line = [&](const std::string &unit, std::optional<double> count, double clocks) {
    show(rowFormat, "  " + unit, count ? whole(*count) : "", clocks > 0 ? whole(clocks) : "",
         clocks > 0 && bound > 0 ? fmt::format("{:.0f}%", 100 * clocks / bound) : "");
  };
  for (const auto &[pipe, count] : profile.instructionsByPipe)
    if (count > 0)
      line(pipe, count, profile::clocksOf(profile.clocks, pipe));
  line("issue slots", profile.warpInstructions, profile::clocksOf(profile.clocks, "issue"));
  line("L2", std::nullopt, profile::clocksOf(profile.clocks, "l2"));
  line("device memory, each sector once", std::nullopt, profile::clocksOf(profile.clocks, "memory"));
  show("  modelled {:.3f} us, bound by {}; the uniform datapath is not told apart, PTX does not say what goes "
       "there\n",
       profile.microseconds, profile.bound.empty() ? "the launch" : profile.bound);
}

void printLoops(const profile::LaunchProfile &profile) {
  if (profile.loops.empty())
    return;
  constexpr const char *format = "  {:<44} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}\n";
  show("\n");
  show(format, "loop: clocks for an iteration of a warp", "iterations", "clocks", "tensor", "mufu", "issue", "bound by",
       "waves", "sectors");
  for (const profile::Loop &loop : profile.loops) {
    const auto each = [&](std::string_view unit) {
      return fmt::format("{:.1f}", clocksPerIteration(profile, loop, unit));
    };
    const auto ratio = [](double measured, double ideal) {
      return ideal > 0 ? fmt::format("{:.2f}x", measured / ideal) : std::string();
    };
    show(format, std::string(size_t(2 * (loop.depth - 1)), ' ') + loop.name(), whole(loop.iterations), each(loop.bound),
         each("tensor"), each("mufu"), each("issue"), loop.bound, ratio(loop.wavefronts, loop.idealWavefronts),
         ratio(loop.sectors, loop.idealSectors));
  }
}

} // namespace

LeastWork leastWork(const ResolvedProblem &problem, const Schedule *schedule) {
  const reference::Sizes &sizes = problem.sizes;
  double visible = 0;
  for (int64_t row = 0; row < sizes.queryLength; ++row) {
    const reference::KeyRange keys = reference::visibleKeys(problem.spec.mask, row, sizes.queryLength, sizes.keyLength);
    visible += double(keys.end - keys.begin);
  }
  const double heads = double(sizes.batch) * double(sizes.queryHeads), rows = heads * double(sizes.queryLength);
  const double keyRows = double(sizes.batch) * double(sizes.keyHeads) * double(sizes.keyLength);
  const double flopsPerScore = 2 * double(sizes.headDim + sizes.valueDim);
  LeastWork least;
  least.exponents = visible * heads;
  least.flops = flopsPerScore * least.exponents;
  least.readBytes =
      (rows * double(sizes.headDim) + keyRows * double(sizes.headDim + sizes.valueDim)) * byteSize(problem.spec.dtype);
  least.writtenBytes = rows * double(sizes.valueDim) * byteSize(problem.spec.outputType()) +
                       (contains(problem.spec.outputs, Output::LSE) ? rows * 4 : 0);
  if (schedule)
    least.tileFlops = flopsPerScore * scoresInTiles(problem, *schedule) * heads;
  return least;
}

Json leastJson(const LeastWork &least) {
  return {{"read_bytes", least.readBytes},
          {"written_bytes", least.writtenBytes},
          {"exponents", least.exponents},
          {"flops", least.flops},
          {"flops_in_tiles", least.tileFlops > 0 ? Json(least.tileFlops) : Json(nullptr)}};
}

std::optional<double> CounterRow::ratio() const {
  return least && *least > 0 ? std::optional(measured / *least) : std::nullopt;
}

std::vector<CounterRow> counterRows(const Json &counters, const LeastWork &least) {
  std::vector<CounterRow> rows;
  const auto sum = [&](std::initializer_list<std::string_view> kinds, std::string_view field) {
    double total = 0;
    for (std::string_view kind : kinds)
      total += read(counters, kind, field);
    return total;
  };
  const auto reads = {std::string_view("global_loads"), std::string_view("async_copies")};
  const auto writes = {std::string_view("global_stores")};
  rows.push_back({"bytes read: asked for", sum(reads, "bytes"), least.readBytes});
  rows.push_back({"  distinct", read(counters, "footprint", "read_bytes"), least.readBytes});
  rows.push_back({"  fetched in 32-byte sectors", 32 * sum(reads, "sectors"), 32 * sum(reads, "ideal_sectors")});
  rows.push_back({"bytes written: asked for", sum(writes, "bytes"), least.writtenBytes});
  rows.push_back({"  distinct", read(counters, "footprint", "written_bytes"), least.writtenBytes});
  rows.push_back({"  stored in 32-byte sectors", 32 * sum(writes, "sectors"), 32 * sum(writes, "ideal_sectors")});
  if (const double bytes = read(counters, "global_atomics", "bytes"); bytes > 0)
    rows.push_back({"bytes of atomics", bytes, 0.0});
  rows.push_back({"exponents, of visible scores", 32 * read(counters, "ex2"), least.exponents});
  if (least.tileFlops > 0)
    rows.push_back({"matrix flops, of visited tiles", read(counters, "mma_flops"), least.tileFlops});
  rows.push_back({"matrix flops, of visible scores", read(counters, "mma_flops"), least.flops});
  for (const auto &[key, what] : {std::pair("ldmatrix", "shared-memory wavefronts: ldmatrix"),
                                  {"shared_loads", "  loads"},
                                  {"shared_stores", "  stores"},
                                  {"async_writes", "  asynchronous copies"},
                                  {"shared_atomics", "  atomics"}})
    if (read(counters, key, "requests") > 0)
      rows.push_back({what, read(counters, key, "wavefronts"), read(counters, key, "ideal_wavefronts")});
  rows.push_back({"bytes spilled or in local arrays", read(counters, "local_bytes"), 0.0});
  rows.push_back({"divergent branches", read(counters, "divergent_branches"), 0.0});
  rows.push_back({"barrier waits of warps", read(counters, "barrier_waits"), std::nullopt});
  rows.push_back({"warp instructions", read(counters, "warp_instructions"), std::nullopt});
  return rows;
}

Json counterJson(const Json &counters, const LeastWork &least) {
  Json report = counters;
  report.erase("instructions"); // thousands of lines: --profile has them
  report["least"] = leastJson(least);
  Json rows = Json::array();
  for (const CounterRow &row : counterRows(counters, least))
    rows.push_back({{"counter", row.name},
                    {"measured", row.measured},
                    {"least", orNull(row.least)},
                    {"ratio", orNull(row.ratio())}});
  report["table"] = std::move(rows);
  return report;
}

void printCounters(const Json &counters, const profile::LaunchProfile &profile, const LeastWork &least) {
  show("\n");
  show(rowFormat, "counted by the simulator", "this kernel", "least possible", "ratio");
  for (const CounterRow &row : counterRows(counters, least))
    print(row);
  if (least.exponents > 0)
    show(rowFormat, "  outside the matrix unit, per 32 visible scores",
         fmt::format("{:.2f}", 32 * (read(counters, "warp_instructions") - read(counters, "by_pipe", "tensor")) /
                                   least.exponents),
         "", "");
  printPipes(profile);
  printLoops(profile);
}

} // namespace tessera::cli
