// cuGetProcAddress: entry points by name, for programs that link no driver library.
#include "runtime/simulator/driver/State.h"

#include <string_view>

using namespace tessera::sim::driver;

// Addresses only: the declarations of cuda.h would rename some of them and know nothing of the others.
#define ENTRY(name, version)                                                                                           \
  extern "C" __attribute__((visibility("default"))) void tessera_entry_##name() __asm__(#name);
#define PER_THREAD(name, suffix, count, version)                                                                       \
  extern "C" __attribute__((visibility("default"))) void tessera_entry_##name##suffix() __asm__(#name #suffix);
#include "runtime/simulator/driver/Entries.def"
#include "runtime/simulator/driver/PerThread.def"
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
#undef PER_THREAD

namespace {

struct Entry {
  std::string_view name;
  void (*address)();
  int version;
};

constexpr Entry Entries[] = {
#define ENTRY(name, version) {#name, &tessera_entry_##name, version},
#define PER_THREAD(name, suffix, count, version) {#name #suffix, &tessera_entry_##name##suffix, version},
#include "runtime/simulator/driver/Entries.def"
#include "runtime/simulator/driver/PerThread.def"
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
#undef PER_THREAD
};

/// The parts of an exported name, such as cuMemcpy2D, _v2 and _ptds.
struct Parts {
  std::string_view base;
  bool perThread;
};

Parts partsOf(std::string_view name) {
  bool perThread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  if (perThread)
    name.remove_suffix(5);
  size_t suffix = name.rfind("_v");
  bool versioned = suffix != std::string_view::npos && suffix + 2 < name.size() &&
                   name.find_first_not_of("0123456789", suffix + 2) == std::string_view::npos;
  return {versioned ? name.substr(0, suffix) : name, perThread};
}

struct Found {
  const Entry *entry = nullptr; ///< the newest that the version may have
  bool newer = false;           ///< there are forms, but only for later versions
};

Found lookUp(std::string_view name, int version, bool perThread) {
  // The header of CUDA 12 gave this name to another function.
  if (name == "cuGraphInstantiate" && version >= 12000)
    name = "cuGraphInstantiateWithFlags";
  Found found;
  for (const Entry &entry : Entries) {
    Parts parts = partsOf(entry.name);
    if (parts.base != name || parts.perThread != perThread)
      continue;
    if (entry.version > version)
      found.newer = true;
    else if (!found.entry || entry.version >= found.entry->version)
      found.entry = &entry;
  }
  return found;
}

CUresult find(const char *symbol, void **address, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult *status) {
  if (!symbol || !address)
    return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~known) || flags == known)
    return CUDA_ERROR_INVALID_VALUE;
  *address = nullptr;
  Found found;
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) || (!flags && perThreadDefault()))
    found = lookUp(symbol, version, true);
  if (!found.entry) // most have no such form
    found = lookUp(symbol, version, false);
  if (!found.entry && !found.newer) // a name with its suffixes stands for itself
    for (const Entry &entry : Entries)
      if (entry.name == symbol)
        found.entry = &entry;
  if (status)
    *status = found.entry   ? CU_GET_PROC_ADDRESS_SUCCESS
              : found.newer ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (!found.entry)
    return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<void *>(found.entry->address);
  return CUDA_SUCCESS;
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
