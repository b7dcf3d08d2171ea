// The table of entry points as a whole: every one answers, by symbol and through cuGetProcAddress.
#include "runtime/driver/DriverSymbols.h"
#include "tests/unit/driver/SimulatorFixture.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

using namespace tessera::test;

namespace {

class SimulatorEntryPoints : public Simulator {
protected:
  void *find(const char *name, int version = CUDA_VERSION) {
    void *address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress(name, &address, version, 0, &status);
    EXPECT_EQ(result == CUDA_SUCCESS, status == CU_GET_PROC_ADDRESS_SUCCESS) << name;
    EXPECT_EQ(result == CUDA_SUCCESS, address != nullptr) << name;
    return address;
  }
};

TEST_F(SimulatorEntryPoints, TheLoadersTableIsThere) {
#define THERE(member, exported) EXPECT_NE(dlsym(RTLD_DEFAULT, exported), nullptr) << exported;
  TESSERA_DRIVER_SYMBOLS(THERE)
  TESSERA_DRIVER_OPTIONAL_SYMBOLS(THERE)
#undef THERE
}

TEST_F(SimulatorEntryPoints, EveryImplementedOneIsExported) {
#define ENTRY(name, version) EXPECT_NE(dlsym(RTLD_DEFAULT, #name), nullptr) << #name;
#define PER_THREAD(name, suffix, count, version) EXPECT_NE(dlsym(RTLD_DEFAULT, #name #suffix), nullptr) << #name;
#include "runtime/simulator/driver/Entries.def"
#include "runtime/simulator/driver/PerThread.def"
#undef ENTRY
#undef PER_THREAD
}

/// The names of a header, comments and all: declared functions, and what its macros rename them to.
std::set<std::string> namesOf(const char *path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::set<std::string> names;
  std::regex declaration(R"(CUDAAPI\s+(cu[A-Z]\w*)\s*\()"), renaming(R"(#\s*define\s+cu\w+\s+(cu[A-Z]\w*))"),
      perThread(R"(#\s*define\s+cu\w+\s+__CUDA_API_(PTSZ|PTDS)\((\w+)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it)
    names.insert((*it)[1]);
  for (std::sregex_iterator it(text.begin(), text.end(), renaming), end; it != end; ++it)
    names.insert((*it)[1]);
  for (std::sregex_iterator it(text.begin(), text.end(), perThread), end; it != end; ++it) {
    names.insert((*it)[2]);
    names.insert((*it)[2].str() + ((*it)[1] == "PTSZ" ? "_ptsz" : "_ptds"));
  }
  return names;
}

TEST_F(SimulatorEntryPoints, EveryNameThatCudaHDeclaresIsExported) {
  std::set<std::string> names = namesOf(CUDA_HEADERS "/cuda.h");
  names.merge(namesOf(CUDA_HEADERS "/cudaProfiler.h"));
  EXPECT_GT(names.size(), 600u);
  for (const std::string &name : names)
    EXPECT_NE(dlsym(RTLD_DEFAULT, name.c_str()), nullptr) << name;
}

TEST_F(SimulatorEntryPoints, NamesWithoutVersionGiveTheNewestFormThatTheProgramCanCall) {
  auto exported = [](const char *name) { return dlsym(RTLD_DEFAULT, name); };
  EXPECT_EQ(find("cuMemAlloc"), exported("cuMemAlloc_v2"));
  EXPECT_EQ(find("cuLaunchKernel"), exported("cuLaunchKernel"));
  EXPECT_EQ(find("cuEventElapsedTime"), exported("cuEventElapsedTime_v2"));
  EXPECT_EQ(find("cuEventElapsedTime", 12000), exported("cuEventElapsedTime"));
  EXPECT_EQ(find("cuCtxCreate"), exported("cuCtxCreate_v4"));
  EXPECT_EQ(find("cuCtxCreate", 12040), exported("cuCtxCreate_v3"));
  EXPECT_EQ(find("cuCtxCreate", 11000), exported("cuCtxCreate_v2"));
  EXPECT_EQ(find("cuGetProcAddress", 11030), exported("cuGetProcAddress"));
  EXPECT_EQ(find("cuGetProcAddress", 12000), exported("cuGetProcAddress_v2"));
  EXPECT_EQ(find("cuGraphInstantiate", 11040), exported("cuGraphInstantiate_v2"));
  EXPECT_EQ(find("cuGraphInstantiate", 12000), exported("cuGraphInstantiateWithFlags"));
  EXPECT_EQ(find("cuStreamBeginCapture"), exported("cuStreamBeginCapture_v2"));
  EXPECT_EQ(find("cuStreamGetCaptureInfo", 11030), exported("cuStreamGetCaptureInfo_v2"));
  EXPECT_EQ(find("cuMemAlloc_v2"), exported("cuMemAlloc_v2")) << "a name with its suffix";
  EXPECT_EQ(find("cuNoSuchThing"), nullptr);
  void *address = nullptr;
  EXPECT_EQ(cuGetProcAddress(nullptr, &address, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", nullptr, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &address, CUDA_VERSION, 1 << 10, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorEntryPoints, ProcAddressSaysWhyThereIsNone) {
  void *address = this;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(cuGetProcAddress("cuGraphCreate", &address, 9000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &address, CUDA_VERSION, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_F(SimulatorEntryPoints, PerThreadFamilyIsFoundByFlag) {
  void *address = nullptr;
  constexpr cuuint64_t flag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  ASSERT_EQ(cuGetProcAddress("cuMemcpyHtoD", &address, CUDA_VERSION, flag, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(address, dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
  ASSERT_EQ(cuGetProcAddress("cuLaunchKernel", &address, CUDA_VERSION, flag, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(address, dlsym(RTLD_DEFAULT, "cuLaunchKernel_ptsz"));
  ASSERT_EQ(cuGetProcAddress("cuMemAlloc", &address, CUDA_VERSION, flag, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(address, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2")) << "has no such form";
}

TEST_F(SimulatorEntryPoints, PerThreadFamilyUsesTheThreadsOwnStream) {
  auto getId =
      reinterpret_cast<CUresult (*)(CUstream, unsigned long long *)>(dlsym(RTLD_DEFAULT, "cuStreamGetId_ptsz"));
  unsigned long long own = 0, legacy = 0, named = 0;
  ASSERT_EQ(getId(nullptr, &own), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamGetId(nullptr, &legacy), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, &named), CUDA_SUCCESS);
  EXPECT_NE(own, legacy);
  EXPECT_EQ(own, named);
}

TEST_F(SimulatorEntryPoints, EveryOtherOneAnswersNotSupported) {
  unsigned count = 0;
#define ENTRY(name, version)                                                                                           \
  {                                                                                                                    \
    void *address = dlsym(RTLD_DEFAULT, #name);                                                                        \
    ASSERT_NE(address, nullptr) << #name;                                                                              \
    EXPECT_EQ(reinterpret_cast<CUresult (*)()>(address)(), CUDA_ERROR_NOT_SUPPORTED) << #name;                         \
    ++count;                                                                                                           \
  }
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
  EXPECT_GT(count, 200u);
}

/// The lines of a section of the documentation that hold nothing but names.
std::set<std::string> listedIn(const std::string &text, const std::string &heading) {
  std::set<std::string> names;
  size_t begin = text.find(heading);
  if (begin == std::string::npos)
    return names;
  std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  std::regex name(R"(`(cu[A-Z]\w*)`)");
  for (std::sregex_iterator it(section.begin(), section.end(), name), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

TEST_F(SimulatorEntryPoints, TheDocumentListsExactlyWhatIsNotSupported) {
  std::ifstream file(DRIVER_SOURCES "/README.md");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::set<std::string> documented = listedIn(text, "\n## What is not there"), table;
#define ENTRY(name, version) table.insert(#name);
#include "runtime/simulator/driver/Unsupported.def"
#undef ENTRY
  EXPECT_EQ(documented, table);
}

} // namespace
