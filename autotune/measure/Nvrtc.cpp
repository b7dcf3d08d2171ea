// NVRTC by dlopen. Its documented C entry points are declared here by their signatures, so that no toolkit header is
// needed to build.
#include "autotune/measure/Nvrtc.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::tune {
namespace {

using Program = void *;
constexpr const char *kLibrary = "libnvrtc.so.13";

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char *root = std::getenv("TESSERA_CUDA_PATH"); root && *root)
    for (const char *folder : {"lib64", "lib", "targets/x86_64-linux/lib"})
      paths.push_back(fmt::format("{}/{}/{}", root, folder, kLibrary));
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    paths.push_back((program / kLibrary).string());
    paths.push_back((program.parent_path() / "lib" / kLibrary).string());
  }
  paths.push_back(kLibrary);
  return paths;
}

} // namespace

struct Nvrtc::Symbols {
  int (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *) = nullptr;
  int (*destroy)(Program *) = nullptr;
  int (*compile)(Program, int, const char *const *) = nullptr;
  int (*logSize)(Program, size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*ptxSize)(Program, size_t *) = nullptr;
  int (*ptx)(Program, char *) = nullptr;
  int (*cubinSize)(Program, size_t *) = nullptr;
  int (*cubin)(Program, char *) = nullptr;

  bool resolve(void *library) {
    const auto find = [&](const char *name, auto &entry) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
      return entry != nullptr;
    };
    return find("nvrtcCreateProgram", create) && find("nvrtcDestroyProgram", destroy) &&
           find("nvrtcCompileProgram", compile) && find("nvrtcGetProgramLogSize", logSize) &&
           find("nvrtcGetProgramLog", log) && find("nvrtcGetPTXSize", ptxSize) && find("nvrtcGetPTX", ptx) &&
           find("nvrtcGetCUBINSize", cubinSize) && find("nvrtcGetCUBIN", cubin);
  }
};

Result<const Nvrtc *> Nvrtc::open() {
  static const Result<const Nvrtc *> opened = []() -> Result<const Nvrtc *> {
    static Symbols symbols;
    const std::vector<std::string> paths = candidates();
    for (const std::string &path : paths) {
      // NVRTC looks for its own parts beside itself, not beside a link to it.
      std::error_code error;
      const bool byName = path.find('/') == std::string::npos;
      const std::filesystem::path real = byName ? std::filesystem::path(path) : std::filesystem::canonical(path, error);
      void *library = error ? nullptr : dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!library || !symbols.resolve(library))
        continue;
      auto *nvrtc = new Nvrtc; // for good, like the library
      nvrtc->path_ = real.string();
      nvrtc->symbols_ = &symbols;
      return nvrtc;
    }
    return Status(Code::Unsupported, fmt::format("no NVRTC: tried {}", fmt::join(paths, ", ")),
                  "set TESSERA_CUDA_PATH to a CUDA 13 toolkit or the folder of its wheels");
  }();
  return opened;
}

Result<std::string> Nvrtc::compile(const std::string &source, const std::vector<std::string> &options,
                                   const Device &device) const {
  const Target &target = device.target();
  const bool ptx = !device.runsCubins();
  const std::string architecture =
      fmt::format("--gpu-architecture={}_{}{}", ptx ? "compute" : "sm", target.major, target.minor);
  std::vector<const char *> all{architecture.c_str(), "--std=c++17"};
  for (const std::string &option : options)
    all.push_back(option.c_str());
  Program program = nullptr;
  if (int code = symbols_->create(&program, source.c_str(), "source.cu", 0, nullptr, nullptr))
    return Status(Code::CompileError, fmt::format("NVRTC takes no program (code {})", code));
  const auto read = [&](auto sizeOf, auto get) {
    size_t bytes = 0;
    std::string text;
    if (sizeOf(program, &bytes) == 0 && bytes) {
      text.resize(bytes);
      if (get(program, text.data()) != 0)
        text.clear();
    }
    return text;
  };
  const int code = symbols_->compile(program, int(all.size()), all.data());
  std::string result = code  ? read(symbols_->logSize, symbols_->log)
                       : ptx ? read(symbols_->ptxSize, symbols_->ptx)
                             : read(symbols_->cubinSize, symbols_->cubin);
  symbols_->destroy(&program);
  if (code)
    return Status(Code::CompileError,
                  fmt::format("NVRTC refuses the kernel with {} (code {}): {}", architecture, code, result.c_str()));
  if (result.empty())
    return Status(Code::CompileError, fmt::format("NVRTC gave no code for {}", architecture));
  if (ptx)
    result.resize(result.find_last_not_of('\0') + 1); // NVRTC counts the NUL
  return result;
}

} // namespace tessera::tune
