// Uses its own LLVM and compiles a kernel by Tessera's in one process, in both orders: neither may call into the other.
#include <tessera/tessera.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

// What this program uses of LLVM's stable C interface, by the declarations in llvm-c/Core.h and llvm-c/IRReader.h.
extern "C" {
typedef struct LLVMOpaqueContext *LLVMContextRef;
typedef struct LLVMOpaqueMemoryBuffer *LLVMMemoryBufferRef;
typedef struct LLVMOpaqueModule *LLVMModuleRef;
LLVMContextRef LLVMContextCreate(void);
void LLVMContextDispose(LLVMContextRef context);
LLVMMemoryBufferRef LLVMCreateMemoryBufferWithMemoryRangeCopy(const char *data, size_t size, const char *name);
int LLVMParseIRInContext(LLVMContextRef context, LLVMMemoryBufferRef buffer, LLVMModuleRef *module, char **message);
char *LLVMPrintModuleToString(LLVMModuleRef module);
void LLVMDisposeModule(LLVMModuleRef module);
void LLVMDisposeMessage(char *message);
}

namespace {

struct Llvm {
#ifdef OPEN_LLVM
  void *library = dlopen(OPEN_LLVM, RTLD_NOW | RTLD_GLOBAL);
#define FUNCTION(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name))
#else
#define FUNCTION(name) decltype(&::name) name = &::name
#endif
  FUNCTION(LLVMContextCreate);
  FUNCTION(LLVMContextDispose);
  FUNCTION(LLVMCreateMemoryBufferWithMemoryRangeCopy);
  FUNCTION(LLVMParseIRInContext);
  FUNCTION(LLVMPrintModuleToString);
  FUNCTION(LLVMDisposeModule);
  FUNCTION(LLVMDisposeMessage);
};

/// Parses a module with a typed pointer, which LLVM 17 and later refuse, and prints it.
bool useLlvm() {
  static const Llvm llvm;
  const char text[] = "define i32 @first(i32* %p) {\n  %v = load i32, i32* %p\n  ret i32 %v\n}\n";
  LLVMContextRef context = llvm.LLVMContextCreate();
  LLVMModuleRef module = nullptr;
  char *message = nullptr;
  auto buffer = llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof text - 1, "text");
  if (llvm.LLVMParseIRInContext(context, buffer, &module, &message)) {
    std::fprintf(stderr, "the program's own LLVM: %s\n", message);
    return false;
  }
  char *printed = llvm.LLVMPrintModuleToString(module);
  const bool whole = std::strstr(printed, "i32 @first(i32*") != nullptr;
  Dl_info info = {};
  dladdr(reinterpret_cast<const void *>(llvm.LLVMContextCreate), &info);
  std::printf("%s parsed and printed: %s", info.dli_fname, printed);
  llvm.LLVMDisposeMessage(printed);
  llvm.LLVMDisposeModule(module);
  llvm.LLVMContextDispose(context);
  return whole;
}

bool compile(unsigned headDim) {
  tessera::AttentionSpec spec;
  spec.dtype = tessera::DType::BF16;
  spec.headDim = spec.valueDim = headDim;
  auto device = tessera::Device::open("sim:a100");
  auto engine = tessera::Engine::create();
  if (!device || !engine)
    return false;
  auto kernel = engine->prepare(spec, {1, 1, 1, 64, 64}, *device);
  std::printf("%s\n", kernel ? kernel->info().text().c_str() : kernel.status().text().c_str());
  return kernel && kernel->source() == tessera::Source::Compiler;
}

} // namespace

int main() {
#ifdef OPEN_LLVM
  return compile(64) && useLlvm() && compile(32) && useLlvm() ? 0 : 1;
#else
  return useLlvm() && compile(64) && useLlvm() && compile(32) ? 0 : 1;
#endif
}
