// CodeTarget: the architecture that a piece of code was made for, suffix included, and which devices run it.
#pragma once

#include "runtime/spec/Result.h"

#include <string>
#include <string_view>

namespace tessera {

/// The form of a piece of code.
enum class CodeKind : uint8_t { Cubin, Ptx };

/// "sm_90a" taken apart. Unlike Target it is no row of a table: a bundle may hold code for architectures that this
/// version of Tessera has never heard of.
struct CodeTarget {
  unsigned major = 0, minor = 0; ///< compute capability
  char suffix = 0;               ///< 0, 'a' (this architecture only) or 'f' (its family: same major)

  /// "sm_80", "sm_90a", "compute_100f". InvalidArgument for anything else.
  static Result<CodeTarget> parse(std::string_view name);
  std::string text() const; ///< "sm_90a"

  friend bool operator==(const CodeTarget &, const CodeTarget &) = default;
};

/// What a device runs code with.
struct CodeDevice {
  unsigned major = 0, minor = 0; ///< compute capability
  int driverVersion = 0;         ///< CUDA version of the driver, 1000 * major + 10 * minor
};

/// How near a piece of code is to a device; smaller is nearer.
enum class CodeFit : uint8_t {
  Exact,  ///< a cubin for this very compute capability
  Family, ///< a cubin of the same major version and an older minor one
  Ptx,    ///< PTX, which the driver assembles for the device
  None,
};

struct CodeMatch {
  CodeFit fit = CodeFit::None;
  std::string reason; ///< where fit is None: why, with the values ("sm_90a code runs on compute capability 9.0 only")
};

/// Whether the device runs code of this kind. The rules (CUDA programming guide, compute capabilities; PTX manual,
/// .target): a cubin runs on its own major version with the same or a newer minor; PTX runs on everything newer; 'a' on
/// its own architecture alone in either form; 'f' within its family. PTX also needs a driver that knows its version:
/// `ptxVersion` is 80 for PTX 8.0 and counts for CodeKind::Ptx only.
CodeMatch matchCode(CodeTarget target, CodeKind kind, unsigned ptxVersion, CodeDevice device);

/// The oldest CUDA version whose driver assembles this PTX version, 12000 for PTX 8.0; 0 for one that is not known (PTX
/// manual, release notes).
int driverVersionForPtx(unsigned ptxVersion);

} // namespace tessera
