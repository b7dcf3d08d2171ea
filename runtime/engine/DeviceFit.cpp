// The limits of a device against the needs of a kernel.
#include "runtime/engine/DeviceFit.h"

#include "runtime/engine/Device.h"
#include "runtime/image/KernelImage.h"

#include <fmt/format.h>

namespace tessera {
namespace {

CodeMatch matchEitherForm(const KernelNeeds &kernel, const DeviceFacts &device) {
  if (device.simulated && kernel.ptxVersion == 0)
    return {CodeFit::None, "it holds no PTX, which is what the simulator executes"};
  CodeMatch cubin{CodeFit::None, "it holds no cubin"}, ptx{CodeFit::None, "it holds no PTX"};
  if (kernel.hasCubin)
    cubin = matchCode(kernel.target, CodeKind::Cubin, 0, device.code);
  if (cubin.fit != CodeFit::None)
    return cubin;
  if (kernel.ptxVersion)
    ptx = matchCode(kernel.target, CodeKind::Ptx, kernel.ptxVersion, device.code);
  if (ptx.fit != CodeFit::None)
    return ptx;
  // A missing cubin is worth a word only where there is no PTX to speak of.
  return {CodeFit::None, !kernel.hasCubin && kernel.ptxVersion ? ptx.reason : cubin.reason + "; " + ptx.reason};
}

} // namespace

DeviceFacts DeviceFacts::of(const Device &device) {
  const DeviceInfo &info = device.info();
  DeviceFacts facts;
  facts.name = info.name;
  facts.code = {info.major, info.minor, device.context()->driver().version()};
  facts.sharedBytesPerBlock = info.sharedBytesPerBlock;
  facts.registersPerBlock = info.registersPerBlock;
  facts.maxThreadsPerBlock = info.maxThreadsPerBlock;
  facts.simulated = device.simulated();
  facts.target = device.target();
  return facts;
}

KernelNeeds KernelNeeds::of(const KernelImage &image) {
  KernelNeeds needs;
  if (Result<CodeTarget> target = CodeTarget::parse(image.target))
    needs.target = *target;
  needs.hasCubin = !image.cubin.empty();
  needs.ptxVersion = image.ptx.empty() ? 0 : image.ptxVersion;
  needs.sharedBytes = image.dynamicSharedBytes;
  needs.blockThreads = image.blockThreads;
  needs.registers = image.registers.value_or(0);
  needs.clusterBlocks = image.clusterBlocks;
  return needs;
}

CodeMatch fitOnDevice(const KernelNeeds &kernel, const DeviceFacts &device) {
  const auto refuse = [](std::string reason) { return CodeMatch{CodeFit::None, std::move(reason)}; };
  CodeMatch match = matchEitherForm(kernel, device);
  if (match.fit == CodeFit::None)
    return match;
  if (kernel.sharedBytes > device.sharedBytesPerBlock)
    return refuse(fmt::format("it needs {} bytes of shared memory per block; {} has {}", kernel.sharedBytes,
                              device.name, device.sharedBytesPerBlock));
  if (kernel.blockThreads > device.maxThreadsPerBlock)
    return refuse(fmt::format("it needs {} threads per block; {} has {}", kernel.blockThreads, device.name,
                              device.maxThreadsPerBlock));
  // A driver that assembles the PTX allots registers anew, within what the block leaves.
  if (match.fit != CodeFit::Ptx && uint64_t(kernel.registers) * kernel.blockThreads > device.registersPerBlock)
    return refuse(fmt::format("it needs {} registers per block ({} threads of {}); {} has {}",
                              uint64_t(kernel.registers) * kernel.blockThreads, kernel.blockThreads, kernel.registers,
                              device.name, device.registersPerBlock));
  if (kernel.clusterBlocks > 1 && device.code.major < 9)
    return refuse(fmt::format("it needs clusters of {} blocks; {} (compute capability {}.{}) has none",
                              kernel.clusterBlocks, device.name, device.code.major, device.code.minor));
  return match;
}

} // namespace tessera
