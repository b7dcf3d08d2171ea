// Reads JIT options, loads PTX under them, and reports the way the driver's assembler does.
#include "runtime/simulator/driver/Jit.h"

#include "runtime/simulator/driver/FatBinary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace tessera::sim::driver {

namespace {

/// Repeats of a warning in one process say nothing new.
void warnOnce(const std::string &warning) {
  static std::mutex mutex;
  static auto *shown = new std::set<std::string>;
  std::lock_guard lock(mutex);
  if (shown->insert(warning).second)
    fmt::print(stderr, "tessera-sim: warning: {}\n", warning);
}

} // namespace

JitOptions::JitOptions(unsigned count, CUjit_option *options, void **values) {
  auto number = [&](unsigned i) { return unsigned(reinterpret_cast<uintptr_t>(values[i])); };
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
    case CU_JIT_INFO_LOG_BUFFER:
      info_.text = static_cast<char *>(values[i]);
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      info_.size = &values[i];
      info_.capacity = number(i);
      break;
    case CU_JIT_ERROR_LOG_BUFFER:
      error_.text = static_cast<char *>(values[i]);
      break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      error_.size = &values[i];
      error_.capacity = number(i);
      break;
    case CU_JIT_WALL_TIME:
      wallTime_ = &values[i];
      break;
    case CU_JIT_MAX_REGISTERS:
      maxRegisters_ = number(i);
      break;
    case CU_JIT_TARGET: {
      unsigned target = number(i);
      constexpr unsigned suffixes = CU_COMPUTE_ACCELERATED_TARGET_BASE | CU_COMPUTE_FAMILY_TARGET_BASE;
      target_ = target & ~suffixes;
      if (target_ < 30 || target_ > 999)
        status_ = CUDA_ERROR_INVALID_VALUE;
      break;
    }
    case CU_JIT_OPTIMIZATION_LEVEL:
      if (number(i) > 4)
        status_ = CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
      status_ = CUDA_ERROR_NOT_SUPPORTED; // addresses of the host for symbols of the PTX
      break;
    default:
      // The others ask for code that runs differently fast, or say more about it; the simulator runs PTX as it stands.
      if (options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
        status_ = CUDA_ERROR_INVALID_VALUE;
      break;
    }
  }
}

void JitOptions::Buffer::write(const std::string &message) {
  size_t written = 0;
  if (text && capacity > 0) {
    written = std::min(message.size(), capacity - 1);
    std::memcpy(text, message.data(), written);
    text[written++] = '\0';
  }
  if (size)
    *size = reinterpret_cast<void *>(uintptr_t(written));
}

void JitOptions::finish(const std::string &info, const std::string &error) {
  info_.write(info);
  error_.write(error);
  if (!wallTime_)
    return;
  float milliseconds = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  *wallTime_ = nullptr;
  std::memcpy(static_cast<void *>(wallTime_), &milliseconds, sizeof(milliseconds));
}

CUresult loadModule(const std::shared_ptr<Context> &context, const void *image, size_t available, JitOptions options,
                    CUmodule *handle) {
  if (!handle || !image)
    return CUDA_ERROR_INVALID_VALUE;
  if (options.status() != CUDA_SUCCESS)
    return options.status();
  if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
    return result;
  const DeviceProfile &profile = context->device.profile;
  std::string ptx, why;
  CUresult result = ptxOfImage(image, available, profile, &ptx, &why);
  if (result == CUDA_SUCCESS && options.target() > profile.major * 10 + profile.minor) {
    result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    why = fmt::format("the target {} of the JIT options is newer than {}", options.target(), profile.architecture);
  }
  if (result != CUDA_SUCCESS) {
    options.finish("", why);
    return result;
  }
  auto loaded = Module::load(ptx, profile, context->device.memory);
  if (!loaded) {
    options.finish("", loaded.status().text());
    return loaded.status().code() == Code::DriverError ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
  }
  auto module = std::make_shared<LoadedModule>();
  module->context = context;
  module->code = std::move(*loaded);
  module->maxRegisters = options.maxRegisters();
  std::string info =
      fmt::format("PTX {}.{} for {} on simulated {}: {} kernels", module->code->ptxMajor(), module->code->ptxMinor(),
                  module->code->target(), profile.name, module->code->kernels().size());
  for (const std::string &warning : module->code->warnings()) {
    info += "\nwarning: " + warning;
    warnOnce(warning);
  }
  options.finish(info, "");
  *handle = state().modules.add(std::move(module));
  return CUDA_SUCCESS;
}

CUresult readImage(const char *path, std::string *content) {
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return CUDA_ERROR_FILE_NOT_FOUND;
  content->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.bad() ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
}

} // namespace tessera::sim::driver
