// simulator-nvrtc: one CUDA source to PTX by NVRTC, opened at run time, as a step of the build.
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Program = void *;

template <class Signature> Signature *entry(void *library, const char *name) {
  return reinterpret_cast<Signature *>(dlsym(library, name));
}

int fail(const std::string &what) {
  std::fprintf(stderr, "simulator-nvrtc: %s\n", what.c_str());
  return 1;
}

} // namespace

int main(int count, char **arguments) {
  if (count < 4)
    return fail("usage: simulator-nvrtc LIBRARY SOURCE PTX [OPTION...]");
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library)
    return fail(dlerror());
  auto create = entry<int(Program *, const char *, const char *, int, const char *const *, const char *const *)>(
      library, "nvrtcCreateProgram");
  auto compile = entry<int(Program, int, const char *const *)>(library, "nvrtcCompileProgram");
  auto logSize = entry<int(Program, size_t *)>(library, "nvrtcGetProgramLogSize");
  auto log = entry<int(Program, char *)>(library, "nvrtcGetProgramLog");
  auto ptxSize = entry<int(Program, size_t *)>(library, "nvrtcGetPTXSize");
  auto ptx = entry<int(Program, char *)>(library, "nvrtcGetPTX");
  if (!create || !compile || !logSize || !log || !ptxSize || !ptx)
    return fail(std::string(arguments[1]) + " is not NVRTC");

  std::ifstream in(arguments[2]);
  if (!in)
    return fail(std::string("cannot read ") + arguments[2]);
  std::stringstream source;
  source << in.rdbuf();
  Program program = nullptr;
  if (int code = create(&program, source.str().c_str(), arguments[2], 0, nullptr, nullptr))
    return fail("nvrtcCreateProgram gave " + std::to_string(code));
  std::vector<const char *> options(arguments + 4, arguments + count);
  size_t bytes = 0;
  if (compile(program, static_cast<int>(options.size()), options.data())) {
    logSize(program, &bytes);
    std::string text(bytes, 0);
    log(program, text.data());
    return fail(text);
  }
  if (ptxSize(program, &bytes) || bytes == 0)
    return fail("no PTX came back");
  std::string text(bytes, 0);
  ptx(program, text.data());
  text.pop_back(); // the NUL that NVRTC counts
  std::ofstream out(arguments[3]);
  out << text;
  return out.flush() ? 0 : fail(std::string("cannot write ") + arguments[3]);
}
