// KernelImage: one compiled kernel with everything needed to load, launch and explain it. The compiler returns it,
// caches store it.
#pragma once

#include "runtime/image/ImageKey.h"
#include "runtime/image/KernelParameters.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// One parameter of the kernel, in the order of its declaration.
struct KernelParameter {
  std::string name;
  ParameterType type = ParameterType::Pointer;
  friend bool operator==(const KernelParameter &, const KernelParameter &) = default;
};

/// How many blocks a launch has, as a function of the problem.
enum class GridRule : uint8_t {
  QueryTiles,          ///< x = ceil(seqlen_q / tileQ) * heads * batch, y = z = 1
  PackedTiles,         ///< x = ceil(seqlen_q * (heads / kvHeads) / tileQ) * kvHeads * batch
  ResidentQueryTiles,  ///< the same as QueryTiles, but no more than the blocks that the device holds at once
  ResidentPackedTiles, ///< likewise
};

/// The rule of the kernels of a schedule.
GridRule gridRuleOf(const Schedule &schedule);
/// The rule as metadata has it: a formula.
std::string_view text(GridRule rule);
std::optional<GridRule> parseGridRule(std::string_view text);

/// A value type; thread-compatible.
struct KernelImage {
  AttentionSpec spec;
  Schedule schedule;
  std::string target; ///< "sm_80"
  std::string entry;  ///< name of the kernel in the PTX
  std::vector<KernelParameter> parameters;
  GridRule grid = GridRule::QueryTiles;
  uint32_t tileQ = 0;                              ///< query rows per block, for the grid rule
  uint32_t blockThreads = 0;                       ///< x; y = z = 1
  uint32_t clusterBlocks = 1;                      ///< blocks per cluster, along x; more than 1 needs sm_90
  uint32_t dynamicSharedBytes = 0;                 ///< per block
  std::optional<uint32_t> registers;               ///< per thread, from the assembler; absent without a cubin
  std::optional<uint32_t> spillBytes;              ///< per thread, from the assembler
  std::string assemblerLog;                        ///< notes of the assembler, without times and paths
  uint32_t ptxVersion = 0;                         ///< 80 for PTX 8.0
  std::map<std::string, std::string> toolVersions; ///< "llvm" -> "22.1.0", "assembler" -> "nvJitLink 13.0"
  std::string buildId;                             ///< of the compiler library
  std::string keyText;                             ///< ImageKey::text(); compared on load from caches
  std::string ptx;                                 ///< may be empty where there is a cubin (tessera bundle strip-ptx)
  std::vector<uint8_t> cubin;                      ///< empty without an assembler: the driver then assembles the PTX

  /// The one serialised form; the same bytes for the same image. InvalidArgument where the image contradicts itself.
  Result<std::string> serialize() const;
  /// The inverse, for untrusted bytes: File with what is wrong, for any bytes that serialize() did not write.
  static Result<KernelImage> parse(std::string_view bytes);
  /// The key text of a serialised image from its header and metadata alone: `next` hands out that many more of its
  /// bytes, fewer at the end. The digest is not checked: for listings and explanations, never for loading. File where
  /// these are not the first bytes of an image.
  static Result<std::string> readKeyText(const std::function<std::string(uint64_t)> &next);
  /// Checks that the facts fit each other (block and warps, shared memory and target, parameter names and types, ...).
  Status validate() const;

  friend bool operator==(const KernelImage &, const KernelImage &) = default;
};

} // namespace tessera
