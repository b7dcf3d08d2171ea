// Two launches of the kernel on the simulator, and the line through their counts.
#include "autotune/measure/SimulatedWork.h"

#include "autotune/measure/HostInputs.h"
#include "autotune/measure/SimulatorControl.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tessera::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostTiles = 24; ///< KV tiles of a launch, where a wide window asks for many
constexpr double kSectorBytes = 32;
constexpr double kSchedulers = 4; ///< of an SM, in every profile (design: devices.md)

double sum(const Json &counters, std::initializer_list<const char *> names, const char *field) {
  double total = 0;
  for (const char *name : names)
    total += counters.at(name).at(field).get<double>();
  return total;
}

/// Machine instructions by pipe. The simulator prices an instruction of PTX in issue slots, the instructions that an
/// assembler makes of it, and lists them as clocks of the schedulers of an SM that does `share` of all work.
void addInstructions(const Json &counters, Work &work) {
  const double slotsPerClock = kSchedulers / counters.at("busiest_share").get<double>();
  for (const Json &instruction : counters.at("instructions")) {
    const Json &clocks = instruction.at("modelled_clocks");
    const auto issue = clocks.find("issue");
    if (issue == clocks.end())
      continue;
    const double slots = issue->get<double>() * slotsPerClock;
    const std::string_view pipe = instruction.at("pipe").get_ref<const std::string &>();
    std::string_view text = instruction.at("text").get_ref<const std::string &>();
    if (text.starts_with('@'))
      text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    work.instructions += slots;
    if (text.starts_with("shfl"))
      work.shuffle += slots;
    else if (pipe == "fma" || pipe == "fp16")
      work.fma += slots;
    else if (pipe == "alu")
      work.alu += slots;
    else if (pipe == "mufu")
      work.mufu += slots;
  }
}

Result<Work> workFrom(const Json &counters) {
  Work work;
  try {
    work.mmaFlops = counters.at("mma_flops");
    addInstructions(counters, work);
    work.sharedWavefronts =
        sum(counters, {"shared_loads", "shared_stores", "shared_atomics", "ldmatrix", "async_writes"}, "wavefronts");
    work.fillBytes = kSectorBytes * sum(counters, {"global_loads", "async_copies"}, "sectors");
    work.storeBytes = kSectorBytes * sum(counters, {"global_stores"}, "sectors");
    work.localBytes = counters.at("local_bytes");
    const double warps = std::ceil(counters.at("block").at(0).get<double>() / 32);
    work.barriers = counters.at("barrier_waits").get<double>() / warps;
  } catch (const Json::exception &error) {
    return Status(Code::Internal, fmt::format("the simulator's counters are not as expected: {}", error.what()),
                  "use the simulator of this version");
  }
  return work;
}

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

} // namespace

TileCount countTiles(const AttentionSpec &spec, const Problem &problem, const Schedule &schedule) {
  const Task task{spec, problem};
  TileCount count;
  const int64_t tiles = queryTiles(task, schedule);
  for (int64_t tile = 0; tile < tiles; ++tile)
    count.tiles += visitedTiles(task, schedule, tile);
  const int64_t heads = problem.batch * (schedule.packHeads ? problem.kvHeads : problem.heads);
  return {tiles * heads, count.tiles * heads};
}

CountingPlan CountingPlan::of(const Task &task, const Schedule &schedule) {
  const Problem &problem = task.problem;
  const Mask &mask = task.spec.mask;
  const int64_t group = problem.kvHeads ? std::max<int64_t>(1, problem.heads / problem.kvHeads) : 1;
  const int64_t packed = schedule.packHeads ? group : 1, tileQ = schedule.tileQ, tileKv = schedule.tileKv;
  const int64_t wholeTiles = tileQ / std::gcd(tileQ, packed); // the fewest positions that fill query tiles exactly
  const Problem one{1, packed, 1, std::min(problem.seqlenQ, wholeTiles), 0};
  CountingPlan plan{one, one};
  const int64_t tail = problem.seqlenKv % tileKv;
  const int64_t least = schedule.stages + 1; // the pipeline is full
  // Where they can be afforded, so many tiles that the larger launch sees the left edge of the window.
  const int64_t window = mask.left && *mask.left <= kMostTiles * tileKv ? roundUp(*mask.left, tileKv) / tileKv + 2 : 0;
  if (mask.isFull() || mask.align == Align::BottomRight) {
    // The tiles on the diagonal, and so many before them.
    const int64_t diagonal = mask.isFull() ? 0 : roundUp(one.seqlenQ, tileKv);
    plan.few.seqlenKv = diagonal + (window ? 0 : least * tileKv) + tail;
    plan.many.seqlenKv = diagonal + std::max(window, least + 2) * tileKv + tail;
  } else {
    // A diagonal from the top left: only query tiles further down see more keys.
    plan.few.seqlenQ = roundUp(tileKv, wholeTiles);
    plan.many.seqlenQ = 2 * plan.few.seqlenQ;
    Problem past = plan.many;
    past.seqlenQ = past.seqlenKv = std::max(past.seqlenQ, roundUp(window * tileKv, wholeTiles));
    if (countTiles(task.spec, past, schedule).tiles <= 2 * kMostTiles)
      plan.many.seqlenQ = past.seqlenQ;
    plan.few.seqlenKv = plan.many.seqlenKv = plan.many.seqlenQ + tail;
  }
  return plan;
}

std::string CountingPlan::text() const {
  const auto sizes = [](const Problem &problem) {
    return fmt::format("{}/{}x{}x{}", problem.heads, problem.kvHeads, problem.seqlenQ, problem.seqlenKv);
  };
  return sizes(few) + " " + sizes(many);
}

Result<Work> countLaunch(const Kernel &kernel, const Device &simulated, const Problem &problem) {
  const Result<std::optional<SimulatorControl>> control = SimulatorControl::of(simulated);
  if (!control)
    return control.status();
  if (!*control)
    return Status(Code::Unsupported, fmt::format("{} is a GPU, which counts nothing", simulated.name()),
                  "count on a simulated device");
  const ScopedSimulatorOptions options(
      **control, {{"checks", false}, {"races", false}, {"counters", true}, {"print", false}, {"sticky", false}});
  if (!options.status())
    return options.status();
  const Result<LaunchTensors> tensors = LaunchTensors::allocate(simulated, kernel.image(), problem);
  if (!tensors)
    return tensors.status();
  if (Status status = HostInputs::make(kernel.image().spec, problem, /*seed=*/1).upload(*tensors); !status)
    return status;
  if (Status status = tensors->poisonOutputs(); !status)
    return status;
  if (Status status = kernel.launch(tensors->arguments(), nullptr); !status)
    return status;
  if (Status status = simulated.synchronize(); !status)
    return status;
  return workFrom((*control)->counters());
}

Result<BlockWork> simulateWork(const KernelImage &image, const Task &task, const Device &simulated) {
  const Result<Kernel> kernel = Kernel::load(image, simulated);
  if (!kernel)
    return kernel.status();
  const CountingPlan plan = CountingPlan::of(task, image.schedule);
  const Result<Work> few = countLaunch(*kernel, simulated, plan.few), many = countLaunch(*kernel, simulated, plan.many);
  if (!few || !many)
    return !few ? few.status() : many.status();
  // few = B1 F + V1 P, many = B2 F + V2 P.
  const TileCount first = countTiles(image.spec, plan.few, image.schedule),
                  second = countTiles(image.spec, plan.many, image.schedule);
  const double b1 = double(first.blocks), v1 = double(first.tiles), b2 = double(second.blocks),
               v2 = double(second.tiles), determinant = b1 * v2 - b2 * v1;
  BlockWork work;
  work.basis = Basis::Simulated;
  if (determinant == 0) { // a window so narrow that every block visits as many tiles: nothing tells the terms apart
    (v2 > 0 ? work.perTile : work.fixed) = 1 / (v2 > 0 ? v2 : b2) * *many;
    return work;
  }
  work.fixed = v2 / determinant * *few;
  work.fixed += -v1 / determinant * *many;
  work.perTile = -b2 / determinant * *few;
  work.perTile += b1 / determinant * *many;
  return work;
}

} // namespace tessera::tune
