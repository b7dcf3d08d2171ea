// Counters as JSON and as a table with the least possible beside them.
#include "autotune/cli/CounterReport.h"

#include "autotune/reference/Attention.h"

#include <fmt/format.h>

namespace tessera::cli {
namespace {

/// A counter by its path in the simulator's JSON ("ldmatrix", "wavefronts"); 0 where the simulator has none of that
/// name.
double read(const nlohmann::json &counters, std::string_view outer, std::string_view inner = {}) {
  const auto found = counters.find(outer);
  if (found == counters.end())
    return 0;
  if (inner.empty())
    return found->is_number() ? found->get<double>() : 0;
  const auto field = found->is_object() ? found->find(inner) : found->end();
  return found->is_object() && field != found->end() && field->is_number() ? field->get<double>() : 0;
}

void line(std::string_view what, double measured, std::optional<double> least = std::nullopt) {
  if (!least)
    fmt::print("  {:<44} {:>14.0f}\n", what, measured);
  else
    fmt::print("  {:<44} {:>14.0f} {:>14.0f} {:>7}\n", what, measured, *least,
               *least > 0 ? fmt::format("{:.2f}x", measured / *least) : "");
}

} // namespace

LeastWork leastWork(const ResolvedProblem &problem) {
  const reference::Sizes &sizes = problem.sizes;
  double visible = 0;
  for (int64_t row = 0; row < sizes.queryLength; ++row) {
    const reference::KeyRange keys = reference::visibleKeys(problem.spec.mask, row, sizes.queryLength, sizes.keyLength);
    visible += double(keys.end - keys.begin);
  }
  const double heads = double(sizes.batch) * double(sizes.queryHeads), rows = heads * double(sizes.queryLength);
  const double keyRows = double(sizes.batch) * double(sizes.keyHeads) * double(sizes.keyLength);
  LeastWork least;
  least.exponents = visible * heads;
  least.flops = 2 * least.exponents * double(sizes.headDim + sizes.valueDim);
  least.readBytes =
      (rows * double(sizes.headDim) + keyRows * double(sizes.headDim + sizes.valueDim)) * byteSize(problem.spec.dtype);
  least.writtenBytes = rows * double(sizes.valueDim) * byteSize(problem.spec.outputType()) +
                       (contains(problem.spec.outputs, Output::LSE) ? rows * 4 : 0);
  return least;
}

Json counterJson(const nlohmann::json &counters, const ResolvedProblem &problem) {
  const LeastWork least = leastWork(problem);
  Json report = Json::parse(counters.dump());
  report.erase("instructions"); // thousands of lines; a profile is another question
  report["least"] = {{"read_bytes", least.readBytes},
                     {"written_bytes", least.writtenBytes},
                     {"exponents", least.exponents},
                     {"flops", least.flops}};
  return report;
}

void printCounters(const nlohmann::json &counters, const ResolvedProblem &problem) {
  const LeastWork least = leastWork(problem);
  fmt::print("\n  {:<44} {:>14} {:>14}\n", "counted by the simulator", "this kernel", "least possible");
  line("bytes read from global memory",
       read(counters, "global_loads", "bytes") + read(counters, "async_copies", "bytes"), least.readBytes);
  line("  in 32-byte sectors (against those bytes)",
       32 * (read(counters, "global_loads", "sectors") + read(counters, "async_copies", "sectors")),
       read(counters, "global_loads", "bytes") + read(counters, "async_copies", "bytes"));
  line("bytes written to global memory", read(counters, "global_stores", "bytes"), least.writtenBytes);
  line("  in 32-byte sectors (against those bytes)", 32 * read(counters, "global_stores", "sectors"),
       read(counters, "global_stores", "bytes"));
  line("exponents (32 per warp instruction)", 32 * read(counters, "ex2"), least.exponents);
  line("flops of the matrix unit", read(counters, "mma_flops"), least.flops);
  for (const auto &[key, what] : {std::pair("ldmatrix", "passes over shared memory: ldmatrix"),
                                  {"shared_loads", "  loads"},
                                  {"shared_stores", "  stores"},
                                  {"async_writes", "  async copies"}})
    line(what, read(counters, key, "wavefronts"), read(counters, key, "ideal_wavefronts"));
  line("bytes spilled or in local arrays", read(counters, "local_bytes"), 0.0);
  line("warp instructions", read(counters, "warp_instructions"));
  if (const auto pipes = counters.find("by_pipe"); pipes != counters.end() && pipes->is_object())
    for (const auto &[pipe, count] : pipes->items())
      if (count.is_number())
        line("  " + pipe, count.get<double>());
  if (least.exponents > 0)
    fmt::print("  {:<44} {:>14.2f}\n", "  outside the matrix unit, per 32 visible scores",
               32 * (read(counters, "warp_instructions") - read(counters, "by_pipe", "tensor")) / least.exponents);
  line("divergent branches", read(counters, "divergent_branches"), 0.0);
}

} // namespace tessera::cli
