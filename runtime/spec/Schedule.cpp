// Canonical text and legality of schedules.
#include "runtime/spec/Schedule.h"

#include "runtime/spec/CanonicalText.h"
#include "runtime/spec/SharedLayout.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::string_view exampleText = "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online";

Status refuse(std::string message, std::string hint = {}) {
  return {Code::Unsupported, std::move(message), std::move(hint)};
}

/// What is wrong with the numbers of the schedule alone.
Status checkShape(const Schedule &s) {
  if (s.warps != 1 && s.warps != 2 && s.warps != 4 && s.warps != 8)
    return refuse(fmt::format("warps must be 1, 2, 4 or 8, got {}", s.warps));
  if (s.tileQ == 0 || s.tileQ > 1024 || s.tileQ % (16 * s.warps))
    return refuse(fmt::format("tile_q must be a multiple of {} (16 rows for each of {} warps) up to 1024, got {}",
                              16 * s.warps, s.warps, s.tileQ));
  if (s.tileKv < 16 || s.tileKv > 256 || s.tileKv % 16)
    return refuse(fmt::format("tile_kv must be a multiple of 16 from 16 to 256, got {}", s.tileKv));
  if (s.stages < 1 || s.stages > 4)
    return refuse(fmt::format("stages must be 1 to 4, got {}", s.stages));
  if (s.headGroup < 1 || s.headGroup > 64)
    return refuse(fmt::format("head_group must be 1 to 64, got {}", s.headGroup));
  return {};
}

/// What the rescale policy asks of the inputs.
Status checkRescale(const Schedule &s, const AttentionSpec &spec) {
  if (s.rescale == Rescale::Anchored && spec.dtype == DType::F16)
    return refuse("an anchored reference needs probabilities with the exponent range of f32, got f16 inputs",
                  "f16 probabilities have 30 binades: lazy only");
  // A probability may reach 2^threshold; f16 ends just below 2^16.
  const float limit = spec.dtype == DType::F16 ? 15.0f : 16.0f;
  if (s.rescale == Rescale::Lazy && !(s.lazyThreshold > 0 && s.lazyThreshold <= limit))
    return refuse(fmt::format("the lazy threshold must be above 0 and at most {} for {} inputs, got {}", limit,
                              name(spec.dtype), s.lazyThreshold));
  if (s.rowSum == RowSum::Mma && spec.dtype == DType::F32)
    return refuse("the row sum by mma is for 16-bit inputs, got f32", "use the row sum by add");
  // It sums rounded probabilities, and the largest is not always 1: of bf16 the sum may be off by 2^-9, more than N14
  // leaves an LSE.
  if (s.rowSum == RowSum::Mma && spec.dtype == DType::BF16 && contains(spec.outputs, Output::LSE))
    return refuse(
        "the row sum by mma of bf16 probabilities can put an LSE off by 0.002, more than the 0.001 that is allowed",
        "use the row sum by add, or leave the LSE out of the outputs");
  return {};
}

} // namespace

std::string Schedule::text() const {
  const std::string policy = rescale == Rescale::Every  ? "every"
                             : rescale == Rescale::Lazy ? "lazy" + detail::floatText(lazyThreshold)
                                                        : "anchored";
  return fmt::format("v1:q{},kv{},w{},s{},{},{},{},{}{}{}{}{}", tileQ, tileKv, warps, stages, policy,
                     rowSum == RowSum::Add ? "add" : "mma", queryInRegisters ? "qreg" : "qsmem",
                     loops == Loops::Online ? "online" : "three", packHeads ? ",pack" : "",
                     headGroup == 1 ? "" : fmt::format(",h{}", headGroup),
                     order == TileOrder::FirstFirst ? ",first" : "", persistent ? ",persist" : "");
}

Result<Schedule> Schedule::parse(std::string_view text) {
  detail::FieldReader reader(text, "schedule", exampleText);
  Schedule s;
  s.tileQ = reader.number<unsigned>("q");
  s.tileKv = reader.number<unsigned>("kv");
  s.warps = reader.number<unsigned>("w");
  s.stages = reader.number<unsigned>("s");
  std::string_view policy = reader.field("");
  if (policy == "every")
    s.rescale = Rescale::Every;
  else if (policy == "anchored")
    s.rescale = Rescale::Anchored;
  else if (!policy.starts_with("lazy") || !detail::readNumber(policy.substr(4), s.lazyThreshold))
    reader.fail("rescale", policy, "every, lazy with its threshold (lazy8) or anchored");
  auto choose = [&](std::string_view what, std::string_view no, std::string_view yes) {
    std::string_view value = reader.field("");
    if (value != no && value != yes)
      reader.fail(what, value, fmt::format("{} or {}", no, yes));
    return value == yes;
  };
  s.rowSum = choose("row sum", "add", "mma") ? RowSum::Mma : RowSum::Add;
  s.queryInRegisters = choose("query", "qsmem", "qreg");
  s.loops = choose("loops", "online", "three") ? Loops::Three : Loops::Online;
  s.packHeads = reader.word("pack");
  if (reader.startsWith("h")) {
    s.headGroup = reader.number<unsigned>("h");
    if (s.headGroup == 1)
      reader.fail("h", "1", "no such field for a head group of 1");
  }
  s.order = reader.word("first") ? TileOrder::FirstFirst : TileOrder::LastFirst;
  s.persistent = reader.word("persist");
  if (Status status = reader.finish(); !status.ok())
    return status;
  return s;
}

uint64_t Schedule::sharedBytes(const AttentionSpec &spec) const { return SharedLayout::of(*this, spec).total; }

Status Schedule::legal(const AttentionSpec &spec, const Target &target) const {
  if (Status status = checkShape(*this); !status.ok())
    return status;
  if (Status status = checkRescale(*this, spec); !status.ok())
    return status;
  if (uint64_t shared = sharedBytes(spec); shared > target.sharedBytesPerBlock)
    return refuse(
        fmt::format(
            "tiles {}x{} with {} stage(s) at d {}, d_v {} in {} need {} bytes of shared memory; {} has {} per block",
            tileQ, tileKv, stages, spec.headDim, spec.valueDim, name(spec.dtype), shared, target.name,
            target.sharedBytesPerBlock),
        "take a smaller tile_kv, fewer stages or a smaller tile_q");
  if (unsigned registers = estimatedRegisters(*this, spec); registers > 255)
    return refuse(
        fmt::format(
            "tiles {}x{} with {} warps at d {}, d_v {} in {} would spill: about {} registers per thread, 255 exist",
            tileQ, tileKv, warps, spec.headDim, spec.valueDim, name(spec.dtype), registers),
        "take more warps or a smaller tile_kv");
  return {};
}

bool operator==(const Schedule &a, const Schedule &b) {
  return a.tileQ == b.tileQ && a.tileKv == b.tileKv && a.warps == b.warps && a.stages == b.stages &&
         a.rescale == b.rescale && (a.rescale != Rescale::Lazy || a.lazyThreshold == b.lazyThreshold) &&
         a.rowSum == b.rowSum && a.queryInRegisters == b.queryInRegisters && a.loops == b.loops &&
         a.packHeads == b.packHeads && a.headGroup == b.headGroup && a.order == b.order && a.persistent == b.persistent;
}

} // namespace tessera
