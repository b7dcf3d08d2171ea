// Every kernel of the grid assembles for every target of the family.
#include "tests/kernels/GridCases.h"

#include "runtime/engine/CompilerLibrary.h"

#include <gtest/gtest.h>

#include <set>

using namespace tessera;
using namespace tessera::kernels;

namespace {

class Targets : public testing::TestWithParam<std::string> {};

TEST_P(Targets, EveryKernelOfTheGridAssembles) {
  const auto compiler = CompilerLibrary::open();
  ASSERT_TRUE(compiler) << compiler.status().text();
  const Result<Target> target = Target::parse(GetParam());
  ASSERT_TRUE(target) << target.status().text();
  std::set<std::string> done;
  for (const GridCase &one : gridCases()) {
    CompileRequest request;
    request.spec = one.test.spec;
    request.spec.accessBytes = accessBytesOf(one.test);
    request.schedule = one.test.schedule.value_or(defaultSchedule(request.spec, *target));
    if (!request.schedule.legal(request.spec, *target).ok()) // smaller shared memory than the device of the grid has
      request.schedule = defaultSchedule(request.spec, *target);
    request.target = GetParam();
    request.emit = "cubin";
    if (!done.insert(request.spec.text() + request.schedule.text()).second)
      continue;
    const Result<CompileOutput> output = (*compiler)->compile(request);
    EXPECT_TRUE(output) << one.name << " with " << request.schedule.text() << ": " << output.status().text();
    if (output)
      EXPECT_FALSE(output->bytes.empty()) << one.name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Target &target : Target::all())
    all.emplace_back(target.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Family, Targets, testing::ValuesIn(names()), [](const auto &info) { return info.param; });

} // namespace
