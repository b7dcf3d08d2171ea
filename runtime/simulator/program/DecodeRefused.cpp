// Instructions that this simulator does not have: each is refused at load by its name, with the reason.
#include "runtime/simulator/program/Decoder.h"

namespace tessera::sim::program {

namespace {

struct Refusal {
  std::string_view opcode;
  unsigned sm;             ///< oldest target that has it
  std::string_view reason; ///< and what to do instead
};

constexpr std::string_view hopper = "is Hopper's, which this simulator does not have yet; use mma.sync and cp.async";
constexpr std::string_view blackwell =
    "is Blackwell's, which this simulator does not have yet; use mma.sync and cp.async";
constexpr std::string_view texture =
    "is not supported: textures and surfaces are not modelled; load from global memory";
constexpr std::string_view video =
    "is not supported: video instructions are not modelled; use add, sub, min, max, sad, prmt and dp4a";
constexpr std::string_view stack =
    "is not supported: the stack does not grow at run time here; declare a .local variable";

constexpr Refusal refusals[] = {
    {"wgmma", 90, hopper},       {"setmaxnreg", 90, hopper},
    {"mapa", 90, hopper},        {"getctarank", 90, hopper},
    {"multimem", 90, hopper},    {"tensormap", 90, hopper},
    {"tcgen05", 100, blackwell}, {"clusterlaunchcontrol", 100, blackwell},
    {"tex", 0, texture},         {"tld4", 0, texture},
    {"txq", 0, texture},         {"istypep", 0, texture},
    {"suld", 0, texture},        {"sust", 0, texture},
    {"sured", 0, texture},       {"suq", 0, texture},
    {"alloca", 0, stack},        {"stacksave", 0, stack},
    {"stackrestore", 0, stack},  {"vadd", 0, video},
    {"vsub", 0, video},          {"vabsdiff", 0, video},
    {"vmin", 0, video},          {"vmax", 0, video},
    {"vshl", 0, video},          {"vshr", 0, video},
    {"vmad", 0, video},          {"vset", 0, video},
    {"vadd2", 0, video},         {"vsub2", 0, video},
    {"vavrg2", 0, video},        {"vabsdiff2", 0, video},
    {"vmin2", 0, video},         {"vmax2", 0, video},
    {"vset2", 0, video},         {"vadd4", 0, video},
    {"vsub4", 0, video},         {"vavrg4", 0, video},
    {"vabsdiff4", 0, video},     {"vmin4", 0, video},
    {"vmax4", 0, video},         {"vset4", 0, video},
};

bool refuse(Decoder &d) {
  std::string_view name = d.instruction().opcode;
  for (const Refusal &refusal : refusals)
    if (refusal.opcode == name)
      return (!refusal.sm || d.require(refusal.sm, fmt::format("'{}'", name).c_str())) &&
             d.error(fmt::format("'{}' {}", name, refusal.reason));
  return false;
}

} // namespace

void addRefusedDecoders(DecodeTable &table) {
  for (const Refusal &refusal : refusals)
    table.try_emplace(refusal.opcode, refuse); // never in place of an instruction that exists
}

} // namespace tessera::sim::program
