// cuGetProcAddress: entry points by name, for programs that link no driver library.
#include "runtime/simulator/driver/State.h"

#include <cstring>
#include <string_view>

using namespace tessera::sim::driver;

// Addresses only: the declarations of cuda.h would rename some of them and know nothing of the others.
#define ENTRY(name) extern "C" __attribute__((visibility("default"))) void tessera_entry_##name() __asm__(#name);
#include "runtime/simulator/driver/Entries.def"
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY

namespace {

struct Entry {
  std::string_view name;
  void (*address)();
};

constexpr Entry Implemented[] = {
#define ENTRY(name) {#name, &tessera_entry_##name},
#include "runtime/simulator/driver/Entries.def"
};
constexpr Entry NotSupported[] = {
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
};

std::string_view withoutVersion(std::string_view name) {
  size_t suffix = name.rfind("_v");
  bool versioned = suffix != std::string_view::npos && suffix + 2 < name.size() &&
                   name.find_first_not_of("0123456789", suffix + 2) == std::string_view::npos;
  return versioned ? name.substr(0, suffix) : name;
}

/// The newest form of a name that a program built for `version` can call.
void (*lookup(std::string_view name, int version))() {
  // The one name here whose forms differ in signature: with an array of parameters from 12.5 on.
  if (name == "cuCtxCreate" && version < 12050)
    name = "cuCtxCreate_v2";
  if (name == "cuGetProcAddress" && version < 12000)
    return &tessera_entry_cuGetProcAddress;
  void (*best)() = nullptr;
  for (const Entry &entry : Implemented)
    if (entry.name == name || withoutVersion(entry.name) == name)
      best = entry.address; // sorted, so the newest form comes last
  for (const Entry &entry : NotSupported)
    if (!best && (entry.name == name || withoutVersion(entry.name) == name))
      best = entry.address;
  return best;
}

CUresult find(const char *symbol, void **address, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult *status) {
  if (!symbol || !address)
    return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (flags & ~known)
    return CUDA_ERROR_INVALID_VALUE;
  void (*found)() = lookup(symbol, version);
  *address = reinterpret_cast<void *>(found);
  if (status)
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

} // namespace

#undef cuGetProcAddress

extern "C" {

CUresult cuGetProcAddress_v2(const char *symbol, void **address, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
  return guarded([&] { return find(symbol, address, version, flags, status); });
}

__attribute__((visibility("default"))) CUresult cuGetProcAddress(const char *symbol, void **address, int version,
                                                                 cuuint64_t flags) {
  return guarded([&] { return find(symbol, address, version, flags, nullptr); });
}

} // extern "C"
