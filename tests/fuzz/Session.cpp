// The pools that arguments come from, and the end of an input, which must leave nothing behind.
#include "tests/fuzz/Session.h"

#include "runtime/simulator/driver/SimulatorApi.h"
#include "runtime/simulator/driver/State.h"
#include "tests/unit/driver/Kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tessera::fuzz {

namespace {

using sim::driver::state;

/// Work that was captured may refer to it in a later call.
alignas(4096) unsigned char hostMemory[3][hostBytes];

void stop(const char *what) {
  std::fprintf(stderr, "driver-fuzzer: %s\n", what);
  std::abort();
}

constexpr uint64_t extremes[] = {uint64_t(1) << 40,       uint64_t(1) << 62,     uint64_t(1) << 63,
                                 (uint64_t(1) << 63) - 1, ~uint64_t(0),          ~uint64_t(0) - 7,
                                 ~uint64_t(0) - 4095,     0x8000'0000'0000'1000, ~uint64_t(0) << 32};

template <typename Table> void expectEmpty(const Table &table, const char *what) {
  table.forEach([&](const auto &) { stop(what); });
}

void noFunction(void *) {}
/// Host functions may call nothing of the driver, which must say so.
void callingFunction(void *) {
  if (cuCtxSynchronize() == CUDA_SUCCESS || cuMemFree_v2(0) == CUDA_SUCCESS)
    stop("a host function may call the driver");
}

} // namespace

Session::Session() {
  static const int chosen = setenv("TESSERA_SIM", "a100,rtx4090", 1);
  if (chosen != 0)
    stop("the devices cannot be chosen");
  (void)cuInit(0);
  (void)tessera_sim_reset();
  if (tessera_sim_configure(R"({"print": false, "threads": 1, "instruction_limit": 2000})") != 0)
    stop(tessera_sim_last_error());
  CUcontext context = nullptr;
  if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    stop("there is no context to begin with");
  sawHandle(typeid(CUcontext), context);
}

Session::~Session() {
  // The calls below want a context that works.
  sim::driver::threadCaptureMode() = CU_STREAM_CAPTURE_MODE_RELAXED;
  sim::driver::contextStack().clear();
  (void)tessera_sim_reset();
  CUcontext last = nullptr;
  if (cuDevicePrimaryCtxReset_v2(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&last, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(last) != CUDA_SUCCESS)
    stop("there is no context to end with");
  for (void *handle : handles_[typeid(CUgraphExec)])
    (void)cuGraphExecDestroy(static_cast<CUgraphExec>(handle));
  for (void *handle : handles_[typeid(CUlinkState)])
    (void)cuLinkDestroy(static_cast<CUlinkState>(handle));
  for (void *handle : handles_[typeid(CUlibrary)])
    (void)cuLibraryUnload(static_cast<CUlibrary>(handle));
  for (void *handle : handles_[typeid(CUgraph)])
    (void)cuGraphDestroy(static_cast<CUgraph>(handle));
  for (void *handle : handles_[typeid(CUuserObject)])
    while (cuUserObjectRelease(static_cast<CUuserObject>(handle), 1) == CUDA_SUCCESS) {
    }
  for (void *handle : handles_[typeid(CUmemoryPool)])
    (void)cuMemPoolDestroy(static_cast<CUmemoryPool>(handle));
  std::vector<CUcontext> contexts;
  std::vector<int> ordinals;
  for (int ordinal = 0; sim::driver::findDevice(ordinal); ++ordinal) {
    ordinals.push_back(ordinal);
    (void)cuDevicePrimaryCtxReset_v2(ordinal);
    while (cuDevicePrimaryCtxRelease_v2(ordinal) == CUDA_SUCCESS) {
    }
    (void)cuDevicePrimaryCtxSetFlags_v2(ordinal, 0);
    CUmemoryPool pool = nullptr;
    if (cuDeviceGetDefaultMemPool(&pool, ordinal) == CUDA_SUCCESS)
      (void)cuDeviceSetMemPool(ordinal, pool);
  }
  state().contexts.forEach([&](const auto &context) { contexts.push_back(context->handle); });
  for (CUcontext context : contexts)
    (void)cuCtxDestroy_v2(context);
  sim::driver::contextStack().clear();
  std::vector<std::pair<void *, sim::driver::HostKind>> ranges;
  for (const auto &[begin, range] : state().hostRanges)
    ranges.emplace_back(reinterpret_cast<void *>(begin), range.kind);
  for (auto [begin, kind] : ranges)
    (void)sim::driver::releaseHostRange(begin, kind);
  std::vector<CUdeviceptr> pooled;
  for (const auto &[address, allocation] : state().poolAllocations)
    pooled.push_back(address);
  for (CUdeviceptr address : pooled)
    (void)sim::driver::freeMemory(address);

  expectEmpty(state().contexts, "a context outlives the input");
  expectEmpty(state().modules, "a module outlives its context");
  expectEmpty(state().functions, "a function outlives its context");
  expectEmpty(state().streams, "a stream outlives its context");
  expectEmpty(state().events, "an event outlives its context");
  expectEmpty(state().libraries, "a library outlives cuLibraryUnload");
  expectEmpty(state().kernels, "a kernel outlives its library");
  expectEmpty(state().linkers, "a linker outlives cuLinkDestroy");
  expectEmpty(state().graphExecs, "an executable graph outlives cuGraphExecDestroy");
  if (!state().captures.empty())
    stop("a capture outlives its stream");
  expectEmpty(state().graphs, "a graph outlives cuGraphDestroy");
  expectEmpty(state().graphNodes, "a node outlives its graph");
  for (int ordinal : ordinals)
    if (sim::driver::findDevice(ordinal)->memory.bytesInUse())
      stop("device memory outlives everything that held it");
}

void Session::sawHandle(std::type_index kind, void *handle) {
  // Everything else that an array holds after a call is what was put there.
  if ((reinterpret_cast<uintptr_t>(handle) >> 32) != 0x7e55'e7a0)
    return;
  auto &known = handles_[kind];
  if (std::find(known.begin(), known.end(), handle) != known.end())
    return;
  known.push_back(handle);
  allHandles_.push_back(handle);
}

void Session::sawAddress(CUdeviceptr address) {
  if (sim::driver::isDeviceAddress(address) &&
      std::find(addresses_.begin(), addresses_.end(), address) == addresses_.end())
    addresses_.push_back(address);
}

void Session::sawHost(void *pointer) { hosts_.push_back(pointer); }

void Session::keepArrays(Call &call) {
  for (std::shared_ptr<void> &array : call.takeArrays())
    arrays_.push_back(std::move(array));
}

/// 0 is the last one that was made, 1 the one before; high numbers are mistakes.
void *Session::handle(Call &call, std::type_index kind) {
  uint8_t choice = call.draw();
  const auto &known = handles_[kind];
  switch (choice) {
  case 255:
    return nullptr;
  case 254:
    return reinterpret_cast<void *>(uintptr_t(0x1234'5678'9ab0));
  case 253:
    return allHandles_.empty() ? nullptr : allHandles_[call.draw() % allHandles_.size()];
  case 252:
    return CU_STREAM_PER_THREAD;
  case 251:
    return CU_STREAM_LEGACY;
  default:
    return known.empty() ? nullptr : known[known.size() - 1 - choice % known.size()];
  }
}

CUdeviceptr Session::address(Call &call, bool exists) {
  exists |= call.takes(UnifiedAddresses);
  if (call.takes(FlagsOf64Bits))
    return call.draw();
  uint8_t choice = call.draw();
  if (choice >= 192 && choice < 224 && !call.takes(KeepsHostMemory) && state().captures.empty()) {
    const auto &ranges = state().hostRanges;
    if (!ranges.empty())
      return std::next(ranges.begin(), choice % ranges.size())->first + (choice & 16);
  }
  if (choice >= 224 && !exists) {
    constexpr CUdeviceptr garbage[] = {
        0, 1, 16, 4096, ~CUdeviceptr(0), CUdeviceptr(1) << 63, 0x1234'5678'9abc, 0xffff'ffff'ffff'0000};
    return garbage[choice % std::size(garbage)];
  }
  if (addresses_.empty())
    return exists ? reinterpret_cast<CUdeviceptr>(hostMemory[0]) : 0;
  CUdeviceptr base = addresses_[addresses_.size() - 1 - choice % 32 % addresses_.size()];
  switch (choice / 32) {
  case 1:
    return base + 8;
  case 2:
    return base + 4095;
  case 3:
    return base + (1 << 20);
  case 4:
    return base - 1;
  default:
    return base;
  }
}

void *Session::host(Call &call) {
  uint8_t choice = call.draw();
  if (choice == 255)
    return nullptr;
  if (choice >= 192 && call.takes(IdentifiesHost) && !hosts_.empty())
    return hosts_[choice % hosts_.size()];
  if (choice >= 160 && !call.takes(KeepsHostMemory) && state().captures.empty()) {
    const auto &ranges = state().hostRanges;
    // A whole one, or only what is looked up, since lengths are up to the caller.
    if (!ranges.empty()) {
      auto range = std::next(ranges.begin(), choice % ranges.size());
      if (range->second.bytes >= copyBytes || call.takes(IdentifiesHost))
        return reinterpret_cast<void *>(range->first);
    }
  }
  return hostMemory[choice % std::size(hostMemory)] + (choice & 64);
}

uint64_t Session::number(Call &call) {
  uint8_t choice = call.draw();
  if (choice < arrayElements || call.takes(CountsHostElements))
    return choice % (arrayElements + 1);
  if (choice < 128)
    return (uint64_t(choice) - 63) * 64; // up to 4096
  if (choice < 192)
    return extremes[choice % std::size(extremes)];
  return uint64_t(-int64_t(256 - choice));
}

const char *Session::text(uint8_t index) {
  static const char *const texts[] = {"saxpy",
                                      "copy_word",
                                      "counter",
                                      "store",
                                      "stop",
                                      "nothing",
                                      "bounded",
                                      "exact",
                                      "shared16k",
                                      "",
                                      "missing",
                                      "cuInit",
                                      "cuMemAlloc",
                                      "cuStreamSynchronize",
                                      "/dev/null",
                                      "/nonexistent/a.ptx",
                                      "0000:00:00.0",
                                      "a100",
                                      "h100",
                                      R"({"checks": false})",
                                      R"({"sticky": false})",
                                      R"({"sticky": true, "fail_on_findings": false})",
                                      R"({"schedule": "random", "seed": 3})",
                                      R"({"schedule": "eager", "counters": false})",
                                      R"({"mma": "stress", "max_findings": 1})",
                                      R"({"clock_mhz": -1})",
                                      R"({"unknown": 1})",
                                      R"([1, {)",
                                      "{\"seed\": 1e999}",
                                      "%s%n",
                                      "\xff\xfe"};
  return index == 255 ? nullptr : texts[index % std::size(texts)];
}

const void *Session::image(uint8_t index) {
  // Zeros follow, so that a reader that takes it for what it poses as finds an end.
  struct Binary {
    unsigned char bytes[1024];
  };
  static const Binary elf = {{0x7f, 'E', 'L', 'F', 2, 1, 1}}, fatBinary = {{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0}},
                      wrapper = {{0xb1, 0x43, 0x62, 0x46, 1}}, zeros = {};
  static const void *const images[] = {
      test::Saxpy,
      test::Faults,
      test::CopyWord,
      test::Minimal,
      ".version 8.0\n.target sm_80\n",
      ".version 8.0\n.target sm_99\n",
      "not PTX",
      "",
      &elf,
      &fatBinary,
      &wrapper,
      &zeros,
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .global .u32 elsewhere;\n",
      ".version 8.0\n.target sm_80\n.address_size 64\n.global .b8 big[1000000000];\n"};
  return index == 255 ? nullptr : images[index % std::size(images)];
}

void **kernelParameters(Session &session, Call &call) {
  uint8_t choice = call.draw();
  if (choice >= 254)
    return nullptr;
  auto **pointers = call.array<void *>(arrayElements);
  auto *values = call.array<uint64_t>(arrayElements);
  for (size_t i = 0; i < arrayElements; ++i) {
    if (i < 4)
      values[i] = i < 2 + choice % 2 ? session.address(call) : session.number(call);
    pointers[i] = &values[i];
  }
  return pointers;
}

void **extraParameters(Session &session, Call &call) {
  uint8_t choice = call.draw();
  if (choice < 224) // kernelParams are the usual way
    return nullptr;
  auto **list = call.array<void *>(5);
  auto *size = call.array<size_t>(1);
  auto *buffer = call.array<uint64_t>(arrayElements);
  for (size_t i = 0; i < 4; ++i)
    buffer[i] = session.address(call);
  *size = call.draw() % (arrayElements * 8 + 1);
  void *const whole[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, size,
                         CU_LAUNCH_PARAM_END};
  std::copy(std::begin(whole), std::end(whole), list);
  if (choice % 4 == 1)
    list[choice / 4 % 5] = CU_LAUNCH_PARAM_END; // too early, or in place of a value
  return list;
}

unsigned extent(Call &call) {
  static constexpr unsigned extents[] = {1, 2, 3, 32, 33, 1, 1, 0, ~0u, 0x8000'0000};
  return extents[call.draw() % std::size(extents)];
}

CUhostFn hostFunction(Call &call) {
  uint8_t choice = call.draw();
  return choice == 255 ? nullptr : choice % 2 ? callingFunction : noFunction;
}

} // namespace tessera::fuzz
