// Frame: one message between the search and a worker: a JSON object and bytes.
//
//   "TSW1"  size of the JSON, u32  size of the bytes, u64   JSON   bytes
#pragma once

#include "runtime/spec/Result.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tessera::tune {

struct Frame {
  nlohmann::ordered_json head;
  std::string body;
};

/// Texts that are not UTF-8 are mended.
std::string encode(const Frame &frame);

/// Puts frames together from bytes as they come. Not thread-safe.
class FrameReader {
public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole frame, nothing where its end has not come yet; File once the bytes are none of ours.
  Result<std::optional<Frame>> next();
  bool empty() const { return bytes_.empty(); }

private:
  std::string bytes_;
};

} // namespace tessera::tune
