// PTX around single instructions.
#include "tests/unit/simulator/Harness.h"

#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::test {

std::string mutated(std::string_view original, std::string_view from, std::string_view to) {
  std::string text(original);
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

namespace {
std::string profileFor(std::string_view target) {
  return target.starts_with("sm_12")   ? "rtx5090"
         : target.starts_with("sm_10") ? "b200"
         : target.starts_with("sm_9")  ? "h100"
         : target == "sm_89"           ? "rtx4090"
         : target == "sm_86"           ? "rtx3090"
                                       : "a100";
}
const char *registerType(char width) {
  return width == '2' ? "b16" : width == '4' ? "b32" : width == '8' ? "b64" : "pred";
}
} // namespace

std::vector<std::vector<uint64_t>> evaluate(const std::string &text, std::string_view shape,
                                            const std::vector<std::vector<uint64_t>> &cases, std::string_view target,
                                            Options options) {
  size_t colon = shape.find(':');
  std::string_view results = shape.substr(0, colon), sources = shape.substr(colon + 1);
  static const char *resultNames[] = {"%d", "%q", "%d2", "%d3"}, *sourceNames[] = {"%a", "%b", "%c", "%e"};
  std::string ptx =
      header(target) +
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %in, %out, %t;\n.reg .b32 %lane, %w;\n";
  for (size_t i = 0; i < results.size(); ++i)
    ptx += fmt::format(".reg .{} {};\n", registerType(results[i]), resultNames[i]);
  for (size_t i = 0; i < sources.size(); ++i)
    ptx += fmt::format(".reg .{} {};\n", registerType(sources[i]), sourceNames[i]);
  ptx += "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %lane, %laneid;\nmul.wide.u32 %t, %lane, "
         "32;\nadd.u64 %in, %in, %t;\nadd.u64 %out, %out, %t;\n";
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == 'p')
      ptx += fmt::format("ld.global.u32 %w, [%in+{}];\nsetp.ne.u32 {}, %w, 0;\n", 8 * i, sourceNames[i]);
    else
      ptx += fmt::format("ld.global.{} {}, [%in+{}];\n", registerType(sources[i]), sourceNames[i], 8 * i);
  }
  ptx += text + "\n";
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i] == 'p')
      ptx += fmt::format("selp.u32 %w, 1, 0, {};\nst.global.u32 [%out+{}], %w;\n", resultNames[i], 8 * i);
    else
      ptx += fmt::format("st.global.{} [%out+{}], {};\n", registerType(results[i]), 8 * i, resultNames[i]);
  }
  ptx += "ret;\n}\n";
  Machine machine(profileFor(target));
  machine.options = options;
  machine.load(ptx);
  std::vector<std::vector<uint64_t>> all;
  for (size_t first = 0; first < cases.size(); first += 32) {
    std::vector<uint64_t> in(32 * 4), zero(32 * 4);
    for (size_t lane = 0; lane < 32; ++lane) { // lanes without a case repeat the first
      const auto &values = cases[first + lane < cases.size() ? first + lane : first];
      for (size_t i = 0; i < values.size(); ++i)
        in[lane * 4 + i] = values[i];
    }
    uint64_t pin = machine.upload(in), pout = machine.upload(zero);
    expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {pin, pout}));
    auto out = machine.download<uint64_t>(pout, 128);
    for (size_t lane = 0; lane < 32 && first + lane < cases.size(); ++lane)
      all.push_back(
          {out.begin() + static_cast<long>(lane * 4), out.begin() + static_cast<long>(lane * 4 + results.size())});
  }
  return all;
}

void expectResults(const std::string &text, std::string_view shape, const std::vector<Case> &cases,
                   std::string_view target) {
  std::vector<std::vector<uint64_t>> sources;
  for (const Case &c : cases)
    sources.push_back(c.sources);
  auto results = evaluate(text, shape, sources, target);
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string inputs;
    for (uint64_t s : cases[i].sources)
      inputs += fmt::format(" {:#x}", s);
    EXPECT_EQ(fmt::format("{:#x}", results[i][0]), fmt::format("{:#x}", cases[i].expected))
        << text << " with" << inputs;
  }
}

std::string loadError(const std::string &ptx, std::string_view profile) {
  GlobalMemory memory(uint64_t(1) << 30);
  auto module = Module::load(ptx, device(profile), memory);
  return module.ok() ? std::string() : module.status().message();
}

std::string instructionError(const std::string &instruction, std::string_view target, std::string_view profile) {
  return loadError(header(target) +
                       ".shared .align 16 .b8 smem[1024];\n.visible .entry k(.param .u64 in)\n{\n.reg .b32 "
                       "%r<40>;\n.reg .f32 %f<40>;\n"
                       ".reg .b64 %d<20>;\n.reg .f64 %fd<9>;\n.reg .b16 %h<20>;\n.reg .pred %p<9>;\n" +
                       instruction + "\nret;\n}\n",
                   profile);
}

} // namespace tessera::sim::test
