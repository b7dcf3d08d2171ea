// The changes to a tree of JSON.
#include "tests/fuzz/JsonMutator.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace tessera::fuzz {
namespace {

using Json = nlohmann::json;

constexpr int mostDepth = 32; // of what is taken apart here; dump() and the walk below are recursive

void collect(Json &value, std::vector<Json *> &nodes) {
  nodes.push_back(&value);
  if (value.is_structured())
    for (Json &child : value)
      collect(child, nodes);
}

class Change {
public:
  Change(Json &root, Random &random, std::span<const std::string_view> words) : random_(random), words_(words) {
    collect(root, nodes_);
  }

  void make() {
    Json &node = *random_.pick(nodes_);
    if (node.is_array())
      changeArray(node);
    else if (node.is_object())
      changeObject(node);
    else
      changeScalar(node);
  }

private:
  Json another() { return *random_.pick(nodes_); }

  std::string word() {
    if (!words_.empty() && !random_.chance(4))
      return std::string(random_.pick(words_));
    const Json other = another();
    return other.is_string()                     ? other.get<std::string>()
           : other.is_object() && !other.empty() ? other.begin().key()
                                                 : "";
  }

  void changeScalar(Json &node) {
    if (random_.chance(6)) {
      node = another();
    } else if (node.is_string()) {
      const std::string text = node.get<std::string>();
      node = random_.chance(3) ? word() : random_.bytes(text);
    } else if (node.is_number_integer() && !random_.chance(8)) {
      const uint64_t number = random_.number(node.get<uint64_t>());
      node = random_.chance(8) ? Json(int64_t(number)) : Json(number);
    } else {
      const Json values[] = {Json(), true, false, 0, -1, 0.5, 1e300, "", Json::array(), Json::object(), word()};
      node = random_.pick(values);
    }
  }

  void changeArray(Json &node) {
    const size_t at = random_.below(node.size());
    switch (random_.below(node.empty() ? 1 : 4)) {
    case 0:
      node.insert(node.begin() + long(random_.below(node.size() + 1)), another());
      break;
    case 1:
      node.erase(at);
      break;
    case 2:
      node.insert(node.begin() + long(at), Json(node[at]));
      break;
    default:
      std::swap(node[at], node[random_.below(node.size())]);
    }
  }

  void changeObject(Json &node) {
    if (node.empty() || random_.chance(3)) {
      node[word()] = another();
      return;
    }
    auto at = std::next(node.begin(), long(random_.below(node.size())));
    const Json value = *at;
    const std::string name = word();
    node.erase(at); // what nodes_ holds of it is gone
    if (random_.chance(2))
      node[name] = value;
  }

  Random &random_;
  std::span<const std::string_view> words_;
  std::vector<Json *> nodes_;
};

} // namespace

std::string mutateJson(std::string_view text, Random &random, std::span<const std::string_view> words) {
  bool deep = false;
  Json root = Json::parse(
      text,
      [&](int depth, Json::parse_event_t, Json &) {
        deep |= depth > mostDepth;
        return depth <= mostDepth;
      },
      /*allow_exceptions=*/false);
  if (root.is_discarded() || deep || random.chance(12))
    return random.bytes(text);
  for (size_t changes = 1 + random.below(3); changes; --changes)
    Change(root, random, words).make();
  return root.dump(random.chance(16) ? 1 : -1, ' ', random.chance(2), Json::error_handler_t::replace);
}

size_t mutateLine(uint8_t *data, size_t size, size_t maxSize, unsigned seed, std::span<const std::string_view> words) {
  Random random(seed);
  if (random.chance(8))
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(viewOf(data, size));
  size_t begin = text.rfind('\n', random.below(text.size()));
  begin = begin == text.npos ? 0 : begin + 1;
  const size_t length = std::min(text.find('\n', begin), text.size()) - begin;
  return give(text.replace(begin, length, mutateJson(text.substr(begin, length), random, words)), data, maxSize);
}

} // namespace tessera::fuzz
