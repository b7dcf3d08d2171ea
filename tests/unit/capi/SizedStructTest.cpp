// Structs of callers that were built with an older or a newer header, and structs whose size was never set.
#include "tests/unit/capi/Capi.h"

#include <cstddef>
#include <cstring>

namespace tessera::capi {
namespace {

/// The same struct in a later version of the header.
template <typename T> struct Newer {
  T known;
  uint64_t added[2];
};

template <typename T> T zeroWithSize() {
  T zero{};
  zero.size = sizeof(T);
  return zero;
}

template <typename T> bool isZero(const T &initial) {
  const T zero = zeroWithSize<T>();
  return std::memcmp(&initial, &zero, sizeof(T)) == 0;
}

using CSizedStruct = fakes::Test;

TEST_F(CSizedStruct, InitialisersAreZeroButForTheSize) {
  EXPECT_TRUE(isZero<tessera_spec>(TESSERA_SPEC_INIT));
  EXPECT_TRUE(isZero<tessera_problem>(TESSERA_PROBLEM_INIT));
  EXPECT_TRUE(isZero<tessera_device_info>(TESSERA_DEVICE_INFO_INIT));
  EXPECT_TRUE(isZero<tessera_engine_options>(TESSERA_ENGINE_OPTIONS_INIT));
  EXPECT_TRUE(isZero<tessera_prepare_options>(TESSERA_PREPARE_OPTIONS_INIT));
  EXPECT_TRUE(isZero<tessera_counters>(TESSERA_COUNTERS_INIT));
  EXPECT_TRUE(isZero<tessera_launch_arguments>(TESSERA_LAUNCH_ARGUMENTS_INIT));
  EXPECT_TRUE(isZero<tessera_kernel_info>(TESSERA_KERNEL_INFO_INIT));
}

// A released layout is a promise: these numbers may grow, but no member may move.
TEST_F(CSizedStruct, LayoutIsThatOfTheFirstRelease) {
  EXPECT_EQ(sizeof(tessera_spec), 80u);
  EXPECT_EQ(offsetof(tessera_spec, window_left), 32u);
  EXPECT_EQ(offsetof(tessera_spec, access_bytes), 72u);
  EXPECT_EQ(sizeof(tessera_problem), 48u);
  EXPECT_EQ(sizeof(tessera_device_info), 104u);
  EXPECT_EQ(offsetof(tessera_device_info, uuid), 88u);
  EXPECT_EQ(sizeof(tessera_engine_options), 104u);
  EXPECT_EQ(offsetof(tessera_engine_options, policy), 68u);
  EXPECT_EQ(sizeof(tessera_prepare_options), 24u);
  EXPECT_EQ(sizeof(tessera_counters), 168u);
  EXPECT_EQ(sizeof(tessera_launch_arguments), 56u);
  EXPECT_EQ(sizeof(tessera_kernel_info), 152u);
  EXPECT_EQ(offsetof(tessera_kernel_info, compile_ms), 128u);
  EXPECT_EQ(sizeof(tessera_tensor), 80u);
  EXPECT_EQ(sizeof(tessera_rows), 56u);
}

TEST_F(CSizedStruct, OlderCallersGetTheDefaultsOfWhatTheyLack) {
  tessera_spec spec = bf16Spec();
  spec.mask = TESSERA_MASK_CAUSAL;
  spec.align = TESSERA_ALIGN_BOTTOM_RIGHT;
  spec.access_bytes = 3; // beyond the size
  spec.has_scale = 77;
  spec.size = offsetof(tessera_spec, has_scale);
  tessera_text *text = nullptr;
  ASSERT_EQ(tessera_spec_to_text(&spec, &text), TESSERA_OK) << tessera_last_error();
  TextHandle owned(text);
  AttentionSpec expected;
  expected.mask = Mask::causal(Align::BottomRight);
  EXPECT_EQ(tessera_text_string(text), expected.text());
}

TEST_F(CSizedStruct, OlderCallersAreFilledNoFurtherThanTheirStruct) {
  DeviceHandle device = openDevice();
  tessera_device_info info;
  std::memset(&info, 0xee, sizeof info);
  info.size = offsetof(tessera_device_info, memory_bytes);
  ASSERT_EQ(tessera_device_get_info(device.get(), &info), TESSERA_OK);
  EXPECT_EQ(info.size, offsetof(tessera_device_info, memory_bytes)) << "stays the caller's";
  EXPECT_STREQ(info.name, "cuda:0");
  EXPECT_EQ(info.sm_count, 100u);
  EXPECT_EQ(info.memory_bytes, 0xeeeeeeeeeeeeeeee);
  EXPECT_EQ(info.uuid[15], 0xee);
}

TEST_F(CSizedStruct, NewerCallersWorkWhileTheNewMembersAreZero) {
  Newer<tessera_spec> spec{bf16Spec(), {}};
  spec.known.size = sizeof spec;
  EXPECT_EQ(tessera_spec_validate(&spec.known), TESSERA_OK) << tessera_last_error();
  spec.added[1] = 1ull << 40;
  EXPECT_EQ(tessera_spec_validate(&spec.known), TESSERA_UNSUPPORTED);
  EXPECT_STREQ(tessera_last_error(), "tessera_spec of 96 bytes sets the byte 93, this library knows 80 bytes");
  EXPECT_STRNE(tessera_last_hint(), "");
}

TEST_F(CSizedStruct, NewerCallersGetZerosBeyondWhatIsKnown) {
  EngineHandle engine = createEngine();
  Newer<tessera_counters> counters;
  std::memset(&counters, 0xee, sizeof counters);
  counters.known.size = sizeof counters;
  ASSERT_EQ(tessera_engine_get_counters(engine.get(), &counters.known), TESSERA_OK);
  EXPECT_EQ(counters.known.size, sizeof counters);
  EXPECT_EQ(counters.known.compiles, 0u);
  EXPECT_EQ(counters.added[0], 0u);
  EXPECT_EQ(counters.added[1], 0u);
}

TEST_F(CSizedStruct, SizesThatAreNoneAreRefusedBeforeAnythingIsRead) {
  for (size_t size : {size_t(0), size_t(4), size_t(12), size_t(79), size_t(81), size_t(4104), SIZE_MAX - 7}) {
    tessera_spec spec = bf16Spec();
    spec.size = size;
    EXPECT_EQ(tessera_spec_validate(&spec), TESSERA_INVALID_ARGUMENT) << size;
    EXPECT_NE(std::string(tessera_last_error()).find("tessera_spec.size is " + std::to_string(size)), std::string::npos)
        << tessera_last_error();
  }
  EngineHandle engine = createEngine();
  tessera_counters counters = TESSERA_COUNTERS_INIT;
  counters.size = 0;
  EXPECT_EQ(tessera_engine_get_counters(engine.get(), &counters), TESSERA_INVALID_ARGUMENT);
}

TEST_F(CSizedStruct, EveryStructChecksItsSize) {
  DeviceHandle device = openDevice();
  EngineHandle engine = createEngine();
  KernelHandle kernel = prepare(engine, device, bf16Spec());
  auto refused = [](const char *name, tessera_code code) {
    EXPECT_EQ(code, TESSERA_INVALID_ARGUMENT) << name;
    EXPECT_EQ(std::string(tessera_last_error()).find(std::string(name) + ".size is 5"), 0u) << tessera_last_error();
  };
  const tessera_spec spec = bf16Spec();
  tessera_problem extents = problem(1, 1, 1, 1, 1), wrongExtents = extents;
  wrongExtents.size = 5;
  tessera_engine_options options = TESSERA_ENGINE_OPTIONS_INIT;
  tessera_prepare_options prepareOptions = TESSERA_PREPARE_OPTIONS_INIT;
  tessera_launch_arguments arguments = TESSERA_LAUNCH_ARGUMENTS_INIT;
  tessera_kernel_info info = TESSERA_KERNEL_INFO_INIT;
  tessera_device_info deviceInfo = TESSERA_DEVICE_INFO_INIT;
  options.size = prepareOptions.size = arguments.size = info.size = deviceInfo.size = 5;
  tessera_engine *newEngine;
  tessera_kernel *newKernel;
  refused("tessera_engine_options", tessera_engine_create(&options, &newEngine));
  refused("tessera_problem",
          tessera_engine_prepare(engine.get(), &spec, &wrongExtents, device.get(), nullptr, &newKernel));
  refused("tessera_prepare_options",
          tessera_engine_prepare(engine.get(), &spec, &extents, device.get(), &prepareOptions, &newKernel));
  refused("tessera_launch_arguments", tessera_kernel_launch(kernel.get(), &arguments, nullptr));
  refused("tessera_kernel_info", tessera_kernel_get_info(kernel.get(), &info));
  refused("tessera_device_info", tessera_device_get_info(device.get(), &deviceInfo));
}

} // namespace
} // namespace tessera::capi
