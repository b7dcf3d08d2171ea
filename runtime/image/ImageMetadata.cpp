// Reads and writes the JSON part of an image; reading trusts nothing and throws nothing.
#include "runtime/image/ImageMetadata.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::detail {
namespace {

using nlohmann::json;

/// Typed access to the fields of one object; the first fault is kept.
class Fields {
public:
  explicit Fields(const json &object) : object_(object) {}

  const json *find(const char *key) {
    auto found = object_.find(key);
    if (found == object_.end())
      fail(key, "is missing");
    return found == object_.end() ? nullptr : &*found;
  }
  std::string text(const char *key) {
    const json *value = find(key);
    if (value && !value->is_string())
      fail(key, "is not a string");
    return value && value->is_string() ? value->get_ref<const std::string &>() : std::string();
  }
  uint32_t number(const char *key) {
    const json *value = find(key);
    if (!value)
      return 0;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > UINT32_MAX) {
      fail(key, "is not a 32-bit number");
      return 0;
    }
    return uint32_t(value->get<uint64_t>());
  }
  std::optional<uint32_t> optionalNumber(const char *key) {
    const json *value = find(key);
    return !value || value->is_null() ? std::nullopt : std::optional(number(key));
  }
  void fail(const char *key, std::string_view what) {
    if (fault_.ok())
      fault_ = {Code::File, fmt::format("kernel image: metadata field '{}' {}", key, what)};
  }
  /// Keeps the first fault of `status` as one of `key`.
  void check(const char *key, const Status &status) {
    if (!status.ok())
      fail(key, "is malformed: " + status.message());
  }
  Status fault_;

private:
  const json &object_;
};

std::vector<KernelParameter> readParameters(Fields &fields) {
  std::vector<KernelParameter> parameters;
  const json *list = fields.find("parameters");
  if (!list || !list->is_array()) {
    fields.fail("parameters", "is not an array");
    return {};
  }
  for (const json &item : *list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_string()) {
      fields.fail("parameters", "holds something other than [name, type]");
      return {};
    }
    std::optional<ParameterType> type = parseParameterType(item[1].get_ref<const std::string &>());
    if (!type) {
      fields.fail("parameters", fmt::format("has the unknown type '{}'", item[1].get_ref<const std::string &>()));
      return {};
    }
    parameters.push_back({item[0].get_ref<const std::string &>(), *type});
  }
  return parameters;
}

std::map<std::string, std::string> readTools(Fields &fields) {
  std::map<std::string, std::string> tools;
  const json *object = fields.find("tools");
  if (!object || !object->is_object()) {
    fields.fail("tools", "is not an object");
    return tools;
  }
  for (const auto &[tool, version] : object->items()) {
    if (!version.is_string()) {
      fields.fail("tools", "holds a version that is not a string");
      return tools;
    }
    tools.emplace(tool, version.get_ref<const std::string &>());
  }
  return tools;
}

} // namespace

std::string metadataText(const KernelImage &image) {
  json parameters = json::array();
  for (const KernelParameter &parameter : image.parameters)
    parameters.push_back(json::array({parameter.name, name(parameter.type)}));
  auto optional = [](const std::optional<uint32_t> &value) { return value ? json(*value) : json(); };
  json object = {
      {"spec", image.spec.text()},
      {"schedule", image.schedule.text()},
      {"target", image.target},
      {"entry", image.entry},
      {"parameters", parameters},
      {"grid", text(image.grid)},
      {"tile_q", image.tileQ},
      {"block_threads", image.blockThreads},
      {"cluster_blocks", image.clusterBlocks},
      {"dynamic_shared_bytes", image.dynamicSharedBytes},
      {"registers", optional(image.registers)},
      {"spill_bytes", optional(image.spillBytes)},
      {"assembler_log", image.assemblerLog},
      {"ptx_version", image.ptxVersion},
      {"tools", image.toolVersions},
      {"build_id", image.buildId},
      {"key", image.keyText},
  };
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

Status readMetadata(std::string_view text, KernelImage &image) {
  json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return {Code::File, "kernel image: the metadata is not a JSON object"};
  Fields fields(object);
  if (auto spec = AttentionSpec::parse(fields.text("spec")))
    image.spec = *spec;
  else
    fields.check("spec", spec.status());
  if (auto schedule = Schedule::parse(fields.text("schedule")))
    image.schedule = *schedule;
  else
    fields.check("schedule", schedule.status());
  image.target = fields.text("target");
  image.entry = fields.text("entry");
  image.parameters = readParameters(fields);
  if (std::string rule = fields.text("grid"); auto known = parseGridRule(rule))
    image.grid = *known;
  else
    fields.fail("grid", fmt::format("has the unknown rule '{}'", rule.substr(0, 64)));
  image.tileQ = fields.number("tile_q");
  image.blockThreads = fields.number("block_threads");
  image.clusterBlocks = fields.number("cluster_blocks");
  image.dynamicSharedBytes = fields.number("dynamic_shared_bytes");
  image.registers = fields.optionalNumber("registers");
  image.spillBytes = fields.optionalNumber("spill_bytes");
  image.assemblerLog = fields.text("assembler_log");
  image.ptxVersion = fields.number("ptx_version");
  image.toolVersions = readTools(fields);
  image.buildId = fields.text("build_id");
  image.keyText = fields.text("key");
  return fields.fault_;
}

} // namespace tessera::detail
