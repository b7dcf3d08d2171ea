// driver-fuzzer: sequences of calls of the driver API with live, stale, null and garbage arguments. Errors are fine.
//
// An input is text, one call a line: the name of an entry point and up to 64 numbers from 0 to 255, from which its
// arguments are drawn in order (Session.h); what is missing is 0. Lines that are none are skipped, '#' begins a
// comment.
//
//   cuMemAlloc_v2 0 0 0 66       # an array for the address with two elements, then the size: 192 bytes
//   cuMemsetD8_v2 0 7 16         # the newest address; 32..63 would be 8 bytes behind one
//   cuStreamCreate 0 0 0 1
//   cuStreamSynchronize 0        # the newest stream; 255 is null, 254 garbage, 253 any handle of another kind
//
// With TESSERA_FUZZ_TRACE in the environment the calls of an input and their results are printed.
#include "runtime/simulator/driver/SimulatorApi.h"
#include "tests/fuzz/DriverMutator.h"
#include "tests/fuzz/Session.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <unordered_map>

// What cuda.h declares for itself alone, or leaves to another header.
extern "C" {
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice);
CUresult cuCtxCreate_v3(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice);
CUresult cuProfilerInitialize(const char *, const char *, int);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}

namespace tessera::fuzz {

namespace {

/// Calls of one input; more do not make it more interesting, but slower.
constexpr size_t mostCalls = 60;
constexpr size_t mostNumbers = 64;

struct EntryPoint {
  std::string_view name;
  void (*run)(Session &, Call &);
  unsigned care = 0;
};

/// One argument of type T. What a call writes through pointers is taken up by `after`.
template <typename T> struct Argument {
  T value{};
  Argument(Session &session, Call &call) {
    if constexpr (isHandle<T>)
      value = session.handle<T>(call);
    else if constexpr (std::is_same_v<T, CUdeviceptr>)
      value = session.address(call);
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(enumerator(call));
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(session.number(call));
    else if constexpr (std::is_same_v<T, CUhostFn>)
      value = hostFunction(call);
    else if constexpr (std::is_same_v<T, CUstreamCallback>)
      value = call.draw() == 255 ? nullptr : [](CUstream, CUresult, void *) {};
    else if constexpr (std::is_same_v<T, CUoccupancyB2DSize>)
      value = call.draw() % 2 ? [](int threads) { return size_t(threads) * 64; } : CUoccupancyB2DSize(nullptr);
    else
      fill(session, call, value);
  }
  static int enumerator(Call &call) {
    static constexpr int extremes[] = {-1, 0x7fffffff, -0x7fffffff - 1, 10000};
    int choice = call.draw();
    return choice < 240 ? choice : extremes[choice % 4];
  }
  void after(Session &) {}
};

template <> struct Argument<const char *> {
  const char *value;
  Argument(Session &, Call &call) : value(Session::text(call.draw())) {}
  void after(Session &) {}
};
template <> struct Argument<void *> {
  void *value;
  Argument(Session &session, Call &call) : value(session.host(call)) {}
  void after(Session &) {}
};
template <> struct Argument<const void *> {
  const void *value;
  Argument(Session &session, Call &call) : value(session.host(call)) {}
  void after(Session &) {}
};
template <> struct Argument<char *> {
  char *value;
  Argument(Session &, Call &call) : value(call.draw() == 255 ? nullptr : call.array<char>(arrayElements)) {}
  void after(Session &) {}
};
/// Values of options, or room for a pointer.
template <> struct Argument<void **> {
  void **value;
  Argument(Session &session, Call &call) : value(call.draw() == 255 ? nullptr : call.array<void *>(arrayElements)) {
    for (size_t i = 0; value && i < arrayElements; ++i)
      value[i] = before = i ? value[0] : session.host(call);
  }
  void after(Session &session) {
    if (value && *value != before)
      session.sawHost(*value);
  }
  void *before = nullptr;
};
/// Room for a pointer that the call sets.
template <typename T>
  requires(!isHandle<T *>)
struct Argument<T **> {
  T **value;
  Argument(Session &, Call &call) : value(call.draw() == 255 ? nullptr : call.array<T *>(arrayElements)) {}
  void after(Session &) {}
};
/// An array, in or out or both: a few elements that are drawn, over and over.
template <typename T>
  requires(!std::is_function_v<T> && !std::is_pointer_v<T> && !isHandle<T *>)
struct Argument<T *> {
  using Element = std::remove_const_t<T>;
  static constexpr size_t drawn = 2;
  Element *value;
  Argument(Session &session, Call &call) : value(call.draw() == 255 ? nullptr : call.array<Element>(arrayElements)) {
    for (size_t i = 0; value && i < arrayElements; ++i) {
      if (i >= drawn)
        value[i] = value[i - drawn];
      else if constexpr (std::is_floating_point_v<Element>)
        value[i] = 0;
      else if constexpr (std::is_integral_v<Element> && !std::is_same_v<Element, CUdeviceptr>)
        value[i] = static_cast<Element>(call.draw() % (arrayElements + 1)); // may count array elements
      else
        value[i] = Argument<Element>(session, call).value;
    }
  }
  void after(Session &session) {
    for (size_t i = 0; value && i < arrayElements; ++i)
      if constexpr (std::is_same_v<Element, CUdeviceptr>)
        session.sawAddress(value[i]);
  }
};
template <typename T>
  requires(isHandle<T>)
struct Argument<T *> {
  T *value;
  Argument(Session &session, Call &call) : value(call.draw() == 255 ? nullptr : call.array<T>(arrayElements)) {
    for (size_t i = 0; value && i < arrayElements; ++i)
      value[i] = i < 2 ? session.handle<T>(call) : value[i - 2];
  }
  void after(Session &session) {
    for (size_t i = 0; value && i < arrayElements; ++i)
      session.sawHandle(typeid(T), const_cast<void *>(static_cast<const void *>(value[i])));
  }
};
template <typename T>
  requires(isHandle<T>)
struct Argument<const T *> : Argument<T *> {
  using Argument<T *>::Argument;
};

template <typename... Parameters> void invoke(CUresult (*entry)(Parameters...), Session &session, Call &call) {
  // Braces draw in the order of the parameters.
  std::tuple<Argument<Parameters>...> arguments{Argument<Parameters>(session, call)...};
  std::apply([&](auto &...argument) { call.result = entry(argument.value...); }, arguments);
  std::apply([&](auto &...argument) { (argument.after(session), ...); }, arguments);
}

// Entry points whose arguments the types do not tell.

void launch(Session &session, Call &call) {
  auto function = session.handle<CUfunction>(call);
  unsigned gridX = extent(call), blockX = extent(call);
  void **parameters = kernelParameters(session, call);
  auto stream = session.handle<CUstream>(call);
  auto shared = static_cast<unsigned>(session.number(call));
  void **extra = extraParameters(session, call);
  unsigned gridY = extent(call), gridZ = extent(call), blockY = extent(call), blockZ = extent(call);
  call.result =
      cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters, extra);
}
void launchCooperative(Session &session, Call &call) {
  auto function = session.handle<CUfunction>(call);
  unsigned gridX = extent(call), blockX = extent(call);
  void **parameters = kernelParameters(session, call);
  auto stream = session.handle<CUstream>(call);
  call.result = cuLaunchCooperativeKernel(function, gridX, extent(call), 1, blockX, extent(call), 1,
                                          static_cast<unsigned>(session.number(call)), stream, parameters);
}
void launchEx(Session &session, Call &call) {
  auto function = session.handle<CUfunction>(call);
  CUlaunchConfig config = {};
  fill(session, call, config);
  void **parameters = kernelParameters(session, call);
  call.result =
      cuLaunchKernelEx(call.draw() == 255 ? nullptr : &config, function, parameters, extraParameters(session, call));
}

template <CUresult (*Entry)(CUmodule *, const void *)> void loadModule(Session &session, Call &call) {
  CUmodule module = nullptr;
  call.result = Entry(&module, Session::image(call.draw()));
  session.sawHandle(typeid(CUmodule), module);
}
void loadModuleEx(Session &session, Call &call) {
  Argument<CUmodule *> module(session, call);
  const void *image = Session::image(call.draw());
  Argument<unsigned> count(session, call);
  Argument<CUjit_option *> options(session, call);
  Argument<void **> values(session, call);
  call.result = cuModuleLoadDataEx(module.value, image, count.value, options.value, values.value);
  module.after(session);
}
void loadLibrary(Session &session, Call &call) {
  Argument<CUlibrary *> library(session, call);
  const void *image = Session::image(call.draw());
  Argument<unsigned> count(session, call), libraryCount(session, call);
  Argument<CUjit_option *> options(session, call);
  Argument<void **> values(session, call);
  Argument<CUlibraryOption *> libraryOptions(session, call);
  call.result = cuLibraryLoadData(library.value, image, options.value, values.value, count.value, libraryOptions.value,
                                  values.value, libraryCount.value);
  library.after(session);
}
/// The only one that is told the size: all of the image, or a part.
template <CUresult (*Entry)(CUlinkState, CUjitInputType, void *, size_t, const char *, unsigned, CUjit_option *,
                            void **)>
void linkData(Session &session, Call &call) {
  auto state = session.handle<CUlinkState>(call);
  const char *text = static_cast<const char *>(Session::image(call.draw() % 8));
  uint8_t cut = call.draw();
  size_t size = strlen(text) + 1;
  char *copy = call.array<char>(size);
  std::copy_n(text, size, copy);
  Argument<CUjitInputType> type(session, call);
  Argument<unsigned> count(session, call);
  Argument<CUjit_option *> options(session, call);
  Argument<void **> values(session, call);
  call.result = Entry(state, cut & 1 ? type.value : CU_JIT_INPUT_PTX, copy, cut & 2 ? size * cut / 256 : size,
                      Session::text(cut), count.value, options.value, values.value);
}
void linkComplete(Session &session, Call &call) {
  void *image = nullptr;
  size_t size = 0;
  if (cuLinkComplete(session.handle<CUlinkState>(call), &image, &size) != CUDA_SUCCESS || !image)
    return;
  CUmodule module = nullptr;
  call.result = cuModuleLoadData(&module, image);
  session.sawHandle(typeid(CUmodule), module);
}
/// Writes a file, so only where none stays.
void printDot(Session &session, Call &call) {
  static const char *const paths[] = {"/dev/null", "/nonexistent/graph.dot", "", nullptr};
  auto graph = session.handle<CUgraph>(call);
  call.result = cuGraphDebugDotPrint(graph, paths[call.draw() % 4], call.draw() * 257u);
}
/// Memory that is there, for as long as it is registered.
template <CUresult (*Entry)(void *, size_t, unsigned)> void registerHost(Session &session, Call &call) {
  auto *pointer = static_cast<unsigned char *>(session.host(call));
  size_t bytes = session.number(call);
  if (bytes <= copyBytes || bytes > uint64_t(1) << 63)
    call.result = Entry(pointer, bytes, static_cast<unsigned>(session.number(call)));
  session.sawHost(pointer);
}
/// Refused whatever the size is, unless both sides are known to be there.
template <CUresult (*Entry)(CUdeviceptr, const void *, size_t)> void copyToDevice(Session &session, Call &call) {
  CUdeviceptr to = session.address(call);
  const void *from = session.host(call);
  call.result = Entry(to, from, session.number(call));
}
void callSimulator(Session &session, Call &call) {
  int ordinal = 0;
  switch (call.draw() % 6) {
  case 0:
    (void)tessera_sim_find_device(Session::text(call.draw()), &ordinal);
    break;
  case 1: {
    // What could make later inputs slow, or the devices many, is not among the texts.
    const char *options = Session::text(call.draw());
    (void)tessera_sim_configure(options);
    break;
  }
  case 2:
    (void)tessera_sim_options();
    break;
  case 3:
    (void)tessera_sim_report();
    break;
  case 4:
    (void)tessera_sim_counters();
    break;
  default:
    (void)tessera_sim_last_error();
    (void)tessera_sim_profiles();
  }
}

/// What the types do not tell.
const std::unordered_map<std::string_view, void (*)(Session &, Call &)> &special() {
  static const std::unordered_map<std::string_view, void (*)(Session &, Call &)> table = {
      {"cuLaunchKernel", launch},
      {"cuLaunchCooperativeKernel", launchCooperative},
      {"cuLaunchKernelEx", launchEx},
      {"cuModuleLoadData", loadModule<cuModuleLoadData>},
      {"cuModuleLoadFatBinary", loadModule<cuModuleLoadFatBinary>},
      {"cuModuleLoadDataEx", loadModuleEx},
      {"cuLibraryLoadData", loadLibrary},
      {"cuLinkAddData", linkData<cuLinkAddData>},
      {"cuLinkAddData_v2", linkData<cuLinkAddData_v2>},
      {"cuLinkComplete", linkComplete},
      {"cuGraphDebugDotPrint", printDot},
      {"cuMemHostRegister", registerHost<cuMemHostRegister>},
      {"cuMemHostRegister_v2", registerHost<cuMemHostRegister_v2>}};
  return table;
}

const std::unordered_map<std::string_view, unsigned> &cares() {
  static const std::unordered_map<std::string_view, unsigned> table = {
      {"cuMemcpy", CountsHostElements | UnifiedAddresses},
      {"cuMemcpyAsync", CountsHostElements | UnifiedAddresses | KeepsHostMemory},
      {"cuMemcpyPeer", 0},
      {"cuMemcpyBatchAsync", CountsHostElements | UnifiedAddresses | KeepsHostMemory},
      {"cuMemcpyBatchAsync_v2", CountsHostElements | UnifiedAddresses | KeepsHostMemory},
      {"cuGraphInstantiateWithFlags", FlagsOf64Bits},
      {"cuGetProcAddress", FlagsOf64Bits},
      {"cuGetProcAddress_v2", FlagsOf64Bits},
      {"cuMemFreeHost", IdentifiesHost},
      {"cuMemHostUnregister", IdentifiesHost},
      {"cuMemHostGetFlags", IdentifiesHost},
      {"cuMemHostGetDevicePointer_v2", IdentifiesHost},
      {"cuLaunchHostFunc", KeepsHostMemory},
      {"cuUserObjectCreate", KeepsHostMemory},
      {"cuStreamAddCallback", KeepsHostMemory},
      {"cuOccupancyMaxPotentialBlockSize", 0}};
  return table;
}

/// Where numbers are always elements or bytes of what an argument points at.
unsigned careOf(std::string_view name) {
  unsigned care = 0;
  if (auto found = cares().find(name); found != cares().end())
    care |= found->second;
  if (name.starts_with("cuGraph"))
    care |= KeepsHostMemory;
  if (name.starts_with("cuLinkCreate")) // output options
    care |= RefersToArrays;
  for (std::string_view part :
       {"cuCtxCreate", "cuDeviceGetName", "cuDeviceGetPCIBusId", "cuGraphAdd", "Dependenc", "cuGraphInstantiate",
        "cuLibraryEnumerate", "cuLibraryLoad", "cuLink", "cuMemPoolSetAccess", "cuMemRange", "cuModuleEnumerate",
        "cuModuleLoad", "cuPointerGetAttributes", "cuStreamBeginCaptureToGraph"})
    if (name.find(part) != name.npos)
      care |= CountsHostElements;
  return care;
}

std::vector<EntryPoint> makeEntryPoints() {
  std::vector<EntryPoint> table = {
#define ENTRY(name, version) {#name, [](Session &session, Call &call) { invoke(name, session, call); }},
#include "runtime/simulator/driver/Entries.def"
#undef ENTRY
  };
  for (EntryPoint &entry : table) {
    entry.care = careOf(entry.name);
    if (auto found = special().find(entry.name); found != special().end())
      entry.run = found->second;
  }
  table.push_back({"simulator", callSimulator});
  return table;
}

const std::vector<EntryPoint> &entryPoints() {
  static const std::vector<EntryPoint> table = makeEntryPoints();
  return table;
}

const EntryPoint *findEntryPoint(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const EntryPoint *> map;
    for (const EntryPoint &entry : entryPoints())
      map[entry.name] = &entry;
    return map;
  }();
  auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

} // namespace

std::vector<std::string_view> entryPointNames() {
  std::vector<std::string_view> names;
  for (const EntryPoint &entry : entryPoints())
    names.push_back(entry.name);
  return names;
}

} // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace tessera::fuzz;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Session session;
  static const bool traced = std::getenv("TESSERA_FUZZ_TRACE");
  for (size_t calls = 0; calls < mostCalls && !text.empty();) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    size_t end = std::min(line.find(' '), line.size());
    const EntryPoint *entry = findEntryPoint(line.substr(0, end));
    if (!entry)
      continue;
    std::vector<uint8_t> numbers;
    for (size_t at = end; at < line.size() && numbers.size() < mostNumbers;) {
      unsigned value = 0;
      while (at < line.size() && line[at] == ' ')
        ++at;
      if (at == line.size())
        break;
      for (; at < line.size() && line[at] != ' '; ++at)
        value = value * 10 + static_cast<unsigned char>(line[at] - '0');
      numbers.push_back(static_cast<uint8_t>(value));
    }
    Call call(numbers, entry->care);
    if (traced)
      fprintf(stderr, "%.*s", static_cast<int>(line.size()), line.data());
    entry->run(session, call);
    if (call.takes(RefersToArrays))
      session.keepArrays(call);
    if (traced)
      fprintf(stderr, " => %d\n", call.result);
    ++calls;
  }
  return 0;
}
