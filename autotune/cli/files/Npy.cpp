// The .npy format: magic, version, header length, a Python dictionary literal, then the elements.
#include "autotune/cli/files/Npy.h"

#include "autotune/cli/files/Extent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace tessera::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMaxHeader = 64 * 1024; // a shape of 32 dimensions needs less than 1 KiB

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<uint64_t> shape;
};

/// The subset of Python literals that NumPy writes into headers: strings, booleans, and tuples of integers.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  Result<Header> parse() {
    Header header;
    bool seen[3] = {};
    if (!take('{'))
      return refuse("does not begin with '{'");
    while (!take('}')) {
      const std::optional<std::string> key = string();
      if (!key || !take(':'))
        return refuse("has no \"'key': value\" where one is due");
      const int which = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
      if (which < 0)
        return refuse(fmt::format("has the unknown key '{}'", key->substr(0, 40)));
      if (std::exchange(seen[which], true))
        return refuse(fmt::format("names '{}' twice", *key));
      if (which == 0) {
        std::optional<std::string> descr = string();
        if (!descr)
          return refuse("describes structured elements; only plain arrays of f16, bf16 or f32 are read");
        header.descr = *std::move(descr);
      } else if (which == 1) {
        const bool yes = word("True");
        if (!yes && !word("False"))
          return refuse("gives 'fortran_order' as neither True nor False");
        header.fortranOrder = yes;
      } else if (!tuple(header.shape)) {
        return refuse(
            fmt::format("gives 'shape' as something other than a tuple of up to {} sizes below 2^62", kMaxRank));
      }
      if (!take(',') && !peek('}'))
        return refuse("lacks a comma or a '}'");
    }
    skipSpace();
    if (!rest.empty())
      return refuse("goes on after its '}'");
    for (int which = 0; which < 3; ++which)
      if (!seen[which])
        return refuse(fmt::format("lacks '{}'", which == 0 ? "descr" : which == 1 ? "fortran_order" : "shape"));
    return header;
  }

private:
  static Status refuse(std::string what) { return Status(Code::File, "its .npy header " + std::move(what)); }

  void skipSpace() { rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size())); }
  bool peek(char c) {
    skipSpace();
    return !rest.empty() && rest.front() == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool word(std::string_view text) {
    skipSpace();
    if (!rest.starts_with(text))
      return false;
    rest.remove_prefix(text.size());
    return true;
  }
  std::optional<std::string> string() {
    if (!peek('\'') && !peek('"'))
      return std::nullopt;
    const size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string text(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    if (text.find('\\') != std::string::npos)
      return std::nullopt;
    return text;
  }
  bool tuple(std::vector<uint64_t> &shape) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skipSpace();
      uint64_t extent = 0;
      size_t digits = 0;
      for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
        extent = extent * 10 + uint64_t(rest[digits] - '0');
        if (extent >> 62 != 0)
          return false;
      }
      if (digits == 0 || shape.size() == kMaxRank)
        return false;
      shape.push_back(extent);
      rest.remove_prefix(digits);
      take('L'); // Python 2 wrote long integers so
      if (!take(',') && !peek(')'))
        return false;
    }
    return true;
  }

  std::string_view rest;
};

Result<DType> elementType(const std::string &descr) {
  if (descr == "<f2")
    return DType::F16;
  if (descr == "<f4")
    return DType::F32;
  if (descr == "|V2" || descr == "<V2" || descr == "V2" || descr == "bfloat16")
    return DType::BF16;
  if (descr == ">f2" || descr == ">f4")
    return Status(Code::File, fmt::format("its elements are big-endian ('{}')", descr),
                  fmt::format("convert it with numpy: a.astype('<{}')", descr.substr(1)));
  return Status(
      Code::File, fmt::format("its elements have the type '{}'", descr.substr(0, 40)),
      "f16 ('<f2'), f32 ('<f4') and bf16 ('|V2', 'bfloat16') are read; convert it with numpy: a.astype('<f4')");
}

/// Column-major elements to row-major ones.
std::vector<std::byte> fromFortran(const std::vector<std::byte> &from, const std::vector<int64_t> &shape,
                                   size_t width) {
  std::vector<std::byte> to(from.size());
  const size_t rank = shape.size(), count = from.size() / width;
  std::vector<size_t> strides(rank), index(rank, 0);
  for (size_t axis = 0, stride = 1; axis < rank; stride *= size_t(shape[axis++]))
    strides[axis] = stride;
  size_t source = 0;
  for (size_t n = 0; n < count; ++n) {
    std::memcpy(to.data() + n * width, from.data() + source * width, width);
    for (size_t axis = rank; axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < size_t(shape[axis]))
        break;
      source -= strides[axis] * size_t(shape[axis]);
      index[axis] = 0;
    }
  }
  return to;
}

} // namespace

Result<HostTensor> readNpy(const ByteSource &source) {
  std::byte start[12] = {};
  const uint64_t have = std::min<uint64_t>(source.size(), sizeof start);
  if (Status status = source.read(0, {start, size_t(have)}); !status)
    return status;
  if (have < 10 || std::memcmp(start, kMagic.data(), kMagic.size()) != 0)
    return Status(Code::File, "it is not a .npy file: the magic bytes \\x93NUMPY are missing");
  const unsigned version = unsigned(start[6]);
  if (version < 1 || version > 3 || start[7] != std::byte{0})
    return Status(Code::File, fmt::format("it is a .npy file of version {}.{}", version, unsigned(start[7])),
                  "versions 1.0, 2.0 and 3.0 are read");
  const unsigned lengthBytes = version == 1 ? 2 : 4;
  uint64_t length = 0;
  for (unsigned n = 0; n < lengthBytes; ++n)
    length |= uint64_t(start[8 + n]) << (8 * n);
  const uint64_t dataBegin = 8 + lengthBytes + length;
  if (length > kMaxHeader || dataBegin > source.size())
    return Status(Code::File, fmt::format("its .npy header claims {} bytes; the file has {} and a header at most {}",
                                          length, source.size(), kMaxHeader));
  std::string text(length, '\0');
  if (Status status = source.read(8 + lengthBytes, std::as_writable_bytes(std::span(text))); !status)
    return status;
  const Result<Header> header = HeaderParser(text).parse();
  if (!header)
    return header.status();
  const Result<DType> type = elementType(header->descr);
  if (!type)
    return type.status();
  const std::optional<uint64_t> bytes = byteExtent(header->shape, byteSize(*type));
  if (!bytes || *bytes != source.size() - dataBegin)
    return Status(Code::File,
                  fmt::format("its .npy header announces the shape ({}) of {}, which does not fit the {} bytes "
                              "that follow",
                              fmt::join(header->shape, ", "), name(*type), source.size() - dataBegin));
  HostTensor tensor{*type, {header->shape.begin(), header->shape.end()}, std::vector<std::byte>(*bytes)};
  if (Status status = source.read(dataBegin, tensor.bytes); !status)
    return status;
  if (header->fortranOrder && tensor.shape.size() > 1)
    tensor.bytes = fromFortran(tensor.bytes, tensor.shape, byteSize(*type));
  return tensor;
}

std::string npyHeader(const HostTensor &tensor) {
  const std::string_view descr = tensor.type == DType::F16 ? "<f2" : tensor.type == DType::BF16 ? "<V2" : "<f4";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  constexpr size_t start = 10, alignment = 64;
  text.append((alignment - (start + text.size() + 1) % alignment) % alignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', char(text.size() & 0xff), char(text.size() >> 8)};
  return header + text;
}

} // namespace tessera::files
