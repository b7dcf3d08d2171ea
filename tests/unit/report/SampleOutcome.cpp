// The made-up run.
#include "tests/unit/report/SampleOutcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune {

namespace {

/// Numbers in [0, 1), the same on every machine.
class Noise {
public:
  explicit Noise(uint64_t seed) : state(seed * 2654435761u + 88172645463325252u) {}
  double next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return double(state >> 11) / double(uint64_t(1) << 53);
  }

private:
  uint64_t state;
};

Task sampleTask(size_t index) {
  Task task;
  task.spec.dtype = index % 4 == 3 ? DType::F16 : DType::BF16;
  task.spec.headDim = task.spec.valueDim = index % 3 == 0 ? 128 : index % 3 == 1 ? 64 : 256;
  if (index % 2 == 0)
    task.spec.mask = Mask::causal(Align::BottomRight);
  else if (index % 8 == 5)
    task.spec.mask = Mask::window(1023, 0, Align::BottomRight);
  if (index % 5 == 4)
    task.spec.outputs = Output::O | Output::LSE;
  const int64_t lengths[] = {8192, 2048, 512};
  const int64_t length = lengths[(index / 2) % 3];
  task.problem = {.batch = index % 7 == 6 ? 4 : 1, .heads = 32, .kvHeads = 8, .seqlenQ = length, .seqlenKv = length};
  return task;
}

Schedule sampleSchedule(size_t index) {
  Schedule schedule;
  const unsigned keys[] = {64, 96, 128, 48, 32, 112}, warps[] = {4, 8, 4, 8};
  schedule.tileKv = keys[index % 6];
  schedule.warps = warps[index / 6 % 4];
  schedule.tileQ = index / 24 % 2 == 0 ? 128 : 64;
  schedule.stages = 1 + unsigned(index / 48 % 2);
  schedule.queryInRegisters = index % 2 == 1;
  schedule.packHeads = index / 12 % 2 == 1;
  schedule.headGroup = schedule.packHeads ? 1 : 8;
  return schedule;
}

Prediction samplePrediction(const Task &task, double milliseconds, Basis basis) {
  Prediction prediction;
  prediction.milliseconds = milliseconds;
  const char *names[] = {"tensor", "exponent", "fma",    "alu",     "issue", "shared",
                         "fill",   "l2",       "memory", "latency", "tail",  "launch"};
  const double shares[] = {0.86, 0.31, 0.27, 0.22, 0.64, 0.58, 0.12, 0.19, 0.08, 0.17, 0.05, 0.01};
  for (size_t i = 0; i < 12; ++i)
    prediction.terms.push_back({names[i], shares[i] * milliseconds});
  prediction.bound = "tensor";
  prediction.blocksPerSm = 2;
  const auto length = double(task.problem.seqlenQ), heads = double(task.problem.heads * task.problem.batch);
  prediction.waves = heads * std::ceil(length / 128) / 216;
  prediction.flops = 4 * heads * length * length * task.spec.headDim * (task.spec.mask.isFull() ? 1 : 0.5);
  prediction.memoryBytes = 2.6 * 2 * heads * length * task.spec.headDim;
  prediction.work = prediction.footprint = basis;
  return prediction;
}

Trial sampleTrial(const Task &task, size_t index, bool modelled, Noise &noise) {
  Trial trial;
  trial.task = task;
  trial.schedule = sampleSchedule(index);
  trial.device = modelled ? "NVIDIA A100-SXM4-80GB (simulated)" : "NVIDIA A100-SXM4-80GB";
  trial.target = "sm_80";
  trial.build = "3f2a9c";
  trial.assembler = "nvJitLink 13.0";
  trial.driverVersion = 13000;
  trial.isDefault = index == 0;
  trial.elapsedSeconds = 3 + double(index) * 1.4 + noise.next();
  trial.compileMs = 600 + 300 * noise.next();
  const double ideal = samplePrediction(task, 1, Basis::Estimated).flops / 200e9;
  const double before = (ideal + 0.005) * (1.1 + 0.9 * noise.next());
  trial.before = samplePrediction(task, before, Basis::Estimated);
  const size_t kind = index == 0 ? 0 : index % 16;
  if (kind == 9) {
    trial.status = TrialStatus::Failed;
    trial.reason = "tile_kv 112 with d 256 needs 305 registers per thread; sm_80 has 255";
    return trial;
  }
  if (kind == 10 || kind == 11) {
    trial.status = kind == 10 ? TrialStatus::Crashed : TrialStatus::TimedOut;
    trial.reason =
        kind == 10 ? "the worker was ended by signal 11 during the compile" : "killed after 12 s, 20 times the median";
    return trial;
  }
  trial.footprint = Footprint{unsigned(128 + 127 * noise.next()), kind == 5 ? 48u : 0u,
                              trial.schedule.sharedBytes(task.spec), trial.schedule.warps * 32, Basis::Image};
  trial.after = samplePrediction(task, before * (0.92 + 0.16 * noise.next()), Basis::Simulated);
  if (kind == 5) {
    trial.status = TrialStatus::Spills;
    trial.reason = "spills 48 bytes per thread";
    return trial;
  }
  if (kind == 6) {
    trial.status = TrialStatus::Duplicate;
    trial.sameAs = sampleSchedule(index - 1).text();
    return trial;
  }
  if (kind == 12) {
    trial.status = TrialStatus::Faulted;
    trial.reason = "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS";
    return trial;
  }
  trial.verification = Verification{true, 0.0007 + 0.001 * noise.next(), 0.0039, "f64 at 1x4x257x300", ""};
  if (kind == 7) {
    trial.status = TrialStatus::Wrong;
    trial.verification->right = false;
    trial.verification->error = 0.73;
    trial.verification->complaint = "o[0, 3, 255, 17] is 0.912, not 0.182: rows of the last query tile";
    return trial;
  }
  if (kind == 13 || kind == 14) {
    trial.status = TrialStatus::Predicted;
    return trial;
  }
  trial.status = TrialStatus::Measured;
  const double milliseconds = modelled ? trial.after->milliseconds : before * (0.85 + 0.4 * noise.next() + (kind == 4));
  trial.measurement = Measurement{milliseconds,
                                  modelled ? milliseconds : milliseconds * 0.997,
                                  modelled ? milliseconds : milliseconds * 1.006,
                                  modelled ? 0u : 24u,
                                  modelled,
                                  kind == 4,
                                  kind == 15 && !modelled,
                                  1410,
                                  modelled ? "modelled" : "graph replay, cold L2"};
  return trial;
}

} // namespace

Gpu sampleGpu() {
  constexpr std::string_view sheet = "data sheet", estimate = "estimate: from public microbenchmarks";
  Gpu gpu{};
  gpu.name = "a100";
  gpu.product = "A100-SXM4-80GB";
  gpu.major = 8;
  gpu.sms = {108, sheet};
  gpu.clockMHz = {1410, sheet};
  gpu.memoryGBps = {2039, sheet};
  gpu.l2Bytes = {40.0 * 1024 * 1024, sheet};
  gpu.sharedBytesPerSm = {164.0 * 1024, sheet};
  gpu.registersPerSm = {65536, sheet};
  gpu.warpsPerSm = {64, sheet};
  gpu.blocksPerSm = {32, sheet};
  gpu.mma16 = {1024, sheet};
  gpu.mmaTf32 = {512, sheet};
  gpu.fma = {64, sheet};
  gpu.alu = {64, sheet};
  gpu.mufu = {16, sheet};
  gpu.sharedBytes = {128, sheet};
  gpu.fillBytes = {64, estimate};
  gpu.l2BytesPerClock = {56, estimate};
  gpu.launchMicroseconds = {2.5, estimate};
  return gpu;
}

SearchOutcome sampleOutcome(size_t tasks, size_t trials, bool modelled) {
  SearchOutcome outcome;
  for (size_t i = 0; i < tasks; ++i) {
    TaskOutcome task;
    task.task = sampleTask(i);
    task.combinations = 4608;
    task.legal = 312 + 17 * i;
    task.refused = {{"more shared memory than sm_80 has", 2210 + i},
                    {"more registers than a thread has", 1630},
                    {"heads are packed only where there are groups", 439 - i}};
    Noise noise(i + 1);
    const bool refusedOnly = i == 4, notBegun = i == 5, withoutDefault = i == 3;
    for (size_t j = withoutDefault ? 1 : 0; j < trials && !notBegun; ++j) {
      Trial trial = sampleTrial(task.task, j, modelled, noise);
      if (refusedOnly) {
        trial.status = TrialStatus::Failed;
        trial.reason = "the assembler refused it: ptxas <fatal> & \"no\" more";
        trial.measurement.reset();
        trial.verification.reset();
        trial.footprint.reset();
      }
      task.trials.push_back(trial);
    }
    const Trial *best = nullptr, *byDefault = nullptr;
    for (const Trial &trial : task.trials) {
      if (trial.status != TrialStatus::Measured)
        continue;
      ++task.measured;
      if (!best || trial.measurement->milliseconds < best->measurement->milliseconds)
        best = &trial;
      if (trial.isDefault)
        byDefault = &trial;
    }
    task.compiled = task.trials.size();
    task.fromLog = i == 1 ? 7 : 0;
    task.complete = !refusedOnly && !notBegun;
    task.seconds = 1.4 * double(task.trials.size());
    if (best) {
      task.choice = Choice{*best, byDefault ? std::optional(*byDefault) : std::nullopt, task.measured,
                           task.trials.size() - task.measured, i == 2};
    }
    outcome.tasks.push_back(std::move(task));
  }
  outcome.outOfBudget = tasks >= 6;
  outcome.warnings = {"tune.jsonl, line 17: no trial: a brace is missing; passed over"};
  return outcome;
}

ReportInput sampleInput(const SearchOutcome &outcome, bool modelled) {
  ReportInput input;
  input.title =
      "tessera tune --dtype bf16 --heads 32 --kv-heads 8 --head-dim 64,128,256 --causal bottom-right --seqlen "
      "512,2048,8192 --device sim:a100 --budget 120s --log tune.jsonl --report tune.html";
  input.gpu = sampleGpu();
  input.device = modelled ? "NVIDIA A100-SXM4-80GB (simulated)" : "NVIDIA A100-SXM4-80GB";
  input.modelled = modelled;
  input.driver = modelled ? "simulator 0.1.0" : "driver 13.0";
  input.toolchain = "compiler 3f2a9c, nvJitLink 13.0";
  input.outcome = &outcome;
  return input;
}

} // namespace tessera::tune
