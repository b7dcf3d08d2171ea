// Facts of images and how they differ.
#include "runtime/bundle/ImageFacts.h"

#include <fmt/format.h>

namespace tessera::detail {

BundleEntry factsOf(const KernelImage &image) {
  BundleEntry facts;
  if (Result<CodeTarget> target = CodeTarget::parse(image.target))
    facts.target = *target;
  facts.sharedBytes = image.dynamicSharedBytes;
  facts.blockThreads = image.blockThreads;
  facts.registers = image.registers.value_or(0);
  facts.clusterBlocks = image.clusterBlocks;
  facts.ptxVersion = image.ptx.empty() ? 0 : image.ptxVersion;
  facts.cubinBytes = uint32_t(image.cubin.size());
  return facts;
}

std::string factChanges(const BundleEntry &first, const BundleEntry &second) {
  std::string changes;
  auto compare = [&](std::string_view fact, const auto &a, const auto &b) {
    if (a != b)
      changes += fmt::format("{}{} {} -> {}", changes.empty() ? "" : ", ", fact, a, b);
  };
  compare("target", first.target.text(), second.target.text());
  compare("shared bytes", first.sharedBytes, second.sharedBytes);
  compare("block threads", first.blockThreads, second.blockThreads);
  compare("registers", first.registers, second.registers);
  compare("cluster blocks", first.clusterBlocks, second.clusterBlocks);
  compare("PTX version", first.ptxVersion, second.ptxVersion);
  compare("cubin bytes", first.cubinBytes, second.cubinBytes);
  return changes;
}

} // namespace tessera::detail
