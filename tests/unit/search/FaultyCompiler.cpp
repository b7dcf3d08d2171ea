// A compiler library that misbehaves for the schedules that $FAULTY_SCHEDULES names: lines of a fault and a text.
#include "tests/unit/StubImage.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace tessera;

namespace {

constexpr const char *kBuild = "faulty build", *kAssembler = "faulty 1.0";

/// The fault of this schedule; empty: none. A fault with "-times" happens as often as the file $FAULTY_TIMES has bytes.
std::string faultOf(const std::string &schedule) {
  const char *lines = std::getenv("FAULTY_SCHEDULES");
  std::istringstream in(lines ? lines : "");
  for (std::string fault, text; in >> fault >> text;)
    if (text == schedule) {
      if (!fault.ends_with("-times"))
        return fault;
      const char *file = std::getenv("FAULTY_TIMES");
      const auto left = std::filesystem::file_size(file);
      if (left == 0)
        return {};
      std::filesystem::resize_file(file, left - 1);
      return fault.substr(0, fault.rfind('-'));
    }
  return {};
}

KernelImage imageFor(const tessera_compile_request &request, bool spills) {
  KernelImage image = stubImage(request, kBuild, kAssembler);
  image.ptx = ".version 8.0\n.target sm_80\n";
  image.registers = 200;
  image.spillBytes = spills ? 16 : 0;
  const std::string text = request.schedule;
  image.cubin.assign(text.begin(), text.end());
  image.toolVersions["assembler"] = kAssembler;
  return image;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT tessera_compile_code tessera_compile(const tessera_compile_request *request, tessera_compiler_blob *result,
                                            tessera_compiler_blob *error) {
  *result = *error = {};
  const std::string fault = faultOf(request->schedule);
  if (const char *delay = std::getenv("FAULTY_DELAY_MS"))
    usleep(useconds_t(1000 * std::atoi(delay)));
  if (fault == "hang")
    for (;;)
      pause();
  if (fault == "kill")
    raise(SIGKILL);
  if (fault == "limit") // of processor time
    raise(SIGXCPU);
  if (fault == "exit")
    std::exit(0);
  if (fault == "garbage") { // past the redirection, as a library that kept a copy of the descriptor might
    for (int fd = 3; fd < 16; ++fd)
      (void)!write(fd, "garbage", 7);
    pause();
  }
  if (fault == "print") {
    std::printf("a library that prints on standard output\n");
    std::fflush(stdout);
    (void)!write(STDOUT_FILENO, "and without buffer\n", 19);
  }
  if (fault.starts_with("flood"))
    for (int i = 0; i < 20000; ++i)
      std::fprintf(stderr, "note %d: a compiler that has much to say on standard error\n", i);
  if (fault.ends_with("abort")) {
    std::fprintf(stderr, "warning: something harmless\nLLVM ERROR: Cannot select: t7: f32 = fexp2\nPLEASE submit\n");
    std::abort();
  }
  if (fault == "slow")
    usleep(1500 * 1000);
  if (fault == "spin")
    for (volatile uint64_t turns = 0;;)
      turns = turns + 1;
  if (fault == "refuse") {
    *error = blobOf("refused by the faulty compiler");
    return TESSERA_COMPILE_FAILED;
  }
  if (fault == "full") {
    *error = blobOf("cannot write /tmp/x.o: No space left on device");
    return TESSERA_COMPILE_FILE;
  }
  *result = blobOf(*imageFor(*request, fault == "spill").serialize());
  return TESSERA_COMPILE_OK;
}

EXPORT const char *tessera_compiler_build_id() { return kBuild; }
EXPORT const char *tessera_compiler_assembler() { return kAssembler; }
EXPORT const char *tessera_compiler_assembler_path() { return ""; }
EXPORT void tessera_compiler_release(tessera_compiler_blob *blob) { releaseBlob(blob); }
