// Finds, opens and calls the compiler library through its C interface.
#include "runtime/engine/CompilerLibrary.h"

#include "runtime/image/CompilerInterface.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <mutex>
#include <vector>

namespace tessera {

struct CompilerLibrary::Symbols {
  decltype(&tessera_compile) compile = nullptr;
  decltype(&tessera_compiler_build_id) buildId = nullptr;
  decltype(&tessera_compiler_assembler) assembler = nullptr;
  decltype(&tessera_compiler_assembler_path) assemblerPath = nullptr;
  decltype(&tessera_compiler_release) release = nullptr;
};

namespace {

constexpr const char *libraryName = "libtessera-compiler.so";

std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> found;
  auto beside = [&](const std::filesystem::path &file) {
    const std::filesystem::path folder = file.parent_path();
    for (const std::filesystem::path &place : {folder / libraryName, folder.parent_path() / "lib" / libraryName})
      if (std::ranges::find(found, place) == found.end())
        found.push_back(place);
  };
  std::error_code ignored;
  Dl_info info;
  if (dladdr(reinterpret_cast<const void *>(&places), &info) && info.dli_fname)
    beside(std::filesystem::absolute(info.dli_fname, ignored));
  beside(std::filesystem::read_symlink("/proc/self/exe", ignored));
  return found;
}

Status absent(std::string why) {
  return {Code::Unsupported, "no compiler: " + std::move(why),
          fmt::format("install {} beside libtessera.so, or set TESSERA_COMPILER_LIBRARY to its path", libraryName)};
}

} // namespace

Result<std::string> CompilerLibrary::locate(const std::string &path) {
  if (!path.empty())
    return path;
  if (const char *named = std::getenv("TESSERA_COMPILER_LIBRARY"); named && *named)
    return std::string(named);
  std::vector<std::string> searched;
  for (const std::filesystem::path &place : places()) {
    std::error_code ignored;
    if (std::filesystem::exists(place, ignored))
      return place.string();
    searched.push_back(place.string());
  }
  return absent(fmt::format("{} was not found (searched {})", libraryName, fmt::join(searched, ", ")));
}

namespace {

/// Another build's library may return what this header does not know.
Code codeOf(int code) {
  switch (code) {
  case TESSERA_COMPILE_OK:
    return Code::Ok;
  case TESSERA_COMPILE_INVALID_ARGUMENT:
    return Code::InvalidArgument;
  case TESSERA_COMPILE_UNSUPPORTED:
    return Code::Unsupported;
  case TESSERA_COMPILE_FILE:
    return Code::File;
  case TESSERA_COMPILE_FAILED:
    return Code::CompileError;
  }
  return Code::Internal;
}

} // namespace

Result<std::shared_ptr<const CompilerLibrary>> CompilerLibrary::open(const std::string &path) {
  // For good: an engine may be used after exit has begun.
  static std::mutex &mutex = *new std::mutex;
  static auto &opened = *new std::map<std::string, std::shared_ptr<const CompilerLibrary>>;
  Result<std::string> found = locate(path);
  if (!found)
    return found.status();
  {
    std::lock_guard lock(mutex);
    if (auto known = opened.find(*found); known != opened.end())
      return known->second;
  }
  // Not under the lock, which a fork in this long moment would leave held in the child; threads that open it at once
  // get the same library of the loader's.
  void *handle = dlopen(found->c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *why = dlerror();
    return absent(fmt::format("{} cannot be opened: {}", *found, why ? why : "no reason given"));
  }
  auto symbols = std::make_shared<Symbols>();
  std::vector<const char *> missing;
  auto resolve = [&](auto &pointer, const char *symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(handle, symbol));
    if (!pointer)
      missing.push_back(symbol);
  };
  resolve(symbols->compile, "tessera_compile");
  resolve(symbols->buildId, "tessera_compiler_build_id");
  resolve(symbols->assembler, "tessera_compiler_assembler");
  resolve(symbols->assemblerPath, "tessera_compiler_assembler_path");
  resolve(symbols->release, "tessera_compiler_release");
  if (!missing.empty())
    return absent(fmt::format("{} lacks {}", *found, fmt::join(missing, ", ")));
  std::shared_ptr<CompilerLibrary> library(new CompilerLibrary);
  library->path_ = *found;
  library->symbols_ = std::move(symbols);
  std::lock_guard lock(mutex);
  return opened.emplace(*found, library).first->second;
}

Result<CompileOutput> CompilerLibrary::compile(const CompileRequest &request) const {
  const std::string spec = request.spec.text(), schedule = request.schedule.text();
  auto optional = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  tessera_compile_request raw = {};
  raw.size = sizeof raw;
  raw.spec = spec.c_str();
  raw.schedule = schedule.c_str();
  raw.target = request.target.c_str();
  raw.emit = optional(request.emit);
  raw.stages_dir = optional(request.stagesDir);
  raw.override_stage = optional(request.overrideStage);
  raw.override_file = optional(request.overrideFile);
  raw.mutate = optional(request.mutate);
  tessera_compiler_blob result = {}, error = {};
  const int code = symbols_->compile(&raw, &result, &error);
  CompileOutput output;
  if (result.data)
    output.bytes.assign(result.data, result.size);
  if (error.data)
    output.warnings.assign(error.data, error.size);
  symbols_->release(&result);
  symbols_->release(&error);
  if (code == TESSERA_COMPILE_OK)
    return output;
  return Status(codeOf(code), output.warnings.empty()
                                  ? fmt::format("the compiler failed with code {} and no message for {}", code, spec)
                                  : std::move(output.warnings));
}

std::string CompilerLibrary::buildId() const { return symbols_->buildId(); }
std::string CompilerLibrary::assembler() const { return symbols_->assembler(); }
std::string CompilerLibrary::assemblerPath() const { return symbols_->assemblerPath(); }

} // namespace tessera
