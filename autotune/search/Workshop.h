// Workshop: what a search asks of the world; child processes in production (Workers.h), plain functions in tests.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/model/Model.h"
#include "runtime/image/KernelImage.h"

#include <functional>
#include <span>
#include <string>

namespace tessera::tune {

struct Candidate {
  Task task;
  Schedule schedule;
  std::string target;
};

/// How a request ended.
enum class Fate : uint8_t {
  Done,
  Refused,   ///< an error of the compiler or the device, with the process in good health
  Crashed,   ///< the process ended in the middle of it
  Killed,    ///< the process was ended from outside, and again when it was asked once more: no verdict on the request
  TimedOut,  ///< killed, since it took too long
  Cancelled, ///< the search was stopped before it ended
  Broken,    ///< the workshop cannot work, whatever it is asked: no process can be started, no device opened
};

template <typename T> struct Answered {
  Fate fate = Fate::Refused;
  Status status; ///< why not
  T value{};
};

struct Compiled {
  KernelImage image;
  double milliseconds = 0;
  bool fromCache = false;
};

/// A kernel and what it is to be judged on. The image is not owned and outlives the call.
struct Job {
  const KernelImage *image = nullptr;
  Task task;
};

/// Whether to give up; asked every tenth of a second or so.
using Stopped = std::function<bool()>;
/// Called on the calling thread in the order in which requests end, once for each: index, answer.
template <typename T> using Done = std::function<void(size_t, Answered<T>)>;

/// Calls block until every request has ended. Once `stopped` says so, what runs is killed and the rest Cancelled. Not
/// thread-safe.
class Workshop {
public:
  virtual ~Workshop() = default;

  /// How many requests are worked on at once.
  virtual unsigned width() const = 0;

  virtual void compile(std::span<const Candidate> candidates, const Done<Compiled> &done, const Stopped &stopped) = 0;
  /// The three of Rig. On a GPU one after the other in the order given, on a simulated device side by side.
  virtual void predictCompiled(std::span<const Job> jobs, const Done<Prediction> &done, const Stopped &stopped) = 0;
  virtual void measure(std::span<const Job> jobs, const Effort &effort, const Done<Measurement> &done,
                       const Stopped &stopped) = 0;
  virtual void verify(std::span<const Job> jobs, const Done<Verification> &done, const Stopped &stopped) = 0;
};

} // namespace tessera::tune
