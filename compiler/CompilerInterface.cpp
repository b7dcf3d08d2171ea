// The C ABI of the compiler library: texts are parsed here, and every outcome becomes a code and a blob.
#include "runtime/image/CompilerInterface.h"

#include "codegen/ptx/Assembler.h"
#include "compiler/Compiler.h"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace tessera;

namespace {

/// False where memory is short: the blob stays empty.
bool fill(tessera_compiler_blob *blob, const std::string &bytes) {
  if (!blob)
    return true;
  blob->data = static_cast<char *>(std::malloc(bytes.size() + 1));
  blob->size = blob->data ? bytes.size() : 0;
  if (blob->data) {
    std::memcpy(blob->data, bytes.data(), bytes.size());
    blob->data[bytes.size()] = '\0';
  }
  return blob->data != nullptr;
}

tessera_compile_code codeOf(Code code) {
  switch (code) {
  case Code::Ok:
    return TESSERA_COMPILE_OK;
  case Code::InvalidArgument:
  case Code::NotFound:
    return TESSERA_COMPILE_INVALID_ARGUMENT;
  case Code::Unsupported:
    return TESSERA_COMPILE_UNSUPPORTED;
  case Code::File:
    return TESSERA_COMPILE_FILE;
  default:
    return TESSERA_COMPILE_FAILED;
  }
}

Result<CompileResult> compileRequest(const tessera_compile_request *request) {
  // A caller of an older layout has no fields beyond its size; every field so far belongs to the first.
  if (!request || request->size < sizeof(tessera_compile_request) || !request->spec || !request->schedule ||
      !request->target)
    return Status(Code::InvalidArgument,
                  "compile request: spec, schedule and target are needed, and size must be that of the request");
  auto spec = AttentionSpec::parse(request->spec);
  if (!spec)
    return spec.status();
  auto schedule = Schedule::parse(request->schedule);
  if (!schedule)
    return schedule.status();
  auto target = Target::parse(request->target);
  if (!target)
    return target.status();
  CompileOptions options;
  auto stage = [](const char *name) -> Result<Stage> {
    if (auto found = parseStage(name))
      return *found;
    return Status(Code::InvalidArgument, fmt::format("unknown stage '{}'", name),
                  "stages: attn, tiled, online, scheduled, nvvm, llvm, ptx, cubin, image");
  };
  if (request->emit) {
    auto emit = stage(request->emit);
    if (!emit)
      return emit.status();
    options.emit = *emit;
  }
  if (request->override_stage) {
    auto replaced = stage(request->override_stage);
    if (!replaced)
      return replaced.status();
    options.overrideStage = *replaced;
    options.overrideFile = request->override_file ? request->override_file : "";
  }
  if (request->stages_dir)
    options.stagesFolder = request->stages_dir;
  if (request->mutate)
    options.mutate = request->mutate;
  return compile(*spec, *schedule, *target, options);
}

} // namespace

#define TESSERA_EXPORT extern "C" __attribute__((visibility("default")))

TESSERA_EXPORT tessera_compile_code tessera_compile(const tessera_compile_request *request,
                                                    tessera_compiler_blob *result, tessera_compiler_blob *error) {
  auto compiled = compileRequest(request);
  fill(result, compiled ? compiled->bytes : "");
  fill(error, compiled ? compiled->warnings : compiled.status().text());
  return codeOf(compiled.status().code());
}

TESSERA_EXPORT const char *tessera_compiler_build_id(void) { return compilerBuildId().c_str(); }

TESSERA_EXPORT const char *tessera_compiler_assembler(void) {
  static const std::string &name = *new std::string([] {
    const codegen::Assembler &assembler = codegen::Assembler::instance();
    return assembler.available() ? assembler.name() : "none: " + assembler.why();
  }());
  return name.c_str();
}

TESSERA_EXPORT const char *tessera_compiler_assembler_path(void) {
  return codegen::Assembler::instance().path().c_str();
}

TESSERA_EXPORT void tessera_compiler_release(tessera_compiler_blob *blob) {
  if (!blob)
    return;
  std::free(blob->data);
  *blob = {};
}
