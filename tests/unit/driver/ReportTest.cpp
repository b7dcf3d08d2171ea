// What reports and counters say as JSON: every field of a finding, the other party included, and sums that agree.
#include "tests/unit/driver/SimulatorFixture.h"

#include <nlohmann/json.hpp>

using namespace tessera::test;
using nlohmann::json;

namespace {

// Two warps write one word of shared memory with no barrier between them; then a loop.
constexpr const char *racing = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry race(.param .u64 out)
{
  .shared .align 4 .b8 cell[4];
  .reg .b32 %t, %i;
  .reg .b64 %o;
  .reg .pred %p;
  mov.u32 %t, %tid.x;
  st.shared.u32 [cell], %t;
  ld.param.u64 %o, [out];
  mov.u32 %i, 0;
AGAIN:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, 4;
  @%p bra AGAIN;
  st.global.u32 [%o], %i;
  ret;
}
)";

class SimulatorReport : public Simulator {
protected:
  CUresult run(unsigned threads) {
    CUdeviceptr out = allocate(64);
    void *parameters[] = {&out};
    if (CUresult result =
            cuLaunchKernel(kernel(racing, "race"), 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
        result != CUDA_SUCCESS)
      return result;
    return cuCtxSynchronize();
  }
};

TEST_F(SimulatorReport, AFindingNamesBothParties) {
  ASSERT_EQ(tessera_sim_configure(R"({"sticky": false})"), 0);
  EXPECT_EQ(run(64), CUDA_ERROR_LAUNCH_FAILED);
  const json report = json::parse(tessera_sim_report());
  EXPECT_EQ(report["kernel"], "race");
  EXPECT_EQ(report["device"], "a100");
  json race;
  for (const json &finding : report["findings"])
    if (finding["kind"] == "data race" && finding["space"] == "shared")
      race = finding;
  ASSERT_FALSE(race.is_null()) << report.dump(1);
  EXPECT_EQ(race["line"], 11);
  EXPECT_EQ(race["instruction"], "st.shared.u32 [cell], %t");
  EXPECT_EQ(race["block"], json({0, 0, 0}));
  EXPECT_EQ(race["bytes"], 4);
  EXPECT_TRUE(race["address"].is_number());
  EXPECT_NE(race["object"].get<std::string>().find("shared variable cell"), std::string::npos);
  EXPECT_EQ(race["other_line"], 11);
  EXPECT_EQ(race["other_instruction"], "st.shared.u32 [cell], %t");
  EXPECT_EQ(race["other_block"], json({0, 0, 0}));
  const unsigned thread = race["thread"][0], other = race["other_warp"];
  EXPECT_NE(thread / 32, other);
  EXPECT_LT(other, 2u);
  for (const char *part : {"line 11", "cell", "warp 0", "warp 1", "kernel race"})
    EXPECT_NE(race["text"].get<std::string>().find(part), std::string::npos) << part << " in " << race["text"];
}

TEST_F(SimulatorReport, CountersHoldLoopsAndClocksThatAddUp) {
  ASSERT_EQ(run(32), CUDA_SUCCESS);
  const json counters = json::parse(tessera_sim_counters());
  ASSERT_EQ(counters["loops"].size(), 1u);
  const json &loop = counters["loops"][0];
  EXPECT_EQ(loop["label"], "AGAIN");
  EXPECT_EQ(loop["iterations"], 4);
  EXPECT_EQ(loop["warp_instructions"], 12);
  EXPECT_EQ(loop["parent"], nullptr);
  EXPECT_EQ(loop["header_line"], 15);
  EXPECT_EQ(loop["by_pipe"]["alu"], 8);
  EXPECT_EQ(counters["footprint"]["written_bytes"], 4);
  EXPECT_EQ(counters["clock_mhz"], 1410);
  std::map<std::string, double> sums;
  for (const json &instruction : counters["instructions"]) {
    EXPECT_EQ(instruction["function"], "race");
    const int line = instruction["line"];
    EXPECT_EQ(instruction["loop"], line >= 15 && line <= 17 ? json(0) : json(nullptr)) << line;
    for (const auto &[unit, clocks] : instruction["modelled_clocks"].items())
      sums[unit] += clocks.get<double>();
  }
  for (const auto &[unit, clocks] : counters["modelled_clocks"].items())
    if (unit != "memory")
      EXPECT_DOUBLE_EQ(sums[unit], clocks.get<double>()) << unit;
  // 3 us for the launch, and what one access to memory takes, since this kernel does less.
  EXPECT_DOUBLE_EQ(counters["modelled_microseconds"].get<double>(), 3 + 535 / 1410.0);
}

} // namespace
