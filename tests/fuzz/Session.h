// Session: what the calls of one input have made so far, and the arguments that later calls get from it.
#pragma once

#include "runtime/simulator/driver/LegacyEntries.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <vector>

namespace tessera::fuzz {

/// What the contract of an entry point leaves to its caller, who must then be right for once.
enum Care : unsigned {
  CountsHostElements = 1, ///< numbers say how much of a host array is meant: they stay within the arrays
  UnifiedAddresses = 2,   ///< device addresses may be the host's: only such that exist
  FlagsOf64Bits = 4,      ///< what has the type of a device address is a set of flags
  KeepsHostMemory = 8,    ///< work may run later: no host memory that can be freed in between
  IdentifiesHost = 16,    ///< host addresses are looked up, not followed: stale ones too
  RefersToArrays = 32,    ///< what it makes refers to the arrays of the call
};

/// One line of an input: the numbers behind the name of an entry point, drawn from one by one; 0 when all are drawn.
/// Keeps what arguments point at until the call is over.
class Call {
public:
  Call(std::span<const uint8_t> numbers, unsigned care) : care_(care), numbers_(numbers) {}

  uint8_t draw() {
    if (numbers_.empty())
      return 0;
    uint8_t number = numbers_[0];
    numbers_ = numbers_.subspan(1);
    return number;
  }
  bool takes(Care care) const { return care_ & care; }
  /// An array of its own size on the heap, so that the address sanitizer sees what goes beyond.
  template <typename T> T *array(size_t count) {
    auto storage = std::make_shared<std::vector<T>>(count);
    storage_.push_back(storage);
    return storage->data();
  }

  std::vector<std::shared_ptr<void>> takeArrays() { return std::move(storage_); }

  CUresult result = CUDA_SUCCESS; ///< what the entry point said

private:
  unsigned care_;
  std::span<const uint8_t> numbers_;
  std::vector<std::shared_ptr<void>> storage_;
};

/// Elements of every array that arguments point at, and what numbers that count them stay below or at.
constexpr size_t arrayElements = 64;
/// Bytes behind every `void *`.
constexpr size_t hostBytes = 64 << 10;
/// Bytes that copies to and from such memory may be told.
constexpr size_t copyBytes = 4096;

template <typename T>
constexpr bool isHandle =
    std::is_same_v<T, CUcontext> || std::is_same_v<T, CUmodule> || std::is_same_v<T, CUfunction> ||
    std::is_same_v<T, CUlibrary> || std::is_same_v<T, CUkernel> || std::is_same_v<T, CUstream> ||
    std::is_same_v<T, CUevent> || std::is_same_v<T, CUmemoryPool> || std::is_same_v<T, CUlinkState> ||
    std::is_same_v<T, CUuserObject> || std::is_same_v<T, CUgraph> || std::is_same_v<T, CUgraphNode> ||
    std::is_same_v<T, CUgraphExec> || std::is_same_v<T, CUgreenCtx>;

/// The handles and addresses that one input has seen, live and stale. Everything in the process is gone when it ends.
class Session {
public:
  Session();  ///< a context of the first device is current
  ~Session(); ///< destroys what is left through the API; stops the process if something still lives then

  void *handle(Call &call, std::type_index kind);
  template <typename T> T handle(Call &call) { return static_cast<T>(handle(call, typeid(T))); }
  /// Remembers a handle that a call gave.
  void sawHandle(std::type_index kind, void *handle);
  void sawAddress(CUdeviceptr address);
  void sawHost(void *pointer);
  /// For the rest of the input.
  void keepArrays(Call &call);

  /// `exists`: the call may follow it as one of the host.
  CUdeviceptr address(Call &call, bool exists = false);
  void *host(Call &call);
  /// A size, a count or another number.
  uint64_t number(Call &call);

  static const char *text(uint8_t index); ///< names, JSON and paths
  static const void *image(uint8_t index);

private:
  std::map<std::type_index, std::vector<void *>> handles_;
  std::vector<void *> allHandles_;
  std::vector<CUdeviceptr> addresses_;
  std::vector<void *> hosts_;
  std::vector<std::shared_ptr<void>> arrays_;
};

/// Fills the structures that arguments point at; those without an overload keep zeros and one number that is drawn.
void fill(Session &session, Call &call, CUDA_KERNEL_NODE_PARAMS_v1 &value);
void fill(Session &session, Call &call, CUDA_KERNEL_NODE_PARAMS &value);
void fill(Session &session, Call &call, CUDA_MEMCPY2D &value);
void fill(Session &session, Call &call, CUDA_MEMCPY3D &value);
void fill(Session &session, Call &call, CUDA_MEMCPY3D_PEER &value);
void fill(Session &session, Call &call, CUDA_MEMSET_NODE_PARAMS &value);
void fill(Session &session, Call &call, CUDA_HOST_NODE_PARAMS &value);
void fill(Session &session, Call &call, CUgraphNodeParams &value);
void fill(Session &session, Call &call, CUlaunchConfig &value);
void fill(Session &session, Call &call, CUmemPoolProps &value);
void fill(Session &session, Call &call, CUmemAccessDesc &value);
void fill(Session &session, Call &call, CUmemLocation &value);
void fill(Session &session, Call &call, CUmemcpyAttributes &value);
void fill(Session &session, Call &call, CUDA_GRAPH_INSTANTIATE_PARAMS &value);
void fill(Session &session, Call &call, CUctxCreateParams &value);
void fill(Session &session, Call &call, CUlaunchAttributeValue &value);
template <typename T> void fill(Session &session, Call &call, T &value) {
  static_assert(std::is_trivially_copyable_v<T>);
  uint8_t at = call.draw(), byte = call.draw();
  reinterpret_cast<unsigned char *>(&value)[at % sizeof(T)] = byte;
}

/// The arguments of a launch: pointers to 8 bytes each, an address or a number; null when so drawn.
void **kernelParameters(Session &session, Call &call);
/// The other way to hand them over: a buffer with its size.
void **extraParameters(Session &session, Call &call);
/// Extents that are over soon, or refused.
unsigned extent(Call &call);
CUhostFn hostFunction(Call &call);

} // namespace tessera::fuzz
