// cuModule*: PTX into modules, and what is in them.
#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// The log buffers among JIT options; the other options do not change what a simulator does and are accepted as they
/// are.
class JitLogs {
public:
  JitLogs(unsigned count, CUjit_option *options, void **values) {
    for (unsigned i = 0; i < count; ++i) {
      switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.text = static_cast<char *>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        info_.size = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.text = static_cast<char *>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        error_.size = &values[i];
        break;
      default:
        break;
      }
    }
  }
  void write(const std::string &info, const std::string &error) {
    info_.write(info);
    error_.write(error);
  }

private:
  struct Buffer {
    char *text = nullptr;
    void **size = nullptr; // holds the capacity by value; the driver leaves the bytes written there

    void write(const std::string &message) {
      size_t capacity = size ? reinterpret_cast<uintptr_t>(*size) & 0xffffffffu : 0;
      size_t written = 0;
      if (text && capacity > 0) {
        written = std::min(message.size(), capacity - 1);
        std::memcpy(text, message.data(), written);
        text[written++] = '\0';
      }
      if (size)
        *size = reinterpret_cast<void *>(uintptr_t(written));
    }
  };
  Buffer info_, error_;
};

constexpr std::string_view ElfMagic("\x7f"
                                    "ELF",
                                    4);
constexpr std::string_view FatBinaryMagic("\x50\xed\x55\xba", 4);
constexpr std::string_view FatBinaryWrapperMagic("\xb1\x43\x62\x46", 4);

bool beginsWith(const void *image, std::string_view magic) {
  // Byte by byte, since PTX may be shorter than the magic number.
  const char *bytes = static_cast<const char *>(image);
  for (size_t i = 0; i < magic.size(); ++i)
    if (bytes[i] != magic[i])
      return false;
  return true;
}

/// Registers that the assembler would give the kernel: what it needs, or what it promised its launches, whichever is
/// less.
unsigned registersOf(const KernelInfo &info, const DeviceLimits &limits) {
  unsigned allowed = limits.registersPerThread;
  if (info.maxRegisters)
    allowed = std::min(allowed, info.maxRegisters);
  if (info.maxThreads) {
    unsigned threads = (info.maxThreads + 31) / 32 * 32 * std::max(1u, info.minBlocksPerSm);
    allowed = std::min(allowed, limits.registersPerSm / std::max(threads, 32u) / 8 * 8);
  }
  return std::clamp(info.registersPerThread, 1u, std::max(allowed, 1u));
}

CUresult load(CUmodule *handle, const void *image, JitLogs logs) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || !image)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    if (beginsWith(image, ElfMagic) || beginsWith(image, FatBinaryMagic) || beginsWith(image, FatBinaryWrapperMagic)) {
      logs.write("", fmt::format("the simulator runs PTX; this is machine code for {} or another GPU",
                                 context->device.profile.architecture));
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    auto loaded = Module::load(static_cast<const char *>(image), context->device.profile, context->device.memory);
    if (!loaded) {
      logs.write("", loaded.status().text());
      return CUDA_ERROR_INVALID_PTX;
    }
    auto module = std::make_shared<LoadedModule>();
    module->context = context;
    module->code = std::move(*loaded);
    logs.write(fmt::format("PTX {}.{} for {} on simulated {}: {} kernels", module->code->ptxMajor(),
                           module->code->ptxMinor(), module->code->target(), context->device.profile.name,
                           module->code->kernels().size()),
               "");
    *handle = state().modules.add(std::move(module));
    return CUDA_SUCCESS;
  });
}

} // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return load(module, image, JitLogs(0, nullptr, nullptr));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  if (count != 0 && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  return load(module, image, JitLogs(count, options, values));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  return load(module, image, JitLogs(0, nullptr, nullptr));
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!module || !path)
      return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file)
      return CUDA_ERROR_FILE_NOT_FOUND;
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return load(module, content.c_str(), JitLogs(0, nullptr, nullptr));
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    std::shared_ptr<LoadedModule> module = state().modules.remove(handle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    auto functions = state().functions.removeIf([&](const Function &function) { return function.module == module; });
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule moduleHandle, const char *name) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || !name)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<LoadedModule> module = state().modules.find(moduleHandle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    const KernelInfo *info = module->code->findKernel(name);
    if (!info)
      return CUDA_ERROR_NOT_FOUND;
    std::lock_guard lock(module->mutex);
    CUfunction &known = module->functions[name];
    if (!known) {
      const DeviceLimits &limits = context->device.profile.limits;
      auto function = std::make_shared<Function>();
      function->context = module->context;
      function->module = module;
      function->moduleHandle = moduleHandle;
      function->info = info;
      function->registers = registersOf(*info, limits);
      function->maxDynamicShared = std::max(0, int(limits.sharedBytesPerBlockDefault) - int(info->staticSharedBytes));
      known = state().functions.add(std::move(function));
    }
    *handle = known;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module || !count)
      return module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *count = unsigned(module->code->kernels().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module || !functions)
      return module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    const auto &kernels = module->code->kernels();
    for (unsigned i = 0; i < count && i < kernels.size(); ++i)
      if (CUresult result = cuModuleGetFunction(&functions[i], handle, kernels[i].name.c_str()); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<LoadedModule> module = state().modules.find(handle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    const GlobalInfo *global = module->code->findGlobal(name);
    if (!global)
      return CUDA_ERROR_NOT_FOUND;
    if (address)
      *address = global->address;
    if (bytes)
      *bytes = global->size;
    return CUDA_SUCCESS;
  });
}

} // extern "C"
