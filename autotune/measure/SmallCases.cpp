// The small launches that every candidate is checked with.
#include "autotune/measure/Verify.h"

#include "autotune/measure/CheckedLaunch.h"
#include "autotune/measure/HostInputs.h"
#include "autotune/measure/Verdict.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::tune {
namespace {

constexpr int64_t kMostSteps = 600;     ///< KV tiles that the case with the far edge of a window may visit
constexpr int64_t kKvHeads = 2;         ///< more than one, so that a wrong stride between them shows
constexpr double kSteepGrowth = 9;      ///< above the usual threshold of the lazy rescale, 8
constexpr double kOverflowGrowth = 150; ///< above what an anchored f32 sum can hold, 2^128

} // namespace

std::vector<SmallCase> smallCases(const Task &task, const Schedule &schedule, int64_t residentBlocks) {
  const Problem &given = task.problem;
  const Mask &mask = task.spec.mask;
  const int64_t group = given.kvHeads ? std::max<int64_t>(1, given.heads / given.kvHeads) : 1;
  const int64_t rows = std::max<int64_t>(1, schedule.tileQ / (schedule.packHeads ? group : 1)); // positions of a tile
  const int64_t keys = schedule.tileKv;
  const int64_t pairs = schedule.packHeads ? 1 : group; // with tiles of their own, of a KV head and batch element
  const auto sizes = [&](int64_t batch, int64_t kv, int64_t queries, int64_t length) {
    return Problem{batch, kv * group, kv, queries, length};
  };
  std::vector<SmallCase> cases{
      {sizes(1, kKvHeads, rows + 5, 2 * keys + 13)},          // tails of both, more than one tile of both
      {sizes(1, kKvHeads, 1, 3 * keys + 1)},                  // one query
      {sizes(1, 1, rows, 2 * keys)},                          // whole tiles
      {sizes(1, 1, rows + keys + 3, std::max(keys / 2, 1L))}, // more queries than keys: rows that see nothing
      {sizes(1, 1, 3, 0)},                                    // no keys
      {sizes(2, 1, rows + 1, 3 * keys + 7), kSteepGrowth},    // the reference must move at every tile
  };
  if (schedule.rescale == Rescale::Anchored)
    cases.push_back({sizes(2, 1, 17, 3 * keys), kOverflowGrowth}); // rescues
  if (schedule.headGroup > 1) // a full head group and one more: not full, unless the ratio of heads makes all full
    cases.push_back({sizes(schedule.headGroup / pairs + 1, 1, rows + 5, rows / 2 + 5)});
  if (schedule.persistent && residentBlocks > 0) // blocks that take a second tile
    cases.push_back({sizes(residentBlocks / pairs + 2, 1, 3, keys + 3)});
  if (mask.left) { // rows whose window begins behind the first tiles
    const bool topLeft = mask.align == Align::TopLeft;
    const int64_t width = std::min(*mask.left, kMostSteps * keys), length = width + 2 * keys + rows + 3,
                  queries = topLeft ? length : rows + 5;
    if ((queries + rows - 1) / rows * ((width + rows) / keys + 2) <= kMostSteps)
      cases.push_back({sizes(1, 1, queries, length)});
  }
  return cases;
}

namespace {

std::string text(const Problem &p) { return fmt::format("{}x{}x{}x{}", p.batch, p.heads, p.seqlenQ, p.seqlenKv); }

/// One launch, judged. A complaint in `verdict` makes it wrong.
Status runCase(const Kernel &kernel, const Device &device, const std::optional<SimulatorControl> &simulator,
               const SmallCase &test, Verification &verdict) {
  const KernelImage &image = kernel.image();
  const AttentionSpec &spec = image.spec;
  const std::string where = "at " + text(test.problem);
  const Result<LaunchTensors> tensors =
      LaunchTensors::allocate(device, image, test.problem, MemoryOrder::SequenceFirst, CheckedLaunch::guardBytes);
  if (!tensors)
    return tensors.status();
  const HostInputs host = HostInputs::make(spec, test.problem, /*seed=*/2, {test.growth, image.schedule.tileKv});
  if (Status status = host.upload(*tensors); !status)
    return status;
  const Result<CheckedLaunch> launch = CheckedLaunch::run(kernel, device, *tensors, simulator);
  if (!launch)
    return launch.status();
  for (const std::string &complaint : {launch->fault, launch->stray})
    if (!complaint.empty()) {
      verdict.right = false;
      verdict.complaint = fmt::format("{}: {}", where, complaint);
      return {};
    }

  const reference::Problem problem = reference::Problem::of(spec);
  const reference::View q = host.view(Input::Q), k = host.view(Input::K), v = host.view(Input::V);
  const Result<reference::Answer> exact = reference::attention(q, k, v, problem);
  if (!exact)
    return exact.status();
  const Result<reference::Answer> plain =
      reference::plainAttention(q, k, v, problem, spec.outputType(), spec.precision);
  if (!plain)
    return plain.status();
  const reference::LseView lse{launch->outputs.lse.data(),
                               {test.problem.heads * test.problem.seqlenQ, test.problem.seqlenQ, 1}};
  const reference::Comparison comparison = reference::compare(
      reference::View::dense(launch->outputs.out.data(), spec.outputType(), outputShape(spec, test.problem)),
      contains(spec.outputs, Output::LSE) ? &lse : nullptr, *exact, *plain, problem, spec.dtype, spec.precision);
  enter(verdict, comparison, where);
  return {};
}

} // namespace

Result<Verification> verifySmall(const Kernel &kernel, const Device &device, const Task &task) {
  const Result<std::optional<SimulatorControl>> simulator = SimulatorControl::of(device);
  if (!simulator)
    return simulator.status();
  std::optional<ScopedSimulatorOptions> options;
  if (*simulator) {
    options.emplace(
        **simulator,
        nlohmann::json{{"checks", true}, {"races", true}, {"counters", false}, {"print", false}, {"sticky", false}});
    if (!options->status())
      return options->status();
  }
  Verification verdict;
  verdict.right = true;
  verdict.against = "f64 at";
  const int64_t residentBlocks = int64_t(kernel.info().blocksPerSm.value_or(0)) * device.info().smCount;
  for (const SmallCase &test : smallCases(task, kernel.image().schedule, residentBlocks)) {
    if (Status status = runCase(kernel, device, *simulator, test, verdict); !status)
      return status;
    verdict.against += (verdict.against.ends_with("at") ? " " : ", ") + text(test.problem);
    if (!verdict.right)
      break;
  }
  return verdict;
}

} // namespace tessera::tune
