// vprintf and __assertfail, which compilers leave to the driver.
#include "runtime/simulator/machine/Printf.h"

#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::machine {

namespace {

/// Argument `i` of a call as a value.
uint64_t argument(Warp &w, const Op &op, size_t i, unsigned lane) {
  const program::CallSite &site = w.frame->function->calls[static_cast<size_t>(op.imm)];
  uint64_t value = 0;
  if (i >= site.arguments.size())
    return 0;
  const program::FormalParameter &a = site.arguments[i];
  if (a.reg != ptx::none)
    std::memcpy(&value, w.regs + op.ext[a.reg] + lane * a.registerBytes, std::min<size_t>(a.registerBytes, 8));
  else
    std::memcpy(&value, w.local + uint64_t(lane) * w.localBytes + w.frame->localBase + a.frameOffset,
                std::min<uint32_t>(a.size, 8));
  return value;
}

bool readString(Warp &w, const Op &op, unsigned lane, uint64_t address, std::string &out) {
  for (unsigned n = 0; n < 4096; ++n) {
    Place where;
    if (!place(w, op, lane, program::Space::Generic, address + n, 1, 1, Intent::Load, where))
      return false;
    char c = static_cast<char>(*where.data);
    if (!c)
      return true;
    out += c;
  }
  return true;
}

/// The next value of the argument buffer, which holds each at a multiple of its size.
bool bufferValue(Warp &w, const Op &op, unsigned lane, uint64_t buffer, unsigned bytes, uint64_t &offset,
                 uint64_t &value) {
  offset = (offset + bytes - 1) & ~uint64_t(bytes - 1);
  Place where;
  if (!place(w, op, lane, program::Space::Generic, buffer + offset, bytes, bytes, Intent::Load, where))
    return false;
  value = 0;
  std::memcpy(&value, where.data, bytes);
  offset += bytes;
  return true;
}

/// One conversion of a format, with its value from the argument buffer; a width or precision '*' takes one before it.
bool convert(Warp &w, const Op &op, unsigned lane, const std::string &spec, uint64_t buffer, uint64_t &offset,
             std::string &out) {
  char kind = spec.back();
  bool wide = spec.find('l') != std::string::npos || kind == 'p' || kind == 's' || kind == 'e' || kind == 'f' ||
              kind == 'g' || kind == 'E' || kind == 'G' || kind == 'a' || kind == 'A' || kind == 'F';
  char text[512] = "";
  std::string plain;
  for (char c : spec) {
    uint64_t number = 0;
    if (c == '*') {
      if (!bufferValue(w, op, lane, buffer, 4, offset, number))
        return false;
      int32_t size = std::clamp(static_cast<int32_t>(number), -4095, 4095);
      if (size < 0 && plain.back() == '.') // a negative precision counts as none
        plain.pop_back();
      else
        plain += std::to_string(size);
    } else if (c != 'l' && c != 'h') {
      plain += c;
    }
  }
  uint64_t value = 0;
  if (!bufferValue(w, op, lane, buffer, wide ? 8 : 4, offset, value))
    return false;
  switch (kind) {
  case 'd':
  case 'i':
    plain.insert(plain.size() - 1, "ll");
    std::snprintf(text, sizeof(text), plain.c_str(),
                  wide ? static_cast<long long>(value) : static_cast<long long>(static_cast<int32_t>(value)));
    break;
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    plain.insert(plain.size() - 1, "ll");
    std::snprintf(text, sizeof(text), plain.c_str(), static_cast<unsigned long long>(value));
    break;
  case 'c':
    std::snprintf(text, sizeof(text), plain.c_str(), static_cast<int>(value));
    break;
  case 'p':
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    break;
  case 's': {
    std::string string;
    if (!readString(w, op, lane, value, string))
      return false;
    std::snprintf(text, sizeof(text), plain.c_str(), string.c_str());
    break;
  }
  default: {
    double number;
    std::memcpy(&number, &value, 8);
    std::snprintf(text, sizeof(text), plain.c_str(), number);
  }
  }
  out += text;
  return true;
}

/// One lane's text, and how many conversions it has.
bool formatOne(Warp &w, const Op &op, unsigned lane, std::string &out, int32_t &conversions) {
  std::string format;
  if (!readString(w, op, lane, argument(w, op, 0, lane), format))
    return false;
  uint64_t buffer = argument(w, op, 1, lane), offset = 0;
  static constexpr std::string_view kinds = "diuxXocpsfFeEgGaA";
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out += '%';
      ++i;
      continue;
    }
    size_t end = format.find_first_of(kinds, i + 1);
    std::string spec = end == std::string::npos ? std::string() : format.substr(i, end - i + 1);
    if (spec.empty() || spec.find_first_not_of("%0123456789.+- #lh*", 0) != spec.size() - 1 || spec.size() > 16) {
      out += format[i];
      continue;
    }
    if (!convert(w, op, lane, spec, buffer, offset, out))
      return false;
    ++conversions;
    i = end;
  }
  return true;
}

} // namespace

const Op *runPrintf(Warp &w, const Op &op) {
  const program::CallSite &site = w.frame->function->calls[static_cast<size_t>(op.imm)];
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    int32_t conversions = 0;
    if (!formatOne(w, op, lane, w.block->printed, conversions))
      return nullptr;
    // CUDA's printf tells the number of arguments that it took.
    if (site.results.empty() || site.results[0].reg != ptx::none || site.results[0].size != 4)
      continue;
    uint64_t at = uint64_t(lane) * w.localBytes + w.frame->localBase + site.results[0].frameOffset;
    std::memcpy(w.local + at, &conversions, 4);
    if (w.checks)
      std::memset(w.localShadow + at, written, site.results[0].size);
  }
  return &op + 1;
}

const Op *runAssertFail(Warp &w, const Op &op) {
  auto lane = static_cast<unsigned>(__builtin_ctz(w.active));
  std::string message, file, function;
  if (!readString(w, op, lane, argument(w, op, 0, lane), message) ||
      !readString(w, op, lane, argument(w, op, 1, lane), file) ||
      !readString(w, op, lane, argument(w, op, 3, lane), function))
    return nullptr;
  Evidence e;
  e.kind = FindingKind::Assertion;
  e.fatal = true;
  e.lane = lane;
  e.message = fmt::format("assertion '{}' failed in {} ({}:{})", message, function, file,
                          static_cast<uint32_t>(argument(w, op, 2, lane)));
  report(w, op, std::move(e));
  return nullptr;
}

} // namespace tessera::sim::machine
