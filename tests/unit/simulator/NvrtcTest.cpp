// PTX of another compiler: CUDA C++ through NVRTC on the simulator, judged by the host.
#include "tests/unit/simulator/Harness.h"

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>
#include <fstream>
#include <random>
#include <sstream>

#define FN [[gnu::noinline]] static
#include "tests/unit/simulator/CudaFunctions.inc"
#undef FN

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// PTX of the kernels for `architecture`, by NVRTC opened at run time; "" with a test failure when it does not compile.
std::string compile(const char *architecture) {
  void *library = dlopen(TESSERA_NVRTC_LIBRARY, RTLD_NOW);
  if (!library) {
    ADD_FAILURE() << dlerror();
    return {};
  }
  using Program = void *;
  auto create =
      reinterpret_cast<int (*)(Program *, const char *, const char *, int, const char *const *, const char *const *)>(
          dlsym(library, "nvrtcCreateProgram"));
  auto compileProgram =
      reinterpret_cast<int (*)(Program, int, const char *const *)>(dlsym(library, "nvrtcCompileProgram"));
  auto size = reinterpret_cast<int (*)(Program, size_t *)>(dlsym(library, "nvrtcGetPTXSize"));
  auto get = reinterpret_cast<int (*)(Program, char *)>(dlsym(library, "nvrtcGetPTX"));
  auto logSize = reinterpret_cast<int (*)(Program, size_t *)>(dlsym(library, "nvrtcGetProgramLogSize"));
  auto getLog = reinterpret_cast<int (*)(Program, char *)>(dlsym(library, "nvrtcGetProgramLog"));
  std::string folder = TESSERA_TEST_FOLDER;
  std::string source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_pipeline.h>\n#define FN "
                       "__device__ __noinline__\n" +
                       readFile(folder + "/CudaFunctions.inc") + readFile(folder + "/CudaKernels.inc");
  Program program = nullptr;
  create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  std::string arch = std::string("--gpu-architecture=") + architecture;
  const char *options[] = {arch.c_str(), "--fmad=false", "-I" TESSERA_CUDA_INCLUDE, "-I" TESSERA_CUDA_INCLUDE "/cccl",
                           "--std=c++17"};
  if (compileProgram(program, 5, options)) {
    size_t bytes = 0;
    logSize(program, &bytes);
    std::string log(bytes, 0);
    getLog(program, log.data());
    ADD_FAILURE() << log;
    return {};
  }
  size_t bytes = 0;
  size(program, &bytes);
  std::string ptx(bytes, 0);
  get(program, ptx.data());
  return ptx;
}

LaunchReport run(Machine &machine, const std::string &kernel, Dim3 grid, Dim3 block,
                 const std::vector<uint64_t> &parameters) {
  LaunchConfig config;
  config.kernel = kernel;
  config.grid = grid;
  config.block = block;
  const KernelInfo *info = machine.module->findKernel(kernel);
  if (!info)
    return {};
  config.parameters.resize(info->parameterBytes);
  for (size_t i = 0; i < parameters.size(); ++i)
    std::memcpy(&config.parameters[info->parameters[i].offset], &parameters[i], info->parameters[i].size);
  return launch(*machine.module, machine.memory, machine.profile, config, machine.options);
}

void checkFunctions(Machine &machine) {
  const int n = 600;
  uint64_t u = machine.upload(std::vector<uint32_t>(3 * n)), l = machine.upload(std::vector<long long>(n)),
           f = machine.upload(std::vector<float>(n)), d = machine.upload(std::vector<double>(2 * n));
  expectClean(run(machine, "functions", {5, 1, 1}, {128, 1, 1}, {u, l, f, d, n}));
  auto us = machine.download<uint32_t>(u, 3 * n);
  auto ls = machine.download<long long>(l, n);
  auto fs = machine.download<float>(f, n);
  auto ds = machine.download<double>(d, 2 * n);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(us[3 * i], mixIntegers(i * 77u, i * 1234567u + 99, i & 3)) << i;
    EXPECT_EQ(us[3 * i + 1], fibonacci(i % 11)) << i;
    EXPECT_EQ(int(us[3 * i + 2]), localArrays(i)) << i;
    EXPECT_EQ(ls[i], mixLong(i * 1234567891011ll - 5, ~(long long)i * 987654321ll)) << i;
    EXPECT_EQ(fs[i], floats(i * 0.37f - 20, i * 0.11f)) << i;
    EXPECT_EQ(ds[2 * i], doubles(i * 0.37 - 20, i * 0.11)) << i;
    EXPECT_EQ(ds[2 * i + 1], structs(i)) << i;
  }
}

void checkConversions(Machine &machine) {
  std::mt19937 random(3);
  std::vector<float> in;
  for (int i = 0; i < 20000; ++i) {
    uint32_t b = random();
    if (i % 3 == 0) // near the halves' range
      b = (b & 0x80ffffff) | (random() % 2 ? 0x38000000 : 0x33000000) + (b & 0x0f000000);
    in.push_back(std::bit_cast<float>(b));
  }
  for (uint32_t b : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x477fefffu, 0x477ff000u, 0x33000000u,
                     0x33000001u, 0x387fe000u, 0x387ff000u, 0x4f000000u, 0xcf000001u})
    in.push_back(std::bit_cast<float>(b));
  auto n = static_cast<uint32_t>(in.size());
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(12 * n));
  expectClean(run(machine, "conversions", {(n + 255) / 256, 1, 1}, {256, 1, 1}, {pin, pout, n}));
  auto out = machine.download<uint32_t>(pout, 12 * n);
  auto half = [](__half h) { return uint32_t(std::bit_cast<uint16_t>(__half_raw(h).x)); };
  auto bfloat = [](__nv_bfloat16 h) { return uint32_t(std::bit_cast<uint16_t>(__nv_bfloat16_raw(h).x)); };
  auto fromHalf = [](uint32_t bits) { return __half(__half_raw{static_cast<unsigned short>(bits)}); };
  for (uint32_t i = 0; i < n; ++i) {
    float x = in[i];
    uint32_t b = std::bit_cast<uint32_t>(x),
             expected[12] = {half(__float2half_rn(x)), half(__float2half_rz(x)),       half(__float2half_ru(x)),
                             half(__float2half_rd(x)), bfloat(__float2bfloat16_rn(x)), bfloat(__float2bfloat16_rz(x))};
    double rounded = std::rint(double(x)), cut = std::trunc(double(x));
    expected[6] = x != x              ? 0
                  : rounded >= 0x1p31 ? 0x7fffffffu
                  : rounded < -0x1p31 ? 0x80000000u
                                      : static_cast<uint32_t>(static_cast<int64_t>(rounded));
    expected[7] = x != x || cut <= 0 ? 0 : cut >= 0x1p32 ? 0xffffffffu : static_cast<uint32_t>(cut);
    float wide = __half2float(fromHalf(b >> 16));
    expected[8] = wide != wide ? 0x7fffffff : std::bit_cast<uint32_t>(wide);
    float low = __half2float(fromHalf(b & 0xffff)), high = __half2float(fromHalf(b >> 16));
    expected[9] = half(__float2half_rn(low + high));
    expected[10] = half(__float2half_rn(low * high));
    expected[11] = bfloat(__float2bfloat16_ru(x));
    for (unsigned k = 0; k < 12; ++k)
      EXPECT_EQ(out[12 * i + k], expected[k]) << "conversion " << k << " of " << std::hex << b;
  }
}

void checkProduct(Machine &machine) {
  const uint32_t n = 64;
  std::vector<float> a(n * n), b(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i * 7 % 11);
    b[i] = static_cast<float>(i * 5 % 13);
  }
  uint64_t pa = machine.upload(a), pb = machine.upload(b), pc = machine.upload(std::vector<float>(n * n)),
           ph = machine.upload(std::vector<uint32_t>(8)), pm = machine.upload(std::vector<float>(1));
  expectClean(run(machine, "product", {4, 4, 1}, {16, 16, 1}, {pa, pb, pc, n, ph, pm}));
  auto c = machine.download<float>(pc, n * n);
  std::vector<uint32_t> histogram(8);
  float largest = 0;
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
      EXPECT_EQ(c[row * n + column], sum);
      ++histogram[static_cast<uint32_t>(sum) & 7];
      largest = std::max(largest, sum);
    }
  EXPECT_EQ(machine.download<uint32_t>(ph, 8), histogram);
  EXPECT_EQ(machine.download<float>(pm, 1)[0], largest);
}

class Nvrtc : public testing::TestWithParam<std::pair<const char *, const char *>> {};

} // namespace

TEST_P(Nvrtc, KernelsGiveTheHostsResults) {
  std::string ptx = compile(GetParam().first);
  if (ptx.empty())
    return;
  Machine machine(GetParam().second);
  machine.load(ptx);
  checkFunctions(machine);
  checkConversions(machine);
  checkProduct(machine);
  LaunchReport report = run(machine, "prints", {2, 1, 1}, {32, 1, 1}, {7});
  EXPECT_EQ(report.printed, "n is 7, half of it 3.50, done\nn is 7, half of it 3.50, done\n");
}

INSTANTIATE_TEST_SUITE_P(Architectures, Nvrtc,
                         testing::Values(std::pair("compute_80", "a100"), std::pair("compute_90", "h100"),
                                         std::pair("compute_120", "rtx5090")),
                         [](const auto &info) { return std::string(info.param.first); });
