// What the fake driver records and what it can be told, as a C struct that the test finds by name.
#pragma once

#include <atomic>
#include <cstdint>

struct FakeDriverState {
  /// Attributes of one device by its ordinal; 0: what Fakes.h says of it. Read when a device is opened.
  struct Device {
    std::atomic<int> major{0}, minor{0}; ///< minor counts where major is told
    std::atomic<int> multiprocessors{0};
    std::atomic<int> sharedBytesPerBlock{0}, sharedBytesPerSm{0};
    std::atomic<int> registersPerBlock{0};
    std::atomic<int> maxThreadsPerBlock{0};
  };

  // Told. A CUresult of 0 lets the call succeed.
  Device devices[5];
  std::atomic<int> driverVersion{13000}; ///< read when the driver is opened while no device of it is
  std::atomic<int> deinitialized{0};     ///< CUDA_ERROR_DEINITIALIZED from every call, as while a process exits
  std::atomic<int> refuseCubins{0};      ///< CUDA_ERROR_NO_BINARY_FOR_GPU for every cubin
  std::atomic<int> failCubins{0};        ///< a CUresult for every cubin
  std::atomic<int> failPtx{0};           ///< a CUresult for all PTX; 222 is CUDA_ERROR_UNSUPPORTED_PTX_VERSION
  std::atomic<int> failLaunches{0};      ///< a CUresult for every launch
  std::atomic<int> failSynchronise{0};   ///< a CUresult for every cuCtxSynchronize
  void (*afterSynchronise)() = nullptr;  ///< called by cuCtxSynchronize once the device is done, before it returns
  std::atomic<int> maxThreads{1024};     ///< that the registers of every kernel leave
  /// The stream being captured; null: none. Until it is null again what may not be called fails with
  /// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and is counted: loads, unloads, allocations, frees, synchronisations.
  std::atomic<void *> capturedStream{nullptr};
  std::atomic<int> captureBlocks{0}; ///< the captured stream waits for the default one: asking that is CAPTURE_IMPLICIT
  int parameterCount = 0;            ///< of the kernel; 0: launches record nothing, so that threads may launch
  unsigned parameterBytes[32] = {};  ///< 4 or 8

  // Recorded.
  std::atomic<int> launches{0};
  std::atomic<int> cubinsLoaded{0};
  std::atomic<int> ptxLoaded{0};
  std::atomic<int> modulesUnloaded{0};
  std::atomic<int> modulesLive{0}, mostModules{0}; ///< loaded and not unloaded; the most there were at once
  std::atomic<int> allocations{0}, frees{0};
  std::atomic<int> synchronisations{0}; ///< cuCtxSynchronize, failed ones too
  std::atomic<int> contextsRetained{0}, contextsReleased{0};
  std::atomic<unsigned> allowedShared{0};
  uint64_t values[32] = {}; ///< of the last launch; the bytes beyond a parameter's size are 0
  unsigned grid[3] = {}, block[3] = {}, shared = 0;
  void *stream = nullptr;
  void *contextAtLaunch = nullptr;

  // Faults, which a test expects to be 0.
  std::atomic<int> callsDuringCapture{0};  ///< refused, see capturedStream
  std::atomic<int> callsAfterFork{0};      ///< in a child of the process that called cuInit
  std::atomic<int> unloadsWhilePending{0}; ///< of a module that was launched since its device was synchronised
  std::atomic<int> unloadsOfNothing{0};    ///< of a handle that no load gave, or twice
  std::atomic<int> usesAfterUnload{0};
  std::atomic<int> foreignContext{0}; ///< a module or kernel used while another device's context, or none, is current
};
