// A worker as `tessera worker` is one, with a rig that misbehaves for the schedules that $FAULTY_RIG names; or a parent
// of workers that is there to be killed.
#include "autotune/measure/Rig.h"
#include "autotune/search/Workers.h"
#include "tests/unit/search/FakeWorkshop.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

class FaultyRig : public Rig {
public:
  Result<Measurement> measure(const KernelImage &image, const Task &task, const Effort &effort) override {
    if (Status fault = misbehave("measure", image); !fault)
      return fault;
    Measurement measurement;
    measurement.lowMs = measurement.highMs = measurement.milliseconds =
        tune::test::FakeWorkshop::standardTime(task, image.schedule);
    measurement.repeats = effort.minRepeats;
    measurement.modelled = true;
    measurement.method = "modelled";
    return measurement;
  }
  Result<Verification> verify(const KernelImage &image, const Task &) override {
    if (Status fault = misbehave("verify", image); fault.code() == Code::DriverError)
      return Verification{false, 0, 0, "f64", "the launch failed: " + fault.message()};
    return Verification{true, 1e-4, 1e-3, "f64", ""};
  }
  Result<Prediction> predictCompiled(const KernelImage &image, const Task &task) override {
    Prediction prediction;
    prediction.milliseconds = tune::test::FakeWorkshop::standardTime(task, image.schedule);
    prediction.terms = {{"tensor", 0.25}};
    prediction.bound = std::to_string(getpid()); // who it was
    usleep(2000);
    return prediction;
  }

private:
  static Status misbehave(const std::string &service, const KernelImage &image) {
    const char *lines = std::getenv("FAULTY_RIG");
    std::istringstream in(lines ? lines : "");
    for (std::string fault, text; in >> fault >> text;) {
      if (text != image.schedule.text() || !fault.starts_with(service + "-"))
        continue;
      if (fault.ends_with("-hang"))
        for (;;)
          pause();
      if (fault.ends_with("-abort"))
        std::abort();
      if (fault.ends_with("-print"))
        std::puts("printed by a driver");
      if (fault.ends_with("-fault"))
        return Status(Code::DriverError, "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS");
    }
    return {};
  }
};

/// Compiles one thing, for ever.
int parent(const char *program) {
  setenv("FAULTY_SCHEDULES", ("hang " + Schedule{}.text()).c_str(), 1);
  WorkerOptions options;
  options.command = {program, "worker"};
  options.jobs = 2;
  options.compilerLibrary = FAULTY_COMPILER;
  options.cache.mode = CacheMode::Off;
  Result<std::unique_ptr<Workshop>> workers = makeWorkers(options);
  const std::vector<Candidate> candidates(2, {tune::test::taskOf(), Schedule{}, "sm_80"});
  (*workers)->compile(candidates, [](size_t, Answered<Compiled>) {}, [] { return false; });
  return 0;
}

} // namespace

Result<std::unique_ptr<Rig>> Rig::open(const Device &) { return std::unique_ptr<Rig>(std::make_unique<FaultyRig>()); }

int main(int count, char **arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (const char *file = std::getenv("FAULTY_STARTS")) // as many fail as it has bytes
    if (std::error_code error; const auto left = std::filesystem::file_size(file, error)) {
      if (!error) {
        std::filesystem::resize_file(file, left - 1);
        raise(SIGKILL);
      }
    }
  if (what == "worker")
    return serve(STDIN_FILENO, STDOUT_FILENO);
  if (what == "parent")
    return parent(arguments[0]);
  return 7; // no worker at all
}
