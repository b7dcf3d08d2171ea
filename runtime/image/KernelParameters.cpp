// The table of kernel parameters.
#include "runtime/image/KernelParameters.h"

#include <array>

namespace tessera {
namespace {

constexpr std::string_view names[argumentCount] = {
    "q",      "k",       "v",       "o",       "lse",    "rescues",   "q_batch",   "q_head",  "k_batch",
    "k_head", "v_batch", "v_head",  "o_batch", "o_head", "lse_batch", "lse_head",  "q_row",   "k_row",
    "v_row",  "o_row",   "lse_row", "heads",   "group",  "seqlen_q",  "seqlen_kv", "q_tiles", "pairs",
};

constexpr auto everyArgument = [] {
  std::array<Argument, argumentCount> all{};
  for (unsigned i = 0; i < argumentCount; ++i)
    all[i] = Argument(i);
  return all;
}();

} // namespace

std::string_view name(Argument argument) { return names[unsigned(argument)]; }

ParameterType typeOf(Argument argument) {
  if (argument <= Argument::Rescues)
    return ParameterType::Pointer;
  return argument <= Argument::LseHead ? ParameterType::I64 : ParameterType::I32;
}

std::optional<Argument> parseArgument(std::string_view text) {
  for (Argument argument : everyArgument)
    if (name(argument) == text)
      return argument;
  return std::nullopt;
}

std::string_view name(ParameterType type) {
  return type == ParameterType::Pointer ? "ptr" : type == ParameterType::I64 ? "i64" : "i32";
}

std::optional<ParameterType> parseParameterType(std::string_view text) {
  for (ParameterType type : {ParameterType::Pointer, ParameterType::I64, ParameterType::I32})
    if (name(type) == text)
      return type;
  return std::nullopt;
}

std::span<const Argument> allArguments() { return everyArgument; }

} // namespace tessera
