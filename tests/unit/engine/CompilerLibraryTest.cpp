// CompilerLibrary: where it is looked for, what comes through, and a clear answer where there is none.
#include "tests/unit/engine/Fakes.h"

#include <cstdlib>

namespace tessera {
namespace {

using CompilerLibraryOpen = fakes::Test;

CompileRequest request() {
  CompileRequest request;
  request.target = "sm_80";
  return request;
}

TEST_F(CompilerLibraryOpen, AbsenceIsUnsupportedWithTheRemedy) {
  auto none = CompilerLibrary::open("/nowhere/libtessera-compiler.so");
  EXPECT_EQ(none.status().code(), Code::Unsupported);
  EXPECT_NE(none.status().message().find("/nowhere/libtessera-compiler.so"), std::string::npos);
  EXPECT_NE(none.status().hint().find("TESSERA_COMPILER_LIBRARY"), std::string::npos);
}

TEST_F(CompilerLibraryOpen, LibraryWithoutTheInterfaceNamesWhatIsMissing) {
  auto wrong = CompilerLibrary::open(FAKE_SIMULATOR);
  EXPECT_EQ(wrong.status().code(), Code::Unsupported);
  EXPECT_NE(wrong.status().message().find("lacks tessera_compile, tessera_compiler_build_id"), std::string::npos);
}

TEST_F(CompilerLibraryOpen, EnvironmentNamesIt) {
  auto library = CompilerLibrary::open();
  ASSERT_TRUE(library.ok()) << library.status().text();
  EXPECT_EQ((*library)->path(), FAKE_COMPILER);
  EXPECT_EQ((*library)->buildId(), "fake build 1");
  EXPECT_EQ((*library)->assembler(), "fake 1.0");
}

TEST_F(CompilerLibraryOpen, StagesAndWarningsComeThrough) {
  fakes::compiler().warn = true;
  CompileRequest online = request();
  online.emit = "online";
  Result<CompileOutput> output = (*CompilerLibrary::open())->compile(online);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->bytes, "stage online");
  EXPECT_EQ(output->warnings, "no nvJitLink");
}

TEST_F(CompilerLibraryOpen, EveryFailureKeepsItsKindAndMessage) {
  const std::pair<int, Code> codes[] = {{1, Code::InvalidArgument},
                                        {2, Code::Unsupported},
                                        {3, Code::File},
                                        {4, Code::CompileError},
                                        {99, Code::Internal}};
  for (auto [raw, code] : codes) {
    fakes::compiler().fail = raw;
    Result<CompileOutput> output = (*CompilerLibrary::open())->compile(request());
    EXPECT_EQ(output.status().code(), code);
    EXPECT_NE(
        output.status().message().find(raw == 4 ? "failed with code 4 and no message" : "refused by the fake compiler"),
        std::string::npos);
  }
}

} // namespace
} // namespace tessera
