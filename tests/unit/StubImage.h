// What the compiler libraries of the tests share: the image of a kernel that nobody generated, and the C interface's
// blobs.
#pragma once

#include "runtime/image/CompilerInterface.h"
#include "runtime/image/ImageKey.h"
#include "runtime/image/KernelImage.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace tessera {

/// Text or bytes as the interface hands them out; for releaseBlob().
inline tessera_compiler_blob blobOf(std::string_view bytes) {
  tessera_compiler_blob blob{static_cast<char *>(std::malloc(bytes.size() + 1)), bytes.size()};
  std::memcpy(blob.data, bytes.data(), bytes.size());
  blob.data[bytes.size()] = 0;
  return blob;
}
inline void releaseBlob(tessera_compiler_blob *blob) {
  std::free(blob->data);
  *blob = {};
}

/// The facts that fit the request; PTX, and a cubin with its registers, are the caller's.
inline KernelImage stubImage(const tessera_compile_request &request, const char *build, const char *assembler) {
  KernelImage image;
  image.spec = *AttentionSpec::parse(request.spec);
  image.schedule = *Schedule::parse(request.schedule);
  image.target = request.target;
  image.entry = "attention";
  for (Argument argument : allArguments())
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.grid = gridRuleOf(image.schedule);
  image.tileQ = image.schedule.tileQ;
  image.blockThreads = 32 * image.schedule.warps;
  image.dynamicSharedBytes = uint32_t(image.schedule.sharedBytes(image.spec));
  image.ptxVersion = 80;
  image.buildId = build;
  image.keyText = ImageKey{build, image.spec, image.schedule, image.target, assembler, ""}.text();
  return image;
}

} // namespace tessera
