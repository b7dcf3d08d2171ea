// Lengths first, with bounds that no message of ours reaches.
#include "autotune/search/Frame.h"

#include <cstring>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

constexpr std::string_view kMagic = "TSW1";
constexpr size_t kHeader = kMagic.size() + sizeof(uint32_t) + sizeof(uint64_t);
constexpr uint32_t kMostHead = uint32_t(16) << 20;
constexpr uint64_t kMostBody = uint64_t(1) << 30;

} // namespace

std::string encode(const Frame &frame) {
  const std::string head = frame.head.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const uint32_t headSize = uint32_t(head.size());
  const uint64_t bodySize = frame.body.size();
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char *>(&headSize), sizeof headSize);
  bytes.append(reinterpret_cast<const char *>(&bodySize), sizeof bodySize);
  return bytes + head + frame.body;
}

Result<std::optional<Frame>> FrameReader::next() {
  const size_t known = std::min(bytes_.size(), kMagic.size());
  if (std::string_view(bytes_).substr(0, known) != kMagic.substr(0, known))
    return Status(Code::File, "bytes that are no message");
  if (bytes_.size() < kHeader)
    return std::optional<Frame>();
  uint32_t headSize = 0;
  uint64_t bodySize = 0;
  std::memcpy(&headSize, bytes_.data() + kMagic.size(), sizeof headSize);
  std::memcpy(&bodySize, bytes_.data() + kMagic.size() + sizeof headSize, sizeof bodySize);
  if (headSize > kMostHead || bodySize > kMostBody)
    return Status(Code::File, fmt::format("a message of {} and {} bytes", headSize, bodySize));
  const size_t whole = kHeader + headSize + bodySize;
  if (bytes_.size() < whole)
    return std::optional<Frame>();
  Frame frame;
  frame.head = nlohmann::ordered_json::parse(bytes_.begin() + kHeader, bytes_.begin() + kHeader + headSize, nullptr,
                                             /*allow_exceptions=*/false);
  if (!frame.head.is_object())
    return Status(Code::File, "a message whose head is no JSON object");
  frame.body = bytes_.substr(kHeader + headSize, bodySize);
  bytes_.erase(0, whole);
  return std::optional(std::move(frame));
}

} // namespace tessera::tune
