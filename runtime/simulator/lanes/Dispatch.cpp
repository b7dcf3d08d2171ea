// Chooses among the builds of the lane handlers, once per process.
#include "runtime/simulator/lanes/Dispatch.h"

#include <cstdlib>

namespace tessera::sim::lanes {

namespace baseline {
program::Handler select(const program::Op &op);
}
#ifdef TESSERA_SIM_X86
namespace avx2 {
program::Handler select(const program::Op &op);
}
namespace avx512 {
program::Handler select(const program::Op &op);
}
#endif

namespace {

struct Build {
  std::string_view name;
  program::Handler (*select)(const program::Op &);
};

Build choose() {
  const char *wish = std::getenv("TESSERA_SIM_ISA");
  std::string_view name = wish ? wish : "";
#ifdef TESSERA_SIM_X86
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512cd");
  if (avx512 && name != "avx2" && name != "baseline")
    return {"avx512", avx512::select};
  if (avx2 && name != "baseline")
    return {"avx2", avx2::select};
#endif
  return {"baseline", baseline::select};
}

const Build &build() {
  static const Build chosen = choose();
  return chosen;
}

} // namespace

program::Handler select(const program::Op &op) { return build().select(op); }
std::string_view instructionSet() { return build().name; }

} // namespace tessera::sim::lanes
