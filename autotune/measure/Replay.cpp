// Stream capture, graph launches and the events around them. The graph entry points are optional: looked up by name.
#include "autotune/measure/Replay.h"

#include "runtime/driver/DriverSymbols.h"

#include <utility>

namespace tessera::tune {
namespace {

struct GraphSymbols {
  decltype(&cuStreamBeginCapture) begin;
  decltype(&cuStreamEndCapture) end;
  decltype(&cuGraphInstantiate) instantiate;
  decltype(&cuGraphLaunch) launch;
  decltype(&cuGraphDestroy) destroy;
  decltype(&cuGraphExecDestroy) destroyExecutable;

  explicit GraphSymbols(const Driver &driver) {
    const auto find = [&](const char *name, auto &entry) {
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(driver.find(name));
    };
    find("cuStreamBeginCapture_v2", begin);
    find("cuStreamEndCapture", end);
    find("cuGraphInstantiateWithFlags", instantiate);
    find("cuGraphLaunch", launch);
    find("cuGraphDestroy", destroy);
    find("cuGraphExecDestroy", destroyExecutable);
  }
  bool complete() const { return begin && end && instantiate && launch && destroy && destroyExecutable; }
};

} // namespace

Result<Replay> Replay::create(const Device &device, std::vector<Launch> launches) {
  Result<Stream> stream = Stream::create(device.context());
  if (!stream)
    return stream.status();
  Result<Event> before = Event::create(device.context()), after = Event::create(device.context());
  if (!before || !after)
    return !before ? before.status() : after.status();
  Replay replay(device, *std::move(stream), *std::move(before), *std::move(after), std::move(launches));
  replay.capture();
  return replay;
}

Replay::Replay(Replay &&other) noexcept
    : device_(std::move(other.device_)), stream_(std::move(other.stream_)), before_(std::move(other.before_)),
      after_(std::move(other.after_)), launches_(std::move(other.launches_)),
      graph_(std::exchange(other.graph_, nullptr)) {}

Replay &Replay::operator=(Replay &&other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  std::swap(before_, other.before_);
  std::swap(after_, other.after_);
  std::swap(launches_, other.launches_);
  std::swap(graph_, other.graph_);
  return *this;
}

Replay::~Replay() {
  if (!graph_)
    return;
  const ScopedContext scope(*device_.context());
  if (scope.status())
    GraphSymbols(device_.context()->driver()).destroyExecutable(graph_);
}

void Replay::capture() {
  const GraphSymbols graphs(device_.context()->driver());
  const ScopedContext scope(*device_.context());
  if (!graphs.complete() || !scope.status())
    return;
  if (graphs.begin(stream_.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS)
    return;
  Status status;
  for (const Launch &launch : launches_)
    if (status = launch(stream_.handle()); !status)
      break;
  CUgraph graph = nullptr;
  const bool captured = graphs.end(stream_.handle(), &graph) == CUDA_SUCCESS && status.ok();
  if (captured && graphs.instantiate(&graph_, graph, 0) != CUDA_SUCCESS)
    graph_ = nullptr;
  if (graph)
    graphs.destroy(graph);
}

Result<double> Replay::run(const std::function<void()> &whileBusy) const {
  if (Status status = before_.record(stream_.handle()); !status)
    return status;
  if (graph_) {
    const ScopedContext scope(*device_.context());
    if (!scope.status())
      return scope.status();
    const Driver &driver = device_.context()->driver();
    if (Status status = driver.check(GraphSymbols(driver).launch(graph_, stream_.handle()),
                                     "launching a graph of {} kernels", launches_.size());
        !status)
      return status;
  } else {
    for (const Launch &launch : launches_)
      if (Status status = launch(stream_.handle()); !status)
        return status;
  }
  if (Status status = after_.record(stream_.handle()); !status)
    return status;
  if (whileBusy)
    whileBusy();
  if (Status status = stream_.synchronize(); !status)
    return status;
  const Result<float> elapsed = before_.millisecondsTo(after_);
  if (!elapsed)
    return elapsed.status();
  return double(*elapsed);
}

} // namespace tessera::tune
