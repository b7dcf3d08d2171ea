// SampleImages: small, distinct kernel images and bundles of them, made in microseconds; for tests and benchmarks.
#pragma once

#include "runtime/bundle/BundleWriter.h"

#include <cstdlib>
#include <fmt/format.h>
#include <string>

namespace tessera::test {

/// Image `number` of a series without end in which no two have their spec in common. Valid, though its code is not.
inline KernelImage sampleImage(unsigned number, std::string target = "sm_80", size_t cubinBytes = 600) {
  KernelImage image;
  image.spec.headDim = 8 * (1 + number % 32);
  image.spec.valueDim = 8 * (1 + number / 32 % 32);
  if (number >= 1024)
    image.spec.softcap = float(number / 1024);
  image.spec.mask = Mask::causal(Align::BottomRight);
  image.schedule.tileKv = 128;
  image.target = std::move(target);
  image.entry = "attention_fwd";
  for (Argument argument : allArguments())
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.tileQ = image.schedule.tileQ;
  image.blockThreads = 32 * image.schedule.warps;
  image.dynamicSharedBytes = 16384 + 16 * (number % 1024);
  if (cubinBytes) {
    image.registers = 128 + number % 64;
    image.spillBytes = 0;
    for (size_t i = 0; i < cubinBytes; ++i)
      image.cubin.push_back(uint8_t(i * 7 + number));
  }
  image.ptxVersion = 80;
  image.toolVersions = {{"assembler", "nvJitLink 13.0"}, {"llvm", "22.1"}};
  image.buildId = "build-a";
  image.keyText = fmt::format("tessera-key 1\n{}", number);
  image.ptx =
      fmt::format(".version 8.0\n.target {}\n.address_size 64\n.visible .entry attention_fwd() {{ ret; }} // {}\n",
                  image.target, number);
  return image;
}

/// A record that belongs to image `number`.
inline TuningRecord sampleRecord(unsigned number, std::string device = "NVIDIA A100-SXM4-80GB") {
  const KernelImage image = sampleImage(number);
  return {image.spec, std::move(device), image.target, {2, 32, 8, 2048, 2048}, image.schedule};
}

/// The result of a call that must succeed in a test's preparation.
template <typename T> T must(Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.status().text());
    std::abort();
  }
  return *std::move(result);
}

/// The bytes of a bundle of images 0 to count - 1, with a record for every tenth.
inline std::string sampleBundle(unsigned count, const PrivateKey *key = nullptr, size_t cubinBytes = 600) {
  BundleWriter writer;
  for (unsigned i = 0; i < count; ++i) {
    if (Status status = writer.add(sampleImage(i, "sm_80", cubinBytes)); !status.ok())
      return must(Result<std::string>(status));
    if (i % 10 == 0)
      writer.add(sampleRecord(i));
  }
  return must(writer.serialize(key));
}

/// A bundle of these bytes, which must outlive it.
inline Result<std::shared_ptr<const Bundle>> openBytes(const std::string &bytes, std::string name = "test.tsb") {
  return Bundle::openEmbedded(std::as_bytes(std::span(bytes)), std::move(name));
}

} // namespace tessera::test
