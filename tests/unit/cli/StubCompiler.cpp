// A compiler library whose kernels return at once: facts that fit the request, and PTX that the simulator runs.
#include "tests/unit/StubImage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>

using namespace tessera;

namespace {

std::string ptxText(std::string_view target) {
  std::vector<std::string> parameters;
  for (Argument argument : allArguments())
    parameters.push_back(fmt::format(".param .u{} {}", 8 * byteSize(typeOf(argument)), name(argument)));
  return fmt::format(".version 8.0\n.target {}\n.address_size 64\n.visible .entry attention({})\n{{\n  ret;\n}}\n",
                     target, fmt::join(parameters, ", "));
}

constexpr const char *kBuild = "stub build", *kAssembler = "stub 1.0";

KernelImage imageFor(const tessera_compile_request &request) {
  KernelImage image = stubImage(request, kBuild, kAssembler);
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
EXPORT void tessera_compiler_release(tessera_compiler_blob *blob) { releaseBlob(blob); }
