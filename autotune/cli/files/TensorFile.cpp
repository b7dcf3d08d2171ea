// Chooses format and tensor by the name given on the command line.
#include "autotune/cli/files/TensorFile.h"

#include "autotune/cli/files/Npy.h"
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/files/SafeTensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tessera::files {
namespace {

constexpr std::string_view kSafeTensors = ".safetensors", kNpy = ".npy";

Status at(const std::string &path, const Status &status) {
  return Status(status.code(), fmt::format("{}: {}", path, status.message()), status.hint());
}

std::string_view textOf(const HostTensor &tensor) {
  return {reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()};
}

Result<SafeTensorsEntry> choose(const std::vector<SafeTensorsEntry> &entries, const std::optional<std::string> &wanted,
                                std::string_view role) {
  if (entries.empty())
    return Status(Code::File, "it holds no tensor");
  if (!wanted && entries.size() == 1)
    return entries[0];
  const std::string_view name = wanted ? std::string_view(*wanted) : role;
  for (const SafeTensorsEntry &entry : entries)
    if (entry.name == name)
      return entry;
  std::vector<std::string> shown;
  for (const SafeTensorsEntry &entry : entries)
    if (shown.size() < 12)
      shown.push_back(entry.name.substr(0, 60));
  return Status(Code::File,
                fmt::format("it holds {} tensors, none of them called '{}': {}{}", entries.size(), name,
                            fmt::join(shown, ", "), entries.size() > shown.size() ? ", ..." : ""),
                "choose one with FILE.safetensors:NAME");
}

} // namespace

Result<TensorPath> parseTensorPath(std::string_view argument) {
  if (argument.ends_with(kSafeTensors))
    return TensorPath{TensorPath::Format::SafeTensors, std::string(argument), std::nullopt};
  if (argument.ends_with(kNpy))
    return TensorPath{TensorPath::Format::Npy, std::string(argument), std::nullopt};
  const size_t colon = argument.find(std::string(kSafeTensors) + ":");
  if (colon != std::string_view::npos && colon + kSafeTensors.size() + 1 < argument.size())
    return TensorPath{TensorPath::Format::SafeTensors, std::string(argument.substr(0, colon + kSafeTensors.size())),
                      std::string(argument.substr(colon + kSafeTensors.size() + 1))};
  return Status(Code::InvalidArgument, fmt::format("'{}' ends in neither .npy nor .safetensors", argument),
                "name a file with one of these endings; FILE.safetensors:NAME chooses a tensor in it");
}

Result<HostTensor> readTensorFile(std::string_view argument, std::string_view role) {
  const Result<TensorPath> path = parseTensorPath(argument);
  if (!path)
    return path.status();
  const Result<FileBytes> file = FileBytes::open(path->path);
  if (!file)
    return at(path->path, file.status());
  if (path->format == TensorPath::Format::Npy) {
    Result<HostTensor> tensor = readNpy(*file);
    return tensor ? std::move(tensor) : at(path->path, tensor.status());
  }
  const Result<std::vector<SafeTensorsEntry>> index = readSafeTensorsIndex(*file);
  if (!index)
    return at(path->path, index.status());
  const Result<SafeTensorsEntry> entry = choose(*index, path->tensor, role);
  if (!entry)
    return at(path->path, entry.status());
  Result<HostTensor> tensor = readSafeTensor(*file, *entry);
  return tensor ? std::move(tensor) : at(path->path, tensor.status());
}

Status writeTensorFiles(std::span<const Output> outputs) {
  std::map<std::string, std::vector<NamedTensor>> shared;
  for (const Output &output : outputs) {
    const Result<TensorPath> path = parseTensorPath(output.argument);
    if (!path)
      return path.status();
    if (path->format == TensorPath::Format::SafeTensors) {
      std::vector<NamedTensor> &tensors = shared[path->path];
      tensors.push_back({path->tensor.value_or(output.role), output.tensor});
      if (tensors.size() > 1 && tensors.back().name == tensors.front().name)
        return Status(Code::InvalidArgument,
                      fmt::format("two tensors called '{}' cannot go to {}", tensors.back().name, path->path),
                      "give them different names with FILE.safetensors:NAME");
      continue;
    }
    const std::string header = npyHeader(*output.tensor);
    const std::string_view parts[] = {header, textOf(*output.tensor)};
    if (Status status = writeFile(path->path, parts); !status)
      return status;
  }
  for (auto &[path, tensors] : shared) {
    std::sort(tensors.begin(), tensors.end(), [](const NamedTensor &a, const NamedTensor &b) {
      return std::pair(-int(byteSize(a.tensor->type)), a.name) < std::pair(-int(byteSize(b.tensor->type)), b.name);
    });
    const std::string header = safeTensorsHeader(tensors);
    std::vector<std::string_view> parts{header};
    for (const NamedTensor &named : tensors)
      parts.push_back(textOf(*named.tensor));
    if (Status status = writeFile(path, parts); !status)
      return status;
  }
  return {};
}

} // namespace tessera::files
