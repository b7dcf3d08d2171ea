// Speed of the simulator's core on small PTX kernels, as one JSON object on stdout. simulator.py reads it.
//
//   tessera-simulator-bench [NAME]...      all kernels, or those whose names begin so
//
// One row per kernel, numerical mode, checks and host threads: the best of some runs, by processor time on one thread
// and by the clock on more. Rates are operations of matrix kernels (2·m·n·k each), warp instructions of the others.
#include "runtime/simulator/Machine.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <thread>

using namespace tessera;
using namespace tessera::sim;

namespace {

struct Kernel {
  std::string name;
  std::string declarations, before, body; ///< body: once per turn of the loop
  double perTurn;                         ///< operations, or instructions with the loop's own three
  bool matrix;
  std::function<uint32_t(std::mt19937 &)> input; ///< words of the lanes' registers
  std::string_view device = "a100", target = "sm_80";
};

std::string list(std::string_view name, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i ? "," : "", name, first + i);
  return text + "}";
}

/// Four accumulators from zero, of two steps along K each.
Kernel matrix(std::string name, std::string shape, std::string types, unsigned aRegs, unsigned bRegs, double operations,
              std::function<uint32_t(std::mt19937 &)> input, std::string_view device = "a100",
              std::string_view target = "sm_80") {
  Kernel k{std::move(name), {}, {}, {}, 8 * operations, true, std::move(input), device, target};
  k.declarations = ".reg .b32 %c<16>;\n";
  const std::string zeros = types.starts_with(".s32") ? "{0,0,0,0}" : "{0f00000000,0f00000000,0f00000000,0f00000000}";
  for (unsigned i = 0; i < 8; ++i)
    k.body += fmt::format("mma.sync.aligned.{}.row.col{} {}, {}, {}, {};\n", shape, types, list("c", i % 4 * 4, 4),
                          i < 4 ? list("v", 0, aRegs) : "{%v1,%v2,%v3,%v0}", list("v", 4, bRegs),
                          i < 4 ? zeros : list("c", i % 4 * 4, 4));
  return k;
}

uint32_t floatBits(float x) {
  uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
}
float normal(std::mt19937 &random) { return std::normal_distribution<float>()(random); }
uint32_t halfPair(std::mt19937 &random) {
  uint16_t pair[2];
  for (uint16_t &h : pair) {
    auto x = static_cast<_Float16>(normal(random));
    std::memcpy(&h, &x, 2);
  }
  return pair[0] | uint32_t(pair[1]) << 16;
}
uint32_t bfloatPair(std::mt19937 &random) {
  return (floatBits(normal(random)) >> 16) | (floatBits(normal(random)) & 0xffff0000);
}
/// Magnitudes over eighty powers of two, as probabilities of a softmax may have them.
uint32_t wideBfloatPair(std::mt19937 &random) {
  auto one = [&] { return floatBits(std::ldexp(normal(random), -int(random() % 80))) >> 16; };
  return one() | one() << 16;
}

std::vector<Kernel> kernels() {
  auto anything = [](std::mt19937 &random) { return uint32_t(random()); };
  std::vector<Kernel> all;
  all.push_back(matrix("mma f16 m16n8k16", "m16n8k16", ".f32.f16.f16.f32", 4, 2, 4096, halfPair));
  all.push_back(matrix("mma bf16 m16n8k16", "m16n8k16", ".f32.bf16.bf16.f32", 4, 2, 4096, bfloatPair));
  all.push_back(matrix("mma bf16 m16n8k16, wide range", "m16n8k16", ".f32.bf16.bf16.f32", 4, 2, 4096, wideBfloatPair));
  all.push_back(matrix("mma tf32 m16n8k8", "m16n8k8", ".f32.tf32.tf32.f32", 4, 2, 2048,
                       [](std::mt19937 &random) { return floatBits(normal(random)); }));
  all.push_back(matrix(
      "mma e4m3 m16n8k32", "m16n8k32", ".f32.e4m3.e4m3.f32", 4, 2, 8192,
      [](std::mt19937 &random) { return uint32_t(random()) & 0xbfbfbfbf; }, "rtx4090", "sm_89"));
  all.push_back(matrix("mma s8 m16n8k32", "m16n8k32", ".s32.s8.s8.s32", 4, 2, 8192, anything));
  all.push_back({"ffma and integers", ".reg .f32 %f<8>;\n.reg .b32 %i<8>;\n", {}, {}, 35, false, anything});
  Kernel &scalar = all.back();
  for (unsigned i = 0; i < 8; ++i)
    scalar.before += fmt::format("mov.b32 %f{}, 0f3f800000;\nmov.b32 %i{}, %v{};\n", i, i, i % 6);
  for (unsigned i = 0; i < 32; ++i) {
    unsigned r = i / 2 % 8;
    scalar.body += i % 2   ? fmt::format("fma.rn.f32 %f{}, %f{}, 0f3f7ff000, 0f3a83126f;\n", r, r)
                   : i % 8 ? fmt::format("add.u32 %i{}, %i{}, %v{};\n", r, r, i % 6)
                           : fmt::format("lop3.b32 %i{}, %i{}, %v1, %v2, 150;\n", r, r);
  }
  all.push_back({"shared loads of 16 bytes", ".reg .b32 %s<4>, %x;\n.reg .u32 %a;\n", {}, {}, 19, false, anything});
  Kernel &shared = all.back();
  shared.before = "mov.u32 %a, smem;\nmov.u32 %x, %tid.x;\nmad.lo.u32 %a, %x, 16, %a;\n"
                  "st.shared.v4.b32 [%a], {%v0,%v1,%v2,%v3};\nst.shared.v4.b32 [%a+1024], {%v0,%v1,%v2,%v3};\n"
                  "bar.sync 0;\nmov.b32 %x, 0;\n";
  for (unsigned i = 0; i < 8; ++i)
    shared.body +=
        fmt::format("ld.shared.v4.b32 {{%s0,%s1,%s2,%s3}}, [%a+{}];\nadd.u32 %x, %x, %s{};\n", i % 2 * 1024, i % 4);
  all.push_back({"global copies of 16 bytes", ".reg .b32 %s<4>;\n", {}, {}, 19, false, anything});
  Kernel &copy = all.back();
  for (unsigned i = 0; i < 8; ++i)
    copy.body += fmt::format("ld.global.v4.b32 {{%s0,%s1,%s2,%s3}}, [%in+{}];\n"
                             "st.global.v4.b32 [%out+{}], {{%s0,%s1,%s2,%s3}};\n",
                             i * 16, i * 16);
  return all;
}

std::string textOf(const Kernel &k) {
  return fmt::format(".version 8.8\n.target {}\n.address_size 64\n.shared .align 16 .b8 smem[2048];\n"
                     ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 turns)\n{{\n"
                     ".reg .b64 %in, %out, %t;\n.reg .b32 %n, %lane, %cta, %v<6>;\n.reg .pred %more;\n{}"
                     "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u32 %n, [turns];\n"
                     "mov.u32 %lane, %tid.x;\nmov.u32 %cta, %ctaid.x;\nmov.u32 %v0, %ntid.x;\n"
                     "mad.lo.u32 %lane, %cta, %v0, %lane;\nmul.wide.u32 %t, %lane, 128;\n"
                     "add.u64 %in, %in, %t;\nadd.u64 %out, %out, %t;\n"
                     "ld.global.v4.b32 {{%v0,%v1,%v2,%v3}}, [%in];\nld.global.v2.b32 {{%v4,%v5}}, [%in+16];\n{}"
                     "loop:\n{}sub.u32 %n, %n, 1;\nsetp.ne.u32 %more, %n, 0;\n@%more bra loop;\nret;\n}}\n",
                     k.target, k.declarations, k.before, k.body);
}

double processorSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
double clockSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr unsigned blocks = 8, threadsPerBlock = 64;

class Bench {
public:
  explicit Bench(const Kernel &kernel)
      : kernel_(kernel), profile_(**DeviceProfile::find(kernel.device)), memory_(uint64_t(1) << 28) {}

  Status load() {
    Result<std::unique_ptr<Module>> module = Module::load(textOf(kernel_), profile_, memory_);
    if (!module)
      return module.status();
    module_ = std::move(*module);
    std::mt19937 random(1);
    std::vector<uint32_t> words(size_t(blocks) * threadsPerBlock * 32);
    for (uint32_t &word : words)
      word = kernel_.input(random);
    for (uint64_t *address : {&in_, &out_}) {
      Result<uint64_t> allocated = memory_.allocate(words.size() * 4, 256);
      if (!allocated)
        return allocated.status();
      *address = *allocated;
      if (Status status = memory_.write(*address, words.data(), words.size() * 4); !status)
        return status;
    }
    return {};
  }

  /// Work per second.
  Result<double> rate(const Options &options) {
    // Turns for about 20 ms, then the best of the runs.
    uint32_t turns = 16;
    double best = 0;
    for (unsigned run = 0; run < 9; ++run) {
      double (*now)() = options.threads == 1 ? processorSeconds : clockSeconds;
      double began = now();
      if (Status status = launchOnce(turns, options); !status)
        return status;
      double seconds = now() - began;
      if (seconds < 0.01 && turns < (1u << 20)) {
        turns = static_cast<uint32_t>(turns * std::clamp(0.02 / std::max(seconds, 1e-6), 2.0, 64.0));
        run = 0;
        continue;
      }
      best = std::max(best, kernel_.perTurn * turns * blocks * (threadsPerBlock / 32) / seconds);
    }
    return best;
  }

private:
  Status launchOnce(uint32_t turns, const Options &options) {
    LaunchConfig config;
    config.kernel = "k";
    config.grid.x = blocks;
    config.block.x = threadsPerBlock;
    config.parameters.resize(20);
    std::memcpy(&config.parameters[0], &in_, 8);
    std::memcpy(&config.parameters[8], &out_, 8);
    std::memcpy(&config.parameters[16], &turns, 4);
    LaunchReport report = launch(*module_, memory_, profile_, config, options);
    if (report.status != LaunchStatus::Success || !report.findings.empty())
      return {Code::Internal, fmt::format("{}: {} {}", kernel_.name, toString(report.status),
                                          report.findings.empty() ? "" : report.findings[0].text)};
    return {};
  }

  const Kernel &kernel_;
  const DeviceProfile &profile_;
  GlobalMemory memory_;
  std::unique_ptr<Module> module_;
  uint64_t in_ = 0, out_ = 0;
};

Status measure(const Kernel &kernel, nlohmann::json &rows) {
  Bench bench(kernel);
  if (Status status = bench.load(); !status)
    return status;
  constexpr std::pair<MmaMode, std::string_view> modes[] = {
      {MmaMode::Exact, "exact"}, {MmaMode::Hardware, "hardware"}, {MmaMode::Stress, "stress"}};
  for (auto &[mode, name] : modes) {
    if (mode != MmaMode::Exact && !kernel.matrix)
      continue;
    for (bool checks : {false, true})
      for (unsigned threads : {1u, 2u}) {
        if (threads > std::max(1u, std::thread::hardware_concurrency()) ||
            (threads > 1 && (checks || mode != MmaMode::Exact)))
          continue;
        Options options;
        options.mma = mode;
        options.checks = checks;
        options.threads = threads;
        Result<double> rate = bench.rate(options);
        if (!rate)
          return rate.status();
        rows.push_back({{"kernel", kernel.name},
                        {"matrix", kernel.matrix},
                        {"mode", kernel.matrix ? name : ""},
                        {"checks", checks},
                        {"threads", threads},
                        {"rate", *rate}});
      }
  }
  return {};
}

} // namespace

int main(int count, char **arguments) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Kernel &kernel : kernels()) {
    bool wanted = count < 2;
    for (int i = 1; i < count; ++i)
      wanted |= kernel.name.starts_with(arguments[i]);
    if (!wanted)
      continue;
    if (Status status = measure(kernel, rows); !status) {
      fmt::print(stderr, "{}\n", status.text());
      return 1;
    }
  }
  fmt::print("{}\n", rows.dump());
  return 0;
}
