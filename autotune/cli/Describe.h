// The parts of a report that several commands share: an attention, a schedule, a kernel, as JSON and for people.
#pragma once

#include "autotune/cli/HostProblem.h"
#include "runtime/engine/KernelInfo.h"

#include <nlohmann/json.hpp>

#include <string>

namespace tessera::cli {

using Json = nlohmann::ordered_json;

/// dtype, sizes, mask, scale, softcap, outputs.
Json problemJson(const ResolvedProblem &problem);
/// One line: "bf16, batch 2, 8 query heads on 2 key/value heads, d 128, 300 queries, 517 keys, causal, bottom-right,
/// with LSE".
std::string problemText(const ResolvedProblem &problem);

/// What is compiled, for tables: "bf16, d 128, causal, bottom-right". A text that is no spec of this version stands for
/// itself.
std::string specText(std::string_view canonical);

/// target, registers, spill_bytes, shared_bytes, ...; null where not known.
void addKernel(Json &report, const KernelInfo &info);

template <typename T> Json orNull(const std::optional<T> &value) { return value ? Json(*value) : Json(nullptr); }

/// On stdout, indented; bytes that are no UTF-8 are replaced, and characters that a terminal would obey are escaped.
void printJson(const Json &report);

/// A number as JSON has it: NaN and Inf, which JSON has not, as text.
Json number(double value);

/// Rows of "name  value" on stdout, aligned; further lines of a value stand below its first.
class Table {
public:
  void row(std::string_view name, std::string_view value);
  void print() const;

private:
  std::vector<std::pair<std::string, std::string>> rows;
};

} // namespace tessera::cli
