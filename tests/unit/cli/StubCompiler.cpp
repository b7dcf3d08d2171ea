// A compiler library whose kernels return at once: facts that fit the request, and PTX that the simulator runs.
#include "runtime/image/CompilerInterface.h"
#include "runtime/image/KernelImage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>

using namespace tessera;

namespace {

tessera_compiler_blob blobOf(std::string_view bytes) {
  tessera_compiler_blob blob{static_cast<char *>(std::malloc(bytes.size() + 1)), bytes.size()};
  std::memcpy(blob.data, bytes.data(), bytes.size());
  blob.data[bytes.size()] = 0;
  return blob;
}

std::string ptxText(std::string_view target) {
  std::vector<std::string> parameters;
  for (Argument argument : allArguments())
    parameters.push_back(fmt::format(".param .u{} {}", 8 * byteSize(typeOf(argument)), name(argument)));
  return fmt::format(".version 8.0\n.target {}\n.address_size 64\n.visible .entry attention({})\n{{\n  ret;\n}}\n",
                     target, fmt::join(parameters, ", "));
}

constexpr const char *kBuild = "stub build", *kAssembler = "stub 1.0";

KernelImage imageFor(const tessera_compile_request &request) {
  KernelImage image;
  image.spec = *AttentionSpec::parse(request.spec);
  image.schedule = *Schedule::parse(request.schedule);
  image.target = request.target;
  image.entry = "attention";
  for (Argument argument : allArguments())
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.tileQ = image.schedule.tileQ;
  image.blockThreads = 32 * image.schedule.warps;
  image.dynamicSharedBytes = uint32_t(image.schedule.sharedBytes(image.spec));
  image.ptxVersion = 80;
  image.buildId = kBuild;
  image.keyText = ImageKey{kBuild, image.spec, image.schedule, image.target, kAssembler, ""}.text();
  image.ptx = ptxText(request.target);
  if (!std::getenv("STUB_NO_CUBIN")) {
    image.registers = 200;
    image.spillBytes = 0;
    image.cubin = {0x7f, 'E', 'L', 'F'};
    image.toolVersions["assembler"] = kAssembler;
  }
  return image;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Refuses every spec that holds the text in $STUB_FAILS.
EXPORT tessera_compile_code tessera_compile(const tessera_compile_request *request, tessera_compiler_blob *result,
                                            tessera_compiler_blob *error) {
  *result = *error = {};
  if (const char *fails = std::getenv("STUB_FAILS"); fails && std::strstr(request->spec, fails)) {
    *error = blobOf("refused by the stub");
    return TESSERA_COMPILE_FAILED;
  }
  *result = blobOf(*imageFor(*request).serialize());
  return TESSERA_COMPILE_OK;
}

EXPORT const char *tessera_compiler_build_id() { return kBuild; }
EXPORT const char *tessera_compiler_assembler() { return kAssembler; }
EXPORT const char *tessera_compiler_assembler_path() { return ""; }
EXPORT void tessera_compiler_release(tessera_compiler_blob *blob) {
  std::free(blob->data);
  *blob = {};
}
