// Loads code with the driver's assembler log, reads kernel attributes and launches.
#include "runtime/driver/Module.h"

#include "runtime/driver/DriverSymbols.h"
#include "runtime/spec/CodeTarget.h"

#include <algorithm>
#include <charconv>

namespace tessera {

namespace {

/// Room for the assembler's messages; it truncates by itself.
constexpr size_t LogBytes = 16 * 1024;

std::string trimmed(std::string text) {
  text.resize(std::min(text.size(), text.find('\0')));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

/// Whether a driver that answers so to a cubin, or to PTX, may take other code of the same kernel.
bool wantsOtherCode(int result, bool isElf) {
  switch (result) {
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: // "compiled with an unsupported toolchain", of cubins too
    return true;
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_SOURCE:
    return isElf;
  default:
    return false;
  }
}

/// 80 for ".version 8.0"; 0 when the text has no such line.
unsigned ptxVersion(std::string_view ptx) {
  constexpr std::string_view directive = ".version";
  for (size_t at = ptx.find(directive); at != ptx.npos; at = ptx.find(directive, at + 1)) {
    const size_t lineStart = ptx.rfind('\n', at) + 1; // npos + 1 is 0
    const size_t number = ptx.find_first_not_of(" \t", at + directive.size());
    if (ptx.substr(lineStart, at - lineStart).find_first_not_of(" \t\r") != ptx.npos || number == ptx.npos)
      continue;
    unsigned major = 0, minor = 0;
    const char *end = ptx.data() + ptx.size();
    auto [dot, error] = std::from_chars(ptx.data() + number, end, major);
    if (error == std::errc() && dot != end && *dot == '.' && std::from_chars(dot + 1, end, minor).ec == std::errc() &&
        minor < 10)
      return major * 10 + minor;
  }
  return 0;
}

std::string cudaVersion(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

/// What an answer of CUDA_ERROR_UNSUPPORTED_PTX_VERSION leaves out.
std::string ptxTooNew(std::string_view ptx, int driverVersion) {
  const unsigned version = ptxVersion(ptx);
  const int needed = version ? driverVersionForPtx(version) : 0;
  std::string text = version ? fmt::format("; this is PTX {}.{}", version / 10, version % 10) : std::string();
  if (needed)
    text += fmt::format(", which needs a driver for {} or newer", cudaVersion(needed));
  return text + fmt::format("; the driver is for {}", cudaVersion(driverVersion));
}

} // namespace

Result<std::shared_ptr<const Module>> Module::load(const std::shared_ptr<const Context> &context,
                                                   std::string_view code) {
  return load(context, code, nullptr);
}

Result<std::shared_ptr<const Module>> Module::load(const std::shared_ptr<const Context> &context, std::string_view code,
                                                   bool *fits) {
  if (fits)
    *fits = true;
  bool isElf = code.starts_with("\x7f"
                                "ELF");
  if (code.empty())
    return Status(Code::InvalidArgument, "loading a module: the code is empty");
  ScopedContext scope(*context);
  if (!scope.status())
    return scope.status();

  const Driver &driver = context->driver();
  std::string errors(LogBytes, '\0'), notes(LogBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {errors.data(), reinterpret_cast<void *>(LogBytes), notes.data(),
                    reinterpret_cast<void *>(LogBytes)};
  // The driver reads PTX up to its zero byte, which a view need not have. An ELF file carries its own length.
  std::string terminated = isElf ? std::string() : std::string(code);
  const void *image = isElf ? code.data() : terminated.c_str();

  std::shared_ptr<Module> module(new Module(context));
  std::list<CUmodule> handle(1); // whatever a failed load leaves in it is no module
  int result = driver.symbols().cuModuleLoadDataEx(&handle.front(), image, std::size(options), options, values);
  if (result == CUDA_SUCCESS) {
    module->handle_ = std::move(handle);
    module->log_ = trimmed(std::move(notes));
    return std::shared_ptr<const Module>(module);
  }

  if (fits)
    *fits = !wantsOtherCode(result, isElf);
  Status status = driver.check(result, "loading {} of {} bytes on {} (sm_{}{})", isElf ? "a cubin" : "PTX", code.size(),
                               context->info().name, context->info().major, context->info().minor);
  std::string message = status.message();
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && !isElf)
    message += ptxTooNew(code, driver.version());
  if (std::string log = trimmed(std::move(errors)); !log.empty())
    message += "\n" + log;
  return Status(status.code(), std::move(message), status.hint());
}

Module::~Module() {
  if (!handle_.empty())
    context_->retire(handle_);
}

Result<Function> Module::function(const std::string &name) const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  const Driver &driver = context_->driver();
  const DriverSymbols &symbols = driver.symbols();
  Function function;
  function.module_ = shared_from_this();
  function.name_ = name;
  int found = symbols.cuModuleGetFunction(&function.handle_, handle_.front(), name.c_str());
  if (found == CUDA_ERROR_NOT_FOUND)
    return Status(Code::NotFound, fmt::format("the module has no kernel \"{}\"", name));
  if (Status status = driver.check(found, "looking up kernel \"{}\"", name); !status)
    return status;

  FunctionAttributes &attributes = function.attributes_;
  const struct {
    CUfunction_attribute attribute;
    unsigned &value;
  } wanted[] = {
      {CU_FUNC_ATTRIBUTE_NUM_REGS, attributes.registers},
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, attributes.sharedBytes},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, attributes.localBytes},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, attributes.constantBytes},
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, attributes.maxThreadsPerBlock},
  };
  for (const auto &want : wanted) {
    int value = 0;
    if (Status status = driver.check(symbols.cuFuncGetAttribute(&value, want.attribute, function.handle_),
                                     "reading attribute {} of kernel \"{}\"", int(want.attribute), name);
        !status)
      return status;
    want.value = unsigned(value);
  }
  return function;
}

Result<Module::Global> Module::global(const std::string &name) const {
  ScopedContext scope(*context_);
  if (!scope.status())
    return scope.status();
  CUdeviceptr address = 0;
  size_t bytes = 0;
  int found = context_->symbols().cuModuleGetGlobal(&address, &bytes, handle_.front(), name.c_str());
  if (found == CUDA_ERROR_NOT_FOUND)
    return Status(Code::NotFound, fmt::format("the module has no global variable \"{}\"", name));
  if (Status status = context_->driver().check(found, "looking up global variable \"{}\"", name); !status)
    return status;
  return Global{address, bytes};
}

const Context &Function::context() const { return module_->context(); }

Status Function::allowDynamicShared(unsigned bytes) const {
  ScopedContext scope(context());
  if (!scope.status())
    return scope.status();
  return context().driver().check(
      context().symbols().cuFuncSetAttribute(handle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int(bytes)),
      "allowing kernel \"{}\" {} bytes of dynamic shared memory on {}", name_, bytes, context().info().name);
}

Result<unsigned> Function::blocksPerSm(unsigned threadsPerBlock, unsigned dynamicSharedBytes) const {
  ScopedContext scope(context());
  if (!scope.status())
    return scope.status();
  int blocks = 0;
  if (Status status = context().driver().check(context().symbols().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                                   &blocks, handle_, int(threadsPerBlock), dynamicSharedBytes),
                                               "asking for the occupancy of kernel \"{}\" with {} threads and {} bytes",
                                               name_, threadsPerBlock, dynamicSharedBytes);
      !status)
    return status;
  return unsigned(blocks);
}

Status Function::launch(const LaunchShape &shape, void **parameters, StreamHandle stream) const {
  const Context &owner = context();
  ScopedContext scope(owner);
  if (!scope.status()) [[unlikely]]
    return scope.status();
  const DriverSymbols &symbols = owner.symbols();
  const auto &[grid, block, cluster, dynamicShared] = shape;

  int result;
  if (cluster == std::array<unsigned, 3>{1, 1, 1}) {
    result = symbols.cuLaunchKernel(handle_, grid[0], grid[1], grid[2], block[0], block[1], block[2], dynamicShared,
                                    stream, parameters, nullptr);
  } else {
    if (!symbols.cuLaunchKernelEx)
      return Status(Code::Unsupported,
                    fmt::format("kernel \"{}\" needs thread-block clusters, which driver version {} has not", name_,
                                owner.driver().version()),
                    "update the driver");
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = cluster[0];
    attribute.value.clusterDim.y = cluster[1];
    attribute.value.clusterDim.z = cluster[2];
    CUlaunchConfig config = {};
    config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
    config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
    config.sharedMemBytes = dynamicShared;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    result = symbols.cuLaunchKernelEx(&config, handle_, parameters, nullptr);
  }
  return owner.driver().check(
      result, "launching kernel \"{}\" with grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic shared memory", name_,
      grid[0], grid[1], grid[2], block[0], block[1], block[2], dynamicShared);
}

} // namespace tessera
