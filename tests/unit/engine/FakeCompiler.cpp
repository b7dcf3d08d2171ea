// A compiler library that compiles nothing: it returns an image whose facts fit the request.
#include "tests/unit/engine/FakeCompiler.h"

#include "runtime/image/CompilerInterface.h"
#include "runtime/image/KernelImage.h"
#include "runtime/spec/SharedLayout.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace tessera;

namespace {

FakeCompilerState state;

tessera_compiler_blob blobOf(std::string_view bytes) {
  tessera_compiler_blob blob{static_cast<char *>(std::malloc(bytes.size() + 1)), bytes.size()};
  std::memcpy(blob.data, bytes.data(), bytes.size());
  blob.data[bytes.size()] = 0;
  return blob;
}

std::string buildName() { return "fake build " + std::to_string(state.build); }
std::string assemblerName() { return "fake " + std::to_string(state.assembler) + ".0"; }

KernelImage imageFor(const tessera_compile_request &request) {
  KernelImage image;
  image.spec = *AttentionSpec::parse(request.spec);
  image.schedule = *Schedule::parse(request.schedule);
  if (state.other)
    image.schedule.stages = image.schedule.stages == 1 ? 2 : 1;
  image.target = request.target;
  image.entry = "attention";
  for (Argument argument : allArguments())
    image.parameters.push_back({std::string(name(argument)), typeOf(argument)});
  image.tileQ = image.schedule.tileQ;
  image.blockThreads = 32 * image.schedule.warps;
  image.dynamicSharedBytes = uint32_t(image.schedule.sharedBytes(image.spec));
  image.ptxVersion = 80;
  image.ptx = ".version 8.0\n.target sm_80\n";
  if (state.cubin) {
    image.registers = 200;
    image.spillBytes = 4;
    image.cubin = {0x7f, 'E', 'L', 'F'};
    image.toolVersions["assembler"] = assemblerName();
  }
  image.buildId = buildName();
  image.keyText = ImageKey{image.buildId, image.spec, image.schedule, image.target, assemblerName(), ""}.text();
  return image;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT FakeCompilerState *fake_compiler_state() { return &state; }

EXPORT tessera_compile_code tessera_compile(const tessera_compile_request *request, tessera_compiler_blob *result,
                                            tessera_compiler_blob *error) {
  ++state.compiles;
  const int now = ++state.running;
  for (int most = state.mostRunning; now > most && !state.mostRunning.compare_exchange_weak(most, now);)
    ;
  std::this_thread::sleep_for(std::chrono::milliseconds(state.delayMs));
  --state.running;
  *result = *error = {};
  if (state.fail) {
    if (state.fail != TESSERA_COMPILE_FAILED)
      *error = blobOf("refused by the fake compiler");
    return tessera_compile_code(int(state.fail));
  }
  if (state.warn)
    *error = blobOf("no nvJitLink");
  *result = blobOf(request->emit   ? std::string("stage ") + request->emit
                   : state.garbage ? "garbage"
                                   : *imageFor(*request).serialize());
  return TESSERA_COMPILE_OK;
}

EXPORT const char *tessera_compiler_build_id() {
  thread_local std::string text;
  ++state.identityAsked;
  return (text = buildName()).c_str();
}
EXPORT const char *tessera_compiler_assembler() {
  thread_local std::string text;
  return (text = assemblerName()).c_str();
}
EXPORT const char *tessera_compiler_assembler_path() { return state.assemblerPath; }
EXPORT void tessera_compiler_release(tessera_compiler_blob *blob) {
  std::free(blob->data);
  *blob = {};
}
