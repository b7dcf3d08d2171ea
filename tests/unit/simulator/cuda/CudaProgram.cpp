// PTX files of the build folder, and launches of their kernels.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace tessera::sim::test {

namespace {
std::string profileOf(std::string_view build) {
  auto names = [&](std::string_view architecture) { return build.find(architecture) != build.npos; };
  return names("_89") ? "rtx4090" : names("_90") ? "h100" : names("_120") ? "rtx5090" : "a100";
}
} // namespace

std::vector<std::string> buildsOf(const std::string &program) {
  std::vector<std::string> found;
  std::istringstream all(TESSERA_CUDA_BUILDS);
  for (std::string entry; all >> entry;)
    if (entry.starts_with(program + "."))
      found.push_back(entry.substr(program.size() + 1));
  return found;
}

CudaProgram::CudaProgram(std::string program) : machine(profileOf(GetParam())), program(std::move(program)) {}

void CudaProgram::SetUp() {
  std::string path = fmt::format("{}/{}.{}.ptx", TESSERA_CUDA_PTX, program, GetParam());
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  auto loaded = Module::load(text.str(), machine.profile, machine.memory);
  ASSERT_TRUE(loaded.ok()) << path << ": " << loaded.status().text();
  machine.module = std::move(*loaded);
}

void CudaProgram::everySchedule(const std::function<void()> &body, unsigned seeds) {
  auto once = [&](Schedule schedule, uint64_t seed, const std::string &name) {
    if (HasFailure())
      return;
    SCOPED_TRACE(name);
    machine.options.schedule = schedule;
    machine.options.seed = seed;
    body();
  };
  once(Schedule::Late, 0, "late schedule");
  once(Schedule::Eager, 0, "eager schedule");
  for (unsigned seed = 1; seed <= seeds; ++seed)
    once(Schedule::Random, seed, fmt::format("random schedule, seed {}", seed));
  machine.options.schedule = Schedule::Late;
}

LaunchConfig CudaProgram::configure(const std::string &kernel, const Shape &shape, size_t arguments) {
  LaunchConfig config;
  config.kernel = kernel;
  config.grid = shape.grid;
  config.block = shape.block;
  config.dynamicSharedBytes = shape.dynamicShared;
  config.gridWorkspace = shape.gridWorkspace;
  const KernelInfo *info = machine.module->findKernel(kernel);
  EXPECT_TRUE(info) << "no kernel " << kernel;
  if (!info)
    return config;
  EXPECT_EQ(info->parameters.size(), arguments) << kernel;
  config.parameters.resize(info->parameterBytes);
  return config;
}

void CudaProgram::pack(LaunchConfig &config, size_t index, const void *value, size_t bytes) {
  const KernelInfo *info = machine.module->findKernel(config.kernel);
  if (!info || index >= info->parameters.size())
    return;
  EXPECT_EQ(info->parameters[index].size, bytes) << config.kernel << ", parameter " << index;
  std::memcpy(&config.parameters[info->parameters[index].offset], value,
              std::min<size_t>(bytes, info->parameters[index].size));
}

LaunchReport CudaProgram::launch(const LaunchConfig &config) {
  return sim::launch(*machine.module, machine.memory, machine.profile, config, machine.options);
}

} // namespace tessera::sim::test
