// PTX to cubin by nvJitLink. Only its documented C entry points are used, declared here by their signatures, so that no
// toolkit header is needed to build.
#include "codegen/ptx/Assembler.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

namespace tessera::codegen {

namespace {
using Handle = void *;
constexpr int inputPtx = 2; // NVJITLINK_INPUT_PTX
} // namespace

// The entry points carry the toolkit's version in their symbol (nvJitLinkCreate is __nvJitLinkCreate_13_0), newest
// first.
struct Assembler::Link {
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorLogSize)(Handle, size_t *) = nullptr;
  int (*errorLog)(Handle, char *) = nullptr;
  int (*infoLogSize)(Handle, size_t *) = nullptr;
  int (*infoLog)(Handle, char *) = nullptr;
  int (*version)(unsigned *, unsigned *) = nullptr;

  template <typename F> static bool resolve(void *library, const char *name, F &out) {
    std::string plain(name);
    std::vector<std::string> spellings{plain};
    for (int minor = 9; minor >= 0; --minor)
      spellings.push_back("__" + plain + "_13_" + std::to_string(minor));
    for (const std::string &spelling : spellings)
      if (void *symbol = dlsym(library, spelling.c_str())) {
        out = reinterpret_cast<F>(symbol);
        return true;
      }
    return false;
  }

  bool open(void *library) {
    return resolve(library, "nvJitLinkCreate", create) && resolve(library, "nvJitLinkDestroy", destroy) &&
           resolve(library, "nvJitLinkAddData", addData) && resolve(library, "nvJitLinkComplete", complete) &&
           resolve(library, "nvJitLinkGetLinkedCubinSize", cubinSize) &&
           resolve(library, "nvJitLinkGetLinkedCubin", cubin) &&
           resolve(library, "nvJitLinkGetErrorLogSize", errorLogSize) &&
           resolve(library, "nvJitLinkGetErrorLog", errorLog) &&
           resolve(library, "nvJitLinkGetInfoLogSize", infoLogSize) &&
           resolve(library, "nvJitLinkGetInfoLog", infoLog) && resolve(library, "nvJitLinkVersion", version);
  }
};

static unsigned firstNumber(const std::string &text, const char *pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? unsigned(std::stoul(match[1])) : 0;
}

const Assembler &Assembler::instance() {
  static const Assembler &assembler = *new Assembler; // for good: a compile may end after exit has begun
  return assembler;
}

Assembler::Assembler() {
  std::vector<std::string> candidates;
  auto folder = [&](const std::string &root) {
    for (const char *sub : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/"})
      candidates.push_back(root + sub + "libnvJitLink.so.13");
  };
  if (const char *path = std::getenv("TESSERA_CUDA_PATH"); path && *path)
    folder(path);
  Dl_info self;
  if (dladdr(reinterpret_cast<const void *>(&firstNumber), &self) && self.dli_fname)
    candidates.push_back((std::filesystem::path(self.dli_fname).parent_path() / "libnvJitLink.so.13").string());
  candidates.push_back("libnvJitLink.so.13");
  for (const std::string &candidate : candidates) {
    void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    auto link = std::make_unique<Link>();
    if (!link->open(library)) {
      why_ = candidate + " lacks entry points of nvJitLink 13";
      continue;
    }
    unsigned major = 0, minor = 0;
    link->version(&major, &minor);
    name_ = "nvJitLink " + std::to_string(major) + "." + std::to_string(minor);
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(link->version), &info) && info.dli_fname)
      path_ = info.dli_fname;
    link_ = link.release(); // lives as long as the process, like the library
    why_.clear();
    return;
  }
  if (why_.empty())
    why_ = "libnvJitLink.so.13 was found neither in TESSERA_CUDA_PATH, nor beside the compiler library, nor on the "
           "loader's path";
}

/// The log without the lines that differ from run to run: the same kernel has the same log.
static std::string withoutTimes(const std::string &log) {
  std::istringstream lines(log);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.find("Compile time") == std::string::npos && !line.empty())
      out += (out.empty() ? "" : "\n") + line;
  return out;
}

Result<Assembly> Assembler::assemble(std::string_view ptx, const Target &target) const {
  if (!link_)
    return Status(Code::CompileError, "no assembler: " + why_,
                  "set TESSERA_CUDA_PATH to a CUDA 13 toolkit or the folder of its wheels");
  std::string arch = "-arch=" + std::string(target.name), text(ptx);
  const char *options[] = {arch.c_str(), "-O3", "-verbose"};
  Handle handle = nullptr;
  if (int code = link_->create(&handle, 3, options))
    return Status(Code::CompileError, "nvJitLink refuses " + arch + " (code " + std::to_string(code) + ")",
                  "use a CUDA toolkit that knows this architecture");
  int code = link_->addData(handle, inputPtx, text.c_str(), text.size() + 1, "kernel.ptx");
  if (!code)
    code = link_->complete(handle);
  Assembly result;
  auto read = [&](auto sizeOf, auto get) {
    size_t size = 0;
    std::string out;
    if (!sizeOf(handle, &size) && size) {
      out.resize(size);
      get(handle, out.data());
    }
    return out;
  };
  result.log = read(link_->infoLogSize, link_->infoLog);
  result.log = withoutTimes(result.log.c_str());
  if (code) {
    std::string error = read(link_->errorLogSize, link_->errorLog);
    link_->destroy(&handle);
    return Status(Code::CompileError,
                  "the assembler refuses the kernel (code " + std::to_string(code) + "): " + error.c_str());
  }
  result.cubin = read(link_->cubinSize, [&](Handle h, char *to) { return link_->cubin(h, to); });
  link_->destroy(&handle);
  result.registers = firstNumber(result.log, "Used ([0-9]+) registers");
  result.spillBytes =
      firstNumber(result.log, "([0-9]+) bytes spill stores") + firstNumber(result.log, "([0-9]+) bytes spill loads");
  return result;
}

} // namespace tessera::codegen
