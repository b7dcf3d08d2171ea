// Messages: what the search asks of a worker and what that answers, as frames and back.
#pragma once

#include "autotune/log/Trial.h"
#include "autotune/search/Frame.h"
#include "autotune/search/Workers.h"

namespace tessera::tune {

enum class Service : uint8_t { Begin, Compile, Predict, Measure, Verify };
std::string_view name(Service service); ///< begin, compile, predict, measure, verify

/// A request; which fields have a meaning depends on the service.
struct Request {
  Service service = Service::Begin;
  WorkerOptions options; ///< Begin: device, cache and compilerLibrary
  Candidate candidate;   ///< Compile; of the others the task
  KernelImage image;     ///< Predict, Measure, Verify
  Effort effort;         ///< Measure

  Result<Frame> frame() const;
  static Result<Request> parse(const Frame &frame);
};

/// An answer. Of the fates Done, Refused and Broken; the other ones are found out by the search.
struct Reply {
  Fate fate = Fate::Refused;
  Status status;
  Compiled compiled; ///< Compile
  Trial found; ///< Predict, Measure, Verify: task, schedule and target, and one of after, measurement, verification

  Result<Frame> frame() const;
  static Result<Reply> parse(const Frame &frame);
};

} // namespace tessera::tune
