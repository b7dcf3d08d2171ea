// Device memory, launch and verdict of one case.
#include "tests/kernels/Harness.h"

#include "autotune/measure/SimulatorControl.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace tessera::kernels {
namespace {

const tune::SimulatorControl &simulator() {
  static const tune::SimulatorControl control = [] {
    const auto found = tune::SimulatorControl::of(device());
    if (!found || !*found) {
      fmt::print(stderr, "no simulator: {}\n", found.status().text());
      std::exit(1);
    }
    const Status status = (*found)->configure({{"checks", true}, {"print", false}, {"sticky", false}});
    if (!status)
      fmt::print(stderr, "{}\n", status.text());
    return **found;
  }();
  return control;
}

/// The arenas in device memory, and the views of a launch into them.
struct OnDevice {
  std::vector<DeviceBuffer> buffers;
  std::optional<DeviceBuffer> rescues;
  LaunchArguments arguments;
};

Result<OnDevice> upload(const KernelCase &test, const Placement &placement) {
  OnDevice on;
  for (const Arena &arena : placement.arenas) {
    Result<DeviceBuffer> buffer = device().allocate(arena.bytes.size());
    if (!buffer)
      return buffer.status();
    if (Status status = buffer->upload(arena.bytes.data(), arena.bytes.size()); !status)
      return status;
    on.buffers.push_back(*std::move(buffer));
  }
  Result<DeviceBuffer> rescues = device().allocate(sizeof(uint32_t));
  if (!rescues)
    return rescues.status();
  on.rescues = *std::move(rescues);
  const uint32_t none = 0;
  if (Status status = on.rescues->upload(&none, sizeof none); !status)
    return status;
  const auto address = [&](const Placed &placed) {
    return reinterpret_cast<void *>(on.buffers[placed.arena].address() + placed.first);
  };
  const auto tensor = [&](Role role) {
    const Placed &placed = placement[role];
    return TensorView{address(placed), placed.type, placed.shape, placed.strides};
  };
  on.arguments.q = tensor(Role::Q);
  on.arguments.k = tensor(Role::K);
  on.arguments.v = tensor(Role::V);
  on.arguments.o = tensor(Role::O);
  if (contains(test.spec.outputs, Output::LSE)) {
    const Placed &lse = placement[Role::Lse];
    on.arguments.lse = {static_cast<float *>(address(lse)),
                        {lse.shape[0], lse.shape[1], lse.shape[2]},
                        {lse.strides[0], lse.strides[1], lse.strides[2]}};
  }
  on.arguments.rescues = static_cast<uint32_t *>(on.rescues->pointer());
  return on;
}

Status download(const OnDevice &on, Outcome &outcome) {
  outcome.after = outcome.placement.arenas;
  for (size_t n = 0; n < on.buffers.size(); ++n)
    if (Status status = on.buffers[n].download(outcome.after[n].bytes.data(), outcome.after[n].bytes.size()); !status)
      return status;
  return on.rescues->download(&outcome.rescues, sizeof outcome.rescues);
}

Status judge(const KernelCase &test, Outcome &outcome) {
  const reference::View q = outcome.placement.view(Role::Q, outcome.placement.arenas),
                        k = outcome.placement.view(Role::K, outcome.placement.arenas),
                        v = outcome.placement.view(Role::V, outcome.placement.arenas);
  const reference::Problem problem = reference::Problem::of(test.spec);
  Result<reference::Answer> exact = reference::attention(q, k, v, problem);
  if (!exact)
    return exact.status();
  const Result<reference::Answer> plain =
      reference::plainAttention(q, k, v, problem, test.spec.outputType(), test.spec.precision);
  if (!plain)
    return plain.status();
  outcome.exact = *std::move(exact);
  const reference::LseView lse = outcome.placement.lseView(outcome.after);
  outcome.verdict = reference::compare(outcome.placement.view(Role::O, outcome.after),
                                       contains(test.spec.outputs, Output::LSE) ? &lse : nullptr, outcome.exact, *plain,
                                       problem, test.spec.dtype, test.spec.precision);
  return {};
}

/// The case with the accessBytes that its placement allows, and its tensors.
Result<std::pair<KernelCase, OnDevice>> prepareCase(const KernelCase &given, Outcome &outcome) {
  KernelCase test = given;
  outcome.placement = place(test.layout, test.spec, test.problem, test.margins, test.poison);
  fill(outcome.placement, test.values);
  Result<OnDevice> on = upload(test, outcome.placement);
  if (!on)
    return on.status();
  test.spec.accessBytes = accessBytesFor(on->arguments.q, on->arguments.k, on->arguments.v, on->arguments.o);
  return std::pair(std::move(test), *std::move(on));
}

Status launchAndJudge(const KernelCase &test, const Kernel &kernel, const OnDevice &on, Outcome &outcome,
                      std::vector<std::string> &findings) {
  outcome.info = kernel.info();
  Status status = kernel.launch(on.arguments, nullptr);
  if (status.ok())
    status = device().synchronize();
  if (test.problem.batch && test.problem.heads && test.problem.seqlenQ) {
    // An empty problem launches nothing and leaves no report.
    findings = simulator().findings();
    if (const auto counters = simulator().counters(); counters.contains("grid"))
      outcome.blocks = counters["grid"][0].get<unsigned>();
  }
  if (!status)
    return status;
  if (Status copied = download(on, outcome); !copied)
    return copied;
  return judge(test, outcome);
}

} // namespace

std::vector<std::byte> Outcome::outputBits() const {
  std::vector<std::byte> bits = after[placement[Role::O].arena].bytes;
  const std::vector<std::byte> &lse = after[placement[Role::Lse].arena].bytes;
  bits.insert(bits.end(), lse.begin(), lse.end());
  return bits;
}

const Device &device() {
  static const Device opened = [] {
    Result<Device> device = Device::open("sim:a100");
    if (!device) {
      fmt::print(stderr, "{}\n", device.status().text());
      std::exit(1);
    }
    return *device;
  }();
  return opened;
}

const Engine &engine() {
  static const Engine created = [] {
    Result<Engine> engine = Engine::create();
    if (!engine) {
      fmt::print(stderr, "{}\n", engine.status().text());
      std::exit(1);
    }
    return *engine;
  }();
  return created;
}

std::optional<Outcome> runKernel(const KernelCase &given, const Kernel &kernel, std::vector<std::string> &findings) {
  simulator(); // its options are set before the first launch
  Outcome outcome;
  const auto prepared = prepareCase(given, outcome);
  if (!prepared) {
    ADD_FAILURE() << prepared.status().text();
    return std::nullopt;
  }
  if (Status status = launchAndJudge(prepared->first, kernel, prepared->second, outcome, findings); !status) {
    findings.push_back(status.text());
    return std::nullopt;
  }
  return outcome;
}

std::optional<Outcome> run(const KernelCase &given) {
  Outcome outcome;
  const auto prepared = prepareCase(given, outcome);
  if (!prepared) {
    ADD_FAILURE() << prepared.status().text();
    return std::nullopt;
  }
  const auto &[test, on] = *prepared;
  simulator();
  const Result<Kernel> kernel = engine().prepare(test.spec, test.problem, device(), {test.schedule});
  if (!kernel) {
    ADD_FAILURE() << kernel.status().text() << "\n  " << command(test);
    return std::nullopt;
  }
  std::vector<std::string> findings;
  const Status status = launchAndJudge(test, *kernel, on, outcome, findings);
  for (const std::string &finding : findings)
    ADD_FAILURE() << "simulator: " << finding << "\n  " << command(test);
  if (!status) {
    ADD_FAILURE() << status.text() << "\n  " << command(test);
    return std::nullopt;
  }
  const std::string stray = strayWrite(outcome.placement, outcome.placement.arenas, outcome.after);
  EXPECT_EQ(stray, "") << command(test);
  return outcome;
}

KernelCase caseOf(DType type, unsigned dim, const Problem &problem, const Mask &mask) {
  KernelCase test;
  test.spec.dtype = type;
  test.spec.headDim = test.spec.valueDim = dim;
  test.spec.mask = mask;
  test.spec.outputs = Output::O | Output::LSE;
  test.problem = problem;
  return test;
}

std::optional<Outcome> expectRight(const KernelCase &test) {
  std::optional<Outcome> outcome = run(test);
  if (outcome)
    EXPECT_TRUE(outcome->verdict.ok) << outcome->verdict.complaint << "\n  " << outcome->info.schedule.text() << "\n  "
                                     << command(test);
  return outcome;
}

void configureSimulator(const std::string &json) {
  const Status status = simulator().configure(nlohmann::json::parse(json));
  EXPECT_TRUE(status.ok()) << status.text();
}

unsigned accessBytesOf(const KernelCase &test) {
  const Placement placement = place(test.layout, test.spec, test.problem, test.margins);
  const auto view = [&](Role role) {
    const Placed &placed = placement[role];
    return TensorView{reinterpret_cast<void *>(placed.first), placed.type, placed.shape, placed.strides};
  };
  return accessBytesFor(view(Role::Q), view(Role::K), view(Role::V), view(Role::O));
}

std::string command(const KernelCase &test) {
  const AttentionSpec &spec = test.spec;
  std::string text =
      fmt::format("tessera run --device sim:a100 --dtype {} --out-dtype {} --batch {} --heads {} --kv-heads {} "
                  "--head-dim {} --value-dim {} "
                  "--seqlen-q {} --seqlen-kv {}",
                  name(spec.dtype), name(spec.outputType()), test.problem.batch, test.problem.heads,
                  test.problem.kvHeads, spec.headDim, spec.valueDim, test.problem.seqlenQ, test.problem.seqlenKv);
  const char *align = spec.mask.align == Align::BottomRight ? "bottom-right" : "top-left";
  const auto side = [](const std::optional<int64_t> &bound) { return bound ? fmt::format("{}", *bound) : "inf"; };
  if (!spec.mask.left && spec.mask.right == 0)
    text += fmt::format(" --causal {}", align);
  else if (!spec.mask.isFull())
    text += fmt::format(" --window {},{} --align {}", side(spec.mask.left), side(spec.mask.right), align);
  if (spec.scale)
    text += fmt::format(" --scale {}", *spec.scale);
  if (spec.softcap)
    text += fmt::format(" --softcap {}", *spec.softcap);
  if (contains(spec.outputs, Output::LSE))
    text += " --lse";
  if (spec.precision == Precision::Precise)
    text += " --precise";
  if (test.schedule)
    text += fmt::format(" --schedule {}", test.schedule->text());
  if (test.layout == Layout::Bhsd)
    text += " --layout bhsd";
  text += " --check";
  if (test.layout != Layout::Bshd && test.layout != Layout::Bhsd)
    text += fmt::format("   # layout {}, which the command line does not make", name(test.layout));
  return text;
}

const Target &target() {
  static const Target sm80 = *Target::parse("sm_80");
  return sm80;
}

Schedule defaultFor(const AttentionSpec &spec) { return defaultSchedule(spec, target()); }

} // namespace tessera::kernels
