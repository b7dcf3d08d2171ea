// Calls into the library that this project has built: a spec's text, and the refusal where there is no compiler.
#include <tessera/tessera.h>

#include <cstdio>

int main() {
  tessera::AttentionSpec spec;
  spec.dtype = tessera::DType::BF16;
  spec.headDim = spec.valueDim = 128;
  std::printf("%s\n", spec.text().c_str());
  auto compiler = tessera::CompilerLibrary::open();
  if (compiler || compiler.status().code() != tessera::Code::Unsupported)
    return 1;
  std::printf("%s\n", compiler.status().text().c_str());
  return 0;
}
