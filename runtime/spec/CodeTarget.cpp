// The rules by which GPUs run each other's code.
#include "runtime/spec/CodeTarget.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tessera {

Result<CodeTarget> CodeTarget::parse(std::string_view name) {
  const auto refuse = [&] {
    return Status(Code::InvalidArgument,
                  fmt::format("'{}' is no architecture", name.substr(0, std::min<size_t>(name.size(), 64))),
                  "for example sm_80, sm_90a or compute_100f");
  };
  std::string_view digits = name;
  if (digits.starts_with("sm_"))
    digits.remove_prefix(3);
  else if (digits.starts_with("compute_"))
    digits.remove_prefix(8);
  else
    return refuse();
  CodeTarget target;
  if (digits.ends_with('a') || digits.ends_with('f')) {
    target.suffix = digits.back();
    digits.remove_suffix(1);
  }
  unsigned number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('0') || number < 10 ||
      number > 9999)
    return refuse();
  target.major = number / 10;
  target.minor = number % 10;
  return target;
}

std::string CodeTarget::text() const {
  return fmt::format("sm_{}{}{}", major, minor, suffix ? std::string(1, suffix) : std::string());
}

namespace {

/// Why the architecture of the code rules this device out; empty if it does not.
std::string ruledOut(CodeTarget target, CodeKind kind, CodeDevice device) {
  const std::string_view what = kind == CodeKind::Cubin ? "cubin" : "PTX";
  if (target.suffix == 'a' && (target.major != device.major || target.minor != device.minor))
    return fmt::format("{} for {} runs on compute capability {}.{} only, and the device has {}.{}", what, target.text(),
                       target.major, target.minor, device.major, device.minor);
  if (target.suffix == 'f' && (target.major != device.major || target.minor > device.minor))
    return fmt::format("{} for {} runs on its family only, {}.{} and later minors, and the device has {}.{}", what,
                       target.text(), target.major, target.minor, device.major, device.minor);
  if (kind == CodeKind::Cubin && target.major != device.major)
    return fmt::format("a cubin for {} runs on compute capability {}.x only, and the device has {}.{}", target.text(),
                       target.major, device.major, device.minor);
  if (target.major * 10 + target.minor > device.major * 10 + device.minor)
    return fmt::format("{} for {} needs compute capability {}.{}, and the device has {}.{}", what, target.text(),
                       target.major, target.minor, device.major, device.minor);
  return {};
}

} // namespace

CodeMatch matchCode(CodeTarget target, CodeKind kind, unsigned ptxVersion, CodeDevice device) {
  if (std::string reason = ruledOut(target, kind, device); !reason.empty())
    return {CodeFit::None, std::move(reason)};
  if (kind == CodeKind::Cubin)
    return {target.minor == device.minor ? CodeFit::Exact : CodeFit::Family, {}};
  const int needed = driverVersionForPtx(ptxVersion);
  if (needed == 0)
    return {CodeFit::None,
            fmt::format("no driver is known that assembles PTX {}.{}", ptxVersion / 10, ptxVersion % 10)};
  if (device.driverVersion < needed)
    return {CodeFit::None,
            fmt::format("PTX {}.{} needs a driver for CUDA {}.{} or newer, and this one is for CUDA {}.{}",
                        ptxVersion / 10, ptxVersion % 10, needed / 1000, needed % 1000 / 10,
                        device.driverVersion / 1000, device.driverVersion % 1000 / 10)};
  return {CodeFit::Ptx, {}};
}

int driverVersionForPtx(unsigned ptxVersion) {
  // The version with which each PTX ISA came (PTX manual, release notes).
  struct Row {
    unsigned ptx;
    int cuda;
  };
  constexpr Row table[] = {
      {70, 11000}, {71, 11010}, {72, 11020}, {73, 11030}, {74, 11040}, {75, 11050}, {76, 11060},
      {77, 11070}, {78, 11080}, {80, 12000}, {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040},
      {85, 12050}, {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010},
  };
  const auto *row = std::ranges::find(table, ptxVersion, &Row::ptx);
  return row == std::end(table) ? 0 : row->cuda;
}

} // namespace tessera
