// Opens a driver library, resolves its entry points and turns its result codes into Status.
#include "runtime/driver/Driver.h"

#include "runtime/driver/DriverSymbols.h"
#include "runtime/driver/Process.h"

#include <dlfcn.h>

#include <atomic>
#include <vector>

namespace tessera {

namespace {

/// A library that some process up the line of forks has opened. Never destroyed, and listed by one atomic pointer, so
/// that a child can read what its parent was adding when it forked.
struct OpenedLibrary {
  const std::string name;
  const detail::Process *const process;
  OpenedLibrary *const next;
  std::atomic<bool> touched{false};   ///< initialised, or about to be
  std::weak_ptr<const Driver> driver; ///< guarded by process->opening
};
constinit std::atomic<OpenedLibrary *> openedLibraries{nullptr};

/// The entry of a library in this process, or of the ancestor that has touched it. Wants process.opening held.
OpenedLibrary &findLibrary(const std::string &name, const detail::Process &process) {
  for (OpenedLibrary *entry = openedLibraries; entry; entry = entry->next)
    if (entry->name == name && (entry->process == &process || entry->touched))
      return *entry;
  auto *entry = new OpenedLibrary{name, &process, openedLibraries, false, {}};
  openedLibraries = entry;
  return *entry;
}

Status usedAfterFork(const std::string &library) {
  return Status(
      Code::DriverError,
      fmt::format("CUDA cannot be used after fork(): the driver was initialised in the parent process ({})", library),
      "open devices in the child only, or start it with exec or spawn");
}

} // namespace

Driver::Driver(const detail::Process &process) : process_(&process), symbols_(std::make_unique<DriverSymbols>()) {}
Driver::~Driver() = default;

void *Driver::find(const char *symbol) const { return dlsym(handle_, symbol); }

bool Driver::inherited() const { return process_ != &detail::thisProcess(); }

Status Driver::usable() const { return inherited() ? usedAfterFork(library_) : Status(); }

Result<std::shared_ptr<const Driver>> Driver::open(const std::string &library) {
  if (!detail::noticesForks())
    return Status(Code::Internal, fmt::format("opening {}: the C library refused a handler of fork()", library));
  detail::Process &process = detail::thisProcess();
  std::lock_guard lock(process.opening);
  OpenedLibrary &entry = findLibrary(library, process);
  if (entry.process != &process)
    return usedAfterFork(library);
  if (std::shared_ptr<const Driver> driver = entry.driver.lock())
    return driver;

  // A child that is forked from here on must not enter the library either, be it half loaded or half initialised.
  entry.touched = true;
  Result<std::shared_ptr<const Driver>> driver = initialise(library, process);
  if (driver)
    entry.driver = *driver;
  else
    entry.touched = false;
  return driver;
}

Result<std::shared_ptr<const Driver>> Driver::initialise(const std::string &library, const detail::Process &process) {
  std::shared_ptr<Driver> driver(new Driver(process));
  driver->library_ = library;
  driver->handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!driver->handle_) {
    const char *why = dlerror();
    return Status(Code::NoDevice,
                  fmt::format("no CUDA driver: {} not found ({})", library, why ? why : "no reason given"));
  }

  DriverSymbols &symbols = *driver->symbols_;
  std::vector<const char *> missing;
#define TESSERA_RESOLVE(member, exported)                                                                              \
  symbols.member = reinterpret_cast<decltype(symbols.member)>(driver->find(exported));                                 \
  if (!symbols.member)                                                                                                 \
    missing.push_back(exported);
  TESSERA_DRIVER_SYMBOLS(TESSERA_RESOLVE)
#undef TESSERA_RESOLVE
#define TESSERA_RESOLVE(member, exported)                                                                              \
  symbols.member = reinterpret_cast<decltype(symbols.member)>(driver->find(exported));
  TESSERA_DRIVER_OPTIONAL_SYMBOLS(TESSERA_RESOLVE)
#undef TESSERA_RESOLVE
  if (!missing.empty())
    return Status(Code::DriverError,
                  fmt::format("{} lacks {} entry points of the CUDA driver API: {}", library, missing.size(),
                              fmt::join(missing, ", ")),
                  "install a driver for CUDA 12.0 or newer");

  int initialised = symbols.cuInit(0);
  // The answer to a child whose parent initialised the driver without us.
  if (initialised == CUDA_ERROR_NOT_INITIALIZED)
    return usedAfterFork(library);
  if (initialised == CUDA_ERROR_NO_DEVICE)
    return Status(Code::NoDevice, fmt::format("{} finds no GPU: {}", library, driver->describe(initialised)));
  if (Status status = driver->check(initialised, "initialising {} (cuInit)", library); !status)
    return status;
  if (Status status =
          driver->check(symbols.cuDriverGetVersion(&driver->version_), "asking {} for its version", library);
      !status)
    return status;
  driver->simulated_ = driver->find("tessera_sim_configure") != nullptr;
  return std::shared_ptr<const Driver>(driver);
}

std::string Driver::describe(int result) const {
  const char *name = nullptr, *text = nullptr;
  if (symbols_->cuGetErrorName(CUresult(result), &name) != CUDA_SUCCESS || !name)
    name = "unknown CUresult";
  if (symbols_->cuGetErrorString(CUresult(result), &text) != CUDA_SUCCESS || !text)
    text = "the driver gives no text";
  return fmt::format("{} ({}): {}", name, result, text);
}

Status Driver::failure(int result, std::string doing) const {
  Code code = Code::DriverError;
  std::string hint;
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    hint = "the device has no memory left for this; free buffers or use a smaller problem";
    break;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    hint = "this code was assembled for another GPU; PTX runs on all newer ones";
    break;
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    hint = "the PTX is newer than the driver; update the driver";
    break;
  case CUDA_ERROR_DEINITIALIZED:
    hint = "the driver has shut down because the process is exiting";
    break;
  case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
  case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    hint = "a graph capture is under way: prepare kernels and allocate before it begins; a launch of a prepared kernel "
           "is allowed";
    break;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    hint = simulated_ ? "the simulator printed its report on stderr"
                      : "run the same problem on \"sim:NAME\" to see which instruction it was";
    break;
  default:
    break;
  }
  return Status(code, fmt::format("{}: {}", doing, describe(result)), std::move(hint));
}

} // namespace tessera
