// Texts and JSON of problems and kernels.
#include "autotune/cli/Describe.h"

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
  std::string text(name(spec.dtype));
  if (spec.outputType() != spec.dtype)
    text += fmt::format(" to {}", name(spec.outputType()));
  text += fmt::format(", batch {}, {} heads", sizes.batch, sizes.queryHeads);
  if (sizes.keyHeads != sizes.queryHeads)
    text += fmt::format(" on {} key/value heads", sizes.keyHeads);
  text += fmt::format(", d {}", sizes.headDim);
  if (sizes.valueDim != sizes.headDim)
    text += fmt::format(" and {}", sizes.valueDim);
  text += fmt::format(", {} queries, {} keys, {}", sizes.queryLength, sizes.keyLength, describe(spec.mask));
  if (spec.scale)
    text += fmt::format(", scale {}", *spec.scale);
  if (spec.softcap)
    text += fmt::format(", softcap {}", *spec.softcap);
  if (contains(spec.outputs, Output::LSE))
    text += ", with LSE";
  return text;
}

void addKernel(Json &report, const KernelInfo &info) {
  report["source"] = name(info.source);
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
  report["load_ms"] = number(info.loadMs);
}

Json number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void Table::print() const {
  size_t width = 0;
  for (const auto &row : rows)
    width = std::max(width, row.first.size());
  for (const auto &[name, value] : rows)
    fmt::print("{:<{}}  {}\n", name, width, value);
}

} // namespace tessera::cli
