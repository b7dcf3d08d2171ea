// tessera_sim_*: options are all taken or none, and come back as they were set.
#include "tests/unit/driver/SimulatorFixture.h"

#include <nlohmann/json.hpp>

using namespace tessera::test;

namespace {

class SimulatorPrivateApi : public Simulator {};

TEST_F(SimulatorPrivateApi, OptionsComeBack) {
  auto wanted = nlohmann::json::parse(
      R"({"checks": false, "races": false, "counters": false, "schedule": "random", "mma": "stress", "seed": 18446744073709551615,
    "threads": 3, "max_findings": 5, "instruction_limit": 1000, "clock_mhz": 1200.5, "print": false, "fail_on_findings": false, "sticky": false})");
  ASSERT_EQ(tessera_sim_configure(wanted.dump().c_str()), 0) << tessera_sim_last_error();
  auto options = nlohmann::json::parse(tessera_sim_options());
  for (const auto &[key, value] : wanted.items())
    EXPECT_EQ(options[key], value) << key;
  EXPECT_EQ(options.size(), wanted.size() + 1) << "and the devices";
  ASSERT_EQ(tessera_sim_reset(), 0);
  EXPECT_EQ(nlohmann::json::parse(tessera_sim_options())["checks"], true);
}

TEST_F(SimulatorPrivateApi, WrongOptionsChangeNothingAndSayWhy) {
  std::string before = tessera_sim_options();
  for (auto [json, expected] : {std::pair{"", "JSON object"},
                                {"[]", "JSON object"},
                                {"{\"checks\": 1}", "\"checks\" is 1"},
                                {"{\"seed\": 7, \"chekcs\": true}", "no option \"chekcs\""},
                                {"{\"mma\": \"fast\"}", "\"hardware\", \"exact\", \"stress\""},
                                {"{\"schedule\": 3}", "\"late\""},
                                {"{\"schedule\": \"latest\"}", "\"late\""},
                                {"{\"clock_mhz\": -1}", "megahertz"},
                                {"{\"threads\": -1}", "integer from 0"},
                                {"{\"threads\": 5000000000}", "4294967295"},
                                {"{\"devices\": \"a100\"}", "list"},
                                {"{\"devices\": [\"a100\", \"v100\"]}", "v100"}}) {
    EXPECT_NE(tessera_sim_configure(json), 0) << json;
    EXPECT_NE(std::string(tessera_sim_last_error()).find(expected), std::string::npos) << tessera_sim_last_error();
    EXPECT_EQ(tessera_sim_options(), before);
  }
  EXPECT_NE(tessera_sim_configure(nullptr), 0);
}

TEST_F(SimulatorPrivateApi, DevicesCanBeAdded) {
  int before = 0, after = 0;
  ASSERT_EQ(cuDeviceGetCount(&before), CUDA_SUCCESS);
  ASSERT_EQ(tessera_sim_configure(R"({"devices": ["rtx5090", "rtx5090"]})"), 0);
  ASSERT_EQ(cuDeviceGetCount(&after), CUDA_SUCCESS);
  EXPECT_EQ(after, before + 2);
  char first[256], second[256];
  ASSERT_EQ(cuDeviceGetName(first, sizeof(first), before), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetName(second, sizeof(second), before + 1), CUDA_SUCCESS);
  EXPECT_STREQ(first, second);
}

TEST_F(SimulatorPrivateApi, ProfilesAreListedAndEachCanBeADevice) {
  auto profiles = nlohmann::json::parse(tessera_sim_profiles());
  EXPECT_GE(profiles.size(), 7u);
  EXPECT_EQ(profiles[0], "a100");
  for (const auto &name : profiles) {
    int ordinal = -1;
    EXPECT_EQ(tessera_sim_find_device(name.get<std::string>().c_str(), &ordinal), 0) << name;
  }
}

TEST_F(SimulatorPrivateApi, NullsAreRefused) {
  int ordinal = 0;
  EXPECT_EQ(tessera_sim_find_device(nullptr, &ordinal), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tessera_sim_find_device("a100", nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tessera_sim_find_device("", &ordinal), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_STREQ(tessera_sim_report(), "{}");
  EXPECT_STREQ(tessera_sim_counters(), "{}");
}

} // namespace
