// How a piece of stream work runs, and what modelled time it takes.
#include "runtime/simulator/driver/Copy.h"
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>

namespace tessera::sim::driver {

namespace {

/// What a piece of work ended with.
struct Performed {
  Outcome outcome;
  double end = 0; ///< at least this, whatever the duration
};

struct Performer {
  Device &device;
  double earliest;

  Performed operator()(EmptyWork &) const { return {}; }
  Performed operator()(KernelWork &work) const { return {runKernel(work, device), 0}; }
  Performed operator()(CopyWork &work) const { return {runCopy(work, device), 0}; }
  Performed operator()(FillWork &work) const { return {runFill(work, device), 0}; }
  Performed operator()(HostWork &work) const {
    HostFunctionScope scope;
    work.function(work.data);
    return {};
  }
  Performed operator()(EventRecordWork &work) const {
    std::lock_guard lock(work.event->mutex);
    work.event->recorded = true;
    work.event->time = earliest;
    work.event->capture.reset();
    return {};
  }
  Performed operator()(EventWaitWork &work) const {
    std::lock_guard lock(work.event->mutex);
    return {{}, work.event->recorded ? work.event->time : 0};
  }
  Performed operator()(ChildWork &work) const { return {{}, perform(*work.executable, earliest)}; }
};

} // namespace

double perform(Work &work, double earliest) {
  Device &device = *work.device;
  std::shared_ptr<Context> context = state().contexts.find(work.context);
  if (!context || context->faulted())
    return earliest; // queued behind the fault, where it never runs
  double start;
  {
    std::lock_guard lock(device.mutex);
    start = std::max(earliest, device.hostTime);
    if (std::holds_alternative<KernelWork>(work.what))
      start = std::max(start, device.busyUntil);
  }
  Performed done = std::visit(Performer{device, start}, work.what);
  context->raise(done.outcome.fault);
  double end = std::max(done.end, start + done.outcome.nanoseconds);
  if (std::holds_alternative<KernelWork>(work.what)) {
    std::lock_guard lock(device.mutex);
    device.busyUntil = std::max(device.busyUntil, end);
  }
  return end;
}

double perform(GraphExec &executable, double earliest) {
  std::lock_guard lock(executable.mutex);
  std::vector<double> ends;
  double last = earliest;
  for (ExecNode &node : executable.nodes) {
    double start = earliest;
    for (size_t dependency : node.dependencies)
      start = std::max(start, ends[dependency]);
    ends.push_back(node.enabled ? perform(node.work, start) : start);
    last = std::max(last, ends.back());
  }
  return last;
}

} // namespace tessera::sim::driver
