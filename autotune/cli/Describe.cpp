// Texts and JSON of problems and kernels.
#include "autotune/cli/Describe.h"

#include "autotune/cli/Print.h"
#include "autotune/report/Visible.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera::cli {

Json problemJson(const ResolvedProblem &problem) {
  const AttentionSpec &spec = problem.spec;
  const reference::Sizes &sizes = problem.sizes;
  Json json;
  json["dtype"] = name(spec.dtype);
  json["out_dtype"] = name(spec.outputType());
  json["batch"] = sizes.batch;
  json["heads"] = sizes.queryHeads;
  json["kv_heads"] = sizes.keyHeads;
  json["head_dim"] = sizes.headDim;
  json["value_dim"] = sizes.valueDim;
  json["seqlen_q"] = sizes.queryLength;
  json["seqlen_kv"] = sizes.keyLength;
  Json &mask = json["mask"];
  mask["left"] = orNull(spec.mask.left);
  mask["right"] = orNull(spec.mask.right);
  mask["align"] = spec.mask.isFull() ? Json(nullptr) : Json(name(spec.mask.align));
  json["scale"] = number(spec.effectiveScale());
  json["softcap"] = orNull(spec.softcap);
  json["lse"] = contains(spec.outputs, Output::LSE);
  json["precision"] =
      spec.dtype != DType::F32 ? Json(nullptr) : Json(spec.precision == Precision::Precise ? "precise" : "tf32");
  json["spec"] = spec.text();
  return json;
}

std::string problemText(const ResolvedProblem &problem) {
  const AttentionSpec &spec = problem.spec;
  const reference::Sizes &sizes = problem.sizes;
  std::string text = fmt::format("{}, batch {}, {} heads", tune::typeWords(spec), sizes.batch, sizes.queryHeads);
  if (sizes.keyHeads != sizes.queryHeads)
    text += fmt::format(" on {} key/value heads", sizes.keyHeads);
  return text + fmt::format(", {}, {} queries, {} keys, {}", tune::dimWords(spec), sizes.queryLength, sizes.keyLength,
                            tune::scoreWords(spec));
}

std::string specText(std::string_view canonical) {
  const Result<AttentionSpec> spec = AttentionSpec::parse(canonical);
  return spec ? tune::specWords(*spec) : std::string(canonical);
}

void addKernel(Json &report, const KernelInfo &info) {
  report["source"] = name(info.source);
  report["bundle"] = info.bundle.empty() ? Json(nullptr) : Json(info.bundle);
  report["schedule"] = info.schedule.text();
  report["schedule_reason"] = info.scheduleReason;
  report["target"] = info.target;
  report["device"] = info.device;
  report["code"] = info.code;
  report["assembler"] = info.assembler.empty() ? Json(nullptr) : Json(info.assembler);
  report["registers"] = orNull(info.registers);
  report["spill_bytes"] = orNull(info.spillBytes);
  report["shared_bytes"] = info.sharedBytes;
  report["block_threads"] = info.blockThreads;
  report["blocks_per_sm"] = orNull(info.blocksPerSm);
  report["compile_ms"] = number(info.compileMs);
  report["read_ms"] = number(info.readMs);
  report["load_ms"] = number(info.loadMs);
}

void printJson(const Json &report) {
  showText(tune::report::visibleJson(report.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
}

Json number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void Table::row(std::string_view name, std::string_view value) {
  rows.emplace_back(tune::report::visibleLine(name), value);
}

void Table::print() const {
  size_t width = 0;
  for (const auto &row : rows)
    width = std::max(width, row.first.size());
  for (const auto &[name, value] : rows) {
    std::string_view rest = value, first = name;
    do { // further lines of a value stand below its first
      const size_t end = std::min(rest.find('\n'), rest.size());
      show("{:<{}}  {}\n", first, width, rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      first = {};
    } while (!rest.empty());
  }
}

} // namespace tessera::cli
