// Driver: one opened library that speaks the CUDA driver API, the real one or the simulator.
#pragma once

#include "runtime/spec/Result.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

namespace tessera {

struct DriverSymbols;
namespace detail {
struct Process;
}

/// An initialised driver library. Immutable after opening, therefore thread-safe; shared by everything made from it.
/// The library stays in the process for good, because a CUDA driver does not survive being unloaded.
class Driver {
public:
  /// Opens a library by path or by the loader's name, resolves the table of DriverSymbols.h and calls cuInit. The same
  /// library gives the same Driver while one is alive. NoDevice: not found, or cuInit finds no GPU; DriverError: it
  /// lacks entry points (named in the message), cuInit fails, or this process is the child of one that had opened it.
  static Result<std::shared_ptr<const Driver>> open(const std::string &library);

  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  const DriverSymbols &symbols() const { return *symbols_; }
  /// As opened.
  const std::string &library() const { return library_; }
  /// CUDA version that the driver supports, 1000 * major + 10 * minor.
  int version() const { return version_; }
  /// Times and results come from the CPU; whoever prints a time says "modelled".
  bool simulated() const { return simulated_; }

  /// Whether this process was forked from the one that opened the driver. A CUDA driver does not survive that: nothing
  /// may be called then, and nothing is given back to it.
  bool inherited() const;
  /// The failure of everything that would call an inherited driver; ok for one of this process.
  Status usable() const;

  /// A symbol outside of the table, or null; the simulator's private entry points are found this way.
  void *find(const char *symbol) const;

  /// Ok for CUDA_SUCCESS; otherwise "<doing>: CUDA_ERROR_X (code): text", where `doing` is formatted only on failure.
  template <typename... Args> Status check(int result, fmt::format_string<Args...> doing, Args &&...args) const {
    if (result == 0) [[likely]]
      return {};
    return failure(result, fmt::format(doing, std::forward<Args>(args)...));
  }
  /// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
  std::string describe(int result) const;

private:
  explicit Driver(const detail::Process &process);
  static Result<std::shared_ptr<const Driver>> initialise(const std::string &library, const detail::Process &process);
  Status failure(int result, std::string doing) const;

  std::string library_;
  const detail::Process *process_; // that opened it
  void *handle_ = nullptr;         // dlopen's; never closed, see above
  std::unique_ptr<DriverSymbols> symbols_;
  int version_ = 0;
  bool simulated_ = false;
};

/// One GPU of a driver.
struct DriverDevice {
  std::shared_ptr<const Driver> driver;
  int ordinal;
};

/// Opens the driver that a device name asks for: "cuda:N" the Nth GPU of libcuda.so.1 ("cuda" is "cuda:0"), "sim:NAME"
/// the simulator posing as that GPU. The simulator is $TESSERA_SIM_LIBRARY, else libtessera-sim.so beside the library
/// that holds this function, else beside the program's, else in ../lib of it. InvalidArgument: not such a name;
/// NoDevice: no driver, or no such GPU.
Result<DriverDevice> openDriver(std::string_view deviceName);

} // namespace tessera
