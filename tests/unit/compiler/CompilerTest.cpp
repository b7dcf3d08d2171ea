// The compiler behind its C ABI: stages, their replacement, refusals, determinism, code quality of the default
// schedules.
#include "runtime/image/CompilerInterface.h"
#include "runtime/image/KernelImage.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace tessera;

namespace {

struct Outcome {
  tessera_compile_code code;
  std::string bytes, text;
};

struct Request {
  AttentionSpec spec;
  std::optional<Schedule> schedule;
  std::string target = "sm_80", emit = "image", stages, overrideStage, overrideFile, mutate;

  Outcome run() const {
    std::string specText = spec.text();
    std::string scheduleText = (schedule ? *schedule : defaultSchedule(spec, *Target::parse(target))).text();
    auto orNull = [](const std::string &s) { return s.empty() ? nullptr : s.c_str(); };
    tessera_compile_request request{sizeof(request),       specText.c_str(),     scheduleText.c_str(),
                                    target.c_str(),        emit.c_str(),         orNull(stages),
                                    orNull(overrideStage), orNull(overrideFile), orNull(mutate)};
    tessera_compiler_blob result{}, error{};
    Outcome out{tessera_compile(&request, &result, &error), {}, {}};
    out.bytes.assign(result.data, result.size);
    out.text.assign(error.data, error.size);
    tessera_compiler_release(&result);
    tessera_compiler_release(&error);
    return out;
  }
};

std::filesystem::path freshFolder(const char *name) {
  auto path = std::filesystem::temp_directory_path() /
              (std::string("tessera-compiler-test-") + name + std::to_string(getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

bool hasAssembler() { return std::string_view(tessera_compiler_assembler()).substr(0, 4) != "none"; }

TEST(Compiler, EveryStageIsWhatItsNameSays) {
  const std::pair<const char *, const char *> expected[] = {
      {"attn", "attn.attention"},          {"tiled", "attn.kernel"}, {"online", "attn.row_max"},
      {"scheduled", "attn.copy_async"},    {"nvvm", "llvm.func"},    {"llvm", "define ptx_kernel void @attention"},
      {"ptx", ".visible .entry attention"}};
  for (auto [stage, word] : expected) {
    Request request;
    request.emit = stage;
    Outcome outcome = request.run();
    ASSERT_EQ(outcome.code, TESSERA_COMPILE_OK) << stage << ": " << outcome.text;
    EXPECT_NE(outcome.bytes.find(word), std::string::npos) << stage;
  }
}

TEST(Compiler, OneLoopInTheOnlineStageAndThreeInTheTiledOne) {
  auto loops = [](const char *stage) {
    Request request;
    request.emit = stage;
    std::string text = request.run().bytes;
    unsigned count = 0;
    for (size_t at = text.find("scf.for"); at != std::string::npos; at = text.find("scf.for", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(loops("tiled"), 3u);
  EXPECT_EQ(loops("online"), 1u);
}

TEST(Compiler, WritesEveryStageToItsFolder) {
  Request request;
  auto folder = freshFolder("stages");
  request.stages = folder.string();
  ASSERT_EQ(request.run().code, TESSERA_COMPILE_OK);
  for (const char *name :
       {"attn.mlir", "tiled.mlir", "online.mlir", "scheduled.mlir", "nvvm.mlir", "kernel.ll", "kernel.ptx"})
    EXPECT_GT(std::filesystem::file_size(folder / name), 0u) << name;
  if (hasAssembler()) {
    EXPECT_GT(std::filesystem::file_size(folder / "kernel.cubin"), 0u);
    EXPECT_GT(std::filesystem::file_size(folder / "assembler.log"), 0u);
  }
  std::filesystem::remove_all(folder);
}

TEST(Compiler, AStageReplacedByItsOwnTextGivesTheSameKernel) {
  auto folder = freshFolder("override");
  Request plain;
  plain.stages = folder.string();
  plain.emit = "ptx";
  std::string ptx = plain.run().bytes;
  const std::pair<const char *, const char *> stages[] = {
      {"attn", "attn.mlir"}, {"tiled", "tiled.mlir"}, {"online", "online.mlir"}, {"scheduled", "scheduled.mlir"},
      {"nvvm", "nvvm.mlir"}, {"llvm", "kernel.ll"},   {"ptx", "kernel.ptx"}};
  for (auto [stage, file] : stages) {
    Request replaced;
    replaced.emit = "ptx";
    replaced.overrideStage = stage;
    replaced.overrideFile = (folder / file).string();
    Outcome outcome = replaced.run();
    EXPECT_EQ(outcome.code, TESSERA_COMPILE_OK) << stage << ": " << outcome.text;
    EXPECT_TRUE(outcome.bytes == ptx) << stage;
  }
  std::filesystem::remove_all(folder);
}

TEST(Compiler, RefusalsNameTheFault) {
  auto folder = freshFolder("refuse");
  Request missing;
  missing.overrideStage = "tiled";
  missing.overrideFile = (folder / "absent.mlir").string();
  Outcome outcome = missing.run();
  EXPECT_EQ(outcome.code, TESSERA_COMPILE_FILE);
  EXPECT_NE(outcome.text.find("absent.mlir"), std::string::npos);

  std::ofstream(folder / "bad.mlir") << "module { attn.nonsense }";
  Request malformed;
  malformed.overrideStage = "tiled";
  malformed.overrideFile = (folder / "bad.mlir").string();
  outcome = malformed.run();
  EXPECT_EQ(outcome.code, TESSERA_COMPILE_FAILED);
  EXPECT_NE(outcome.text.find("nonsense"), std::string::npos) << outcome.text;

  Request stage;
  stage.emit = "sass";
  outcome = stage.run();
  EXPECT_EQ(outcome.code, TESSERA_COMPILE_INVALID_ARGUMENT);
  EXPECT_NE(outcome.text.find("sass"), std::string::npos);

  Request dim;
  dim.spec.headDim = 100;
  outcome = dim.run();
  EXPECT_NE(outcome.code, TESSERA_COMPILE_OK);
  EXPECT_NE(outcome.text.find("100"), std::string::npos) << outcome.text;

  Request schedule;
  schedule.schedule = Schedule();
  schedule.schedule->tileKv = 24;
  outcome = schedule.run();
  EXPECT_NE(outcome.code, TESSERA_COMPILE_OK);
  EXPECT_NE(outcome.text.find("24"), std::string::npos) << outcome.text;
  EXPECT_EQ(tessera_compile(nullptr, nullptr, nullptr), TESSERA_COMPILE_INVALID_ARGUMENT);
  std::filesystem::remove_all(folder);
}

TEST(Compiler, AReplacedStageThatLlvmCannotSelectIsAnErrorNotAnAbort) {
  auto folder = freshFolder("abort");
  std::ofstream(folder / "kernel.ll") << "target triple = \"nvptx64-nvidia-cuda\"\n"
                                         "declare float @llvm.log2.f32(float)\n"
                                         "define ptx_kernel void @attention(ptr addrspace(1) %p) {\n"
                                         "  %x = load float, ptr addrspace(1) %p\n"
                                         "  %y = call float @llvm.log2.f32(float %x)\n"
                                         "  store float %y, ptr addrspace(1) %p\n  ret void\n}\n";
  Request request;
  request.emit = "ptx";
  request.overrideStage = "llvm";
  request.overrideFile = (folder / "kernel.ll").string();
  Outcome outcome = request.run();
  EXPECT_EQ(outcome.code, TESSERA_COMPILE_FAILED);
  EXPECT_NE(outcome.text.find("log2"), std::string::npos) << outcome.text;
  std::filesystem::remove_all(folder);
}

TEST(Compiler, B2_66_SameInputsGiveTheSameBytes) {
  Request request;
  request.spec.mask = Mask::causal(Align::BottomRight);
  std::string first = request.run().bytes;
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(request.run().bytes == first);
}

TEST(Compiler, CompilesInParallelAndAllAlike) {
  Request request;
  request.spec.headDim = request.spec.valueDim = 64;
  std::string first = request.run().bytes;
  std::vector<std::string> others(4);
  std::vector<std::thread> threads;
  for (std::string &other : others)
    threads.emplace_back([&] { other = request.run().bytes; });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &other : others)
    EXPECT_TRUE(other == first);
}

TEST(Compiler, ImageCarriesWhatALaunchNeeds) {
  Request request;
  auto image = KernelImage::parse(request.run().bytes);
  ASSERT_TRUE(image) << image.status().text();
  EXPECT_EQ(image->entry, "attention");
  EXPECT_EQ(image->blockThreads, 128u);
  EXPECT_EQ(image->tileQ, 128u);
  EXPECT_EQ(image->buildId, tessera_compiler_build_id());
  EXPECT_EQ(image->cubin.empty(), !hasAssembler());
  EXPECT_NE(image->ptx.find(".entry attention"), std::string::npos);
}

class DefaultSchedules : public testing::TestWithParam<std::tuple<const char *, unsigned>> {};

TEST_P(DefaultSchedules, AssembleWithoutSpills) {
  if (!hasAssembler())
    GTEST_SKIP() << "skipped: " << tessera_compiler_assembler();
  auto [target, dim] = GetParam();
  for (Mask mask : {Mask::full(), Mask::causal(Align::BottomRight), Mask::window(511, 0, Align::BottomRight)})
    for (DType type : {DType::BF16, DType::F16}) {
      Request request;
      request.target = target;
      request.spec.headDim = request.spec.valueDim = dim;
      request.spec.dtype = type;
      request.spec.mask = mask;
      request.spec.outputs = Output::O | Output::LSE;
      Outcome outcome = request.run();
      ASSERT_EQ(outcome.code, TESSERA_COMPILE_OK) << outcome.text;
      auto image = KernelImage::parse(outcome.bytes);
      ASSERT_TRUE(image) << image.status().text();
      EXPECT_EQ(image->spillBytes, 0u) << request.spec.text();
    }
}

// The assembler allots the last registers by chance of order: these loops are the ones whose cost is stated, and they
// hold no spill.
TEST(Compiler, TheMeasuredLoopsDoNotSpill) {
  if (!hasAssembler())
    GTEST_SKIP() << "skipped: " << tessera_compiler_assembler();
  for (const char *schedule :
       {"v1:q128,kv64,w4,s1,lazy8,add,qsmem,online", "v1:q128,kv64,w4,s1,anchored,add,qsmem,online",
        "v1:q128,kv128,w4,s1,lazy8,add,qsmem,online", "v1:q128,kv128,w4,s1,anchored,add,qsmem,online"}) {
    Request request;
    request.schedule = *Schedule::parse(schedule);
    request.spec.headDim = request.spec.valueDim = request.schedule->tileKv == 64 ? 128 : 64;
    auto image = KernelImage::parse(request.run().bytes);
    ASSERT_TRUE(image) << image.status().text();
    EXPECT_EQ(image->spillBytes, 0u) << schedule;
  }
}

// What they add stands around the main loop: the registers in it are those of the default.
TEST(Compiler, KnobsOfTheTileOrderDoNotSpill) {
  if (!hasAssembler())
    GTEST_SKIP() << "skipped: " << tessera_compiler_assembler();
  for (unsigned dim : {128u, 256u})
    for (Mask mask : {Mask::full(), Mask::causal(Align::BottomRight)})
      for (const char *knobs : {",pack", ",h8", ",persist", ",pack,h8,first,persist"}) {
        Request request;
        request.spec.headDim = request.spec.valueDim = dim;
        request.spec.mask = mask;
        request.schedule =
            *Schedule::parse(defaultSchedule(request.spec, *Target::parse(request.target)).text() + knobs);
        auto image = KernelImage::parse(request.run().bytes);
        ASSERT_TRUE(image) << image.status().text();
        EXPECT_EQ(image->spillBytes, 0u) << request.schedule->text() << " at d " << dim;
        EXPECT_EQ(image->grid, gridRuleOf(*request.schedule));
        EXPECT_EQ(image->parameters.back().name == "pairs",
                  request.schedule->headGroup > 1 || request.schedule->persistent);
      }
}

INSTANTIATE_TEST_SUITE_P(Targets, DefaultSchedules,
                         testing::Combine(testing::Values("sm_80", "sm_86", "sm_89", "sm_90", "sm_120"),
                                          testing::Values(64u, 96u, 128u, 256u)));

} // namespace
