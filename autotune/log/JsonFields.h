// JsonFields: typed reading of the fields of one JSON object that nobody vouches for.
#pragma once

#include "runtime/spec/Result.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>

namespace tessera::tune {

using Json = nlohmann::ordered_json;

/// A number as JSON has it: infinities and NaN, which JSON has not, as text.
inline Json numberJson(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/// Reads fields that may be absent, which leaves the value as it is; the first fault is kept for all objects that share
/// `fault`.
class JsonFields {
public:
  JsonFields(const Json &object, Status &fault) : object_(object), fault_(fault) {}

  const Json *find(const char *key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  /// The object of this key, or null where there is none.
  const Json *object(const char *key) {
    const Json *value = find(key);
    return value && check(key, value->is_object(), "no object") ? value : nullptr;
  }
  void text(const char *key, std::string &to) {
    if (const Json *value = find(key); value && check(key, value->is_string(), "no text"))
      to = value->get_ref<const std::string &>();
  }
  void flag(const char *key, bool &to) {
    if (const Json *value = find(key); value && check(key, value->is_boolean(), "neither true nor false"))
      to = value->get<bool>();
  }
  void number(const char *key, double &to) {
    if (const Json *value = find(key))
      to = numberOf(key, *value);
  }
  template <typename Whole> void whole(const char *key, Whole &to) {
    const Json *value = find(key);
    if (!value || !check(key, value->is_number_integer(), "no whole number"))
      return;
    const bool fits = value->is_number_unsigned() ? std::in_range<Whole>(value->get<uint64_t>())
                                                  : std::in_range<Whole>(value->get<int64_t>());
    if (check(key, fits, "out of range"))
      to = value->is_number_unsigned() ? Whole(value->get<uint64_t>()) : Whole(value->get<int64_t>());
  }
  double numberOf(const std::string &key, const Json &value) {
    if (value.is_number())
      return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    check(key, text == "inf" || text == "-inf" || text == "nan", "no number");
    if (text == "nan")
      return std::numeric_limits<double>::quiet_NaN();
    return text == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  /// Keeps the fault unless `right`.
  bool check(const std::string &key, bool right, const char *what) {
    if (!right)
      fail(fmt::format("'{}' is {}", key, what));
    return right;
  }
  void fail(std::string message) {
    if (fault_)
      fault_ = Status(Code::File, std::move(message));
  }

private:
  const Json &object_;
  Status &fault_;
};

} // namespace tessera::tune
