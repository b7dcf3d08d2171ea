// The table of GPU architectures. Limits: CUDA programming guide, appendix on compute capabilities.
#include "runtime/spec/Target.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr uint32_t KiB = 1024;

//   name      major minor  shared: block       SM          warps blocks PTX
constexpr Target table[] = {
    {"sm_80", 8, 0, 163 * KiB, 164 * KiB, 64, 32, 80},  {"sm_86", 8, 6, 99 * KiB, 100 * KiB, 48, 16, 80},
    {"sm_89", 8, 9, 99 * KiB, 100 * KiB, 48, 24, 80},   {"sm_90", 9, 0, 227 * KiB, 228 * KiB, 64, 32, 80},
    {"sm_120", 12, 0, 99 * KiB, 100 * KiB, 48, 24, 87},
};

} // namespace

std::span<const Target> Target::all() { return table; }

Result<Target> Target::parse(std::string_view name) {
  std::string known;
  for (const Target &target : table) {
    if (target.name == name)
      return target;
    known += known.empty() ? "" : ", ";
    known += target.name;
  }
  return Status(Code::NotFound, fmt::format("unknown target '{}'", name), fmt::format("known targets: {}", known));
}

Result<Target> Target::forDevice(unsigned major, unsigned minor) {
  const Target *sameMajor = nullptr; // its cubin runs as it is
  const Target *older = nullptr;     // its PTX is assembled anew by the driver
  for (const Target &target : table) {
    if (target.major == major && target.minor <= minor)
      sameMajor = &target;
    if (target.major < major)
      older = &target;
  }
  if (sameMajor)
    return *sameMajor;
  if (older)
    return *older;
  return Status(Code::NotFound, fmt::format("no target for a GPU of compute capability {}.{}", major, minor),
                "Tessera's kernels need compute capability 8.0 (Ampere) or newer");
}

} // namespace tessera
