// Names and widths of the PTX types.
#include "runtime/simulator/ptx/Type.h"

namespace tessera::sim::ptx {

namespace {
struct Row {
  Type type;
  std::string_view name;
  unsigned size;
};
constexpr Row rows[] = {
    {Type::None, "", 0},          {Type::U8, ".u8", 1},       {Type::U16, ".u16", 2},
    {Type::U32, ".u32", 4},       {Type::U64, ".u64", 8},     {Type::S8, ".s8", 1},
    {Type::S16, ".s16", 2},       {Type::S32, ".s32", 4},     {Type::S64, ".s64", 8},
    {Type::B8, ".b8", 1},         {Type::B16, ".b16", 2},     {Type::B32, ".b32", 4},
    {Type::B64, ".b64", 8},       {Type::B128, ".b128", 16},  {Type::F16, ".f16", 2},
    {Type::F16x2, ".f16x2", 4},   {Type::BF16, ".bf16", 2},   {Type::BF16x2, ".bf16x2", 4},
    {Type::TF32, ".tf32", 4},     {Type::F32, ".f32", 4},     {Type::F64, ".f64", 8},
    {Type::E4M3, ".e4m3", 1},     {Type::E5M2, ".e5m2", 1},   {Type::E4M3x2, ".e4m3x2", 2},
    {Type::E5M2x2, ".e5m2x2", 2}, {Type::U16x2, ".u16x2", 4}, {Type::S16x2, ".s16x2", 4},
    {Type::Pred, ".pred", 0},
};
} // namespace

std::optional<Type> parseType(std::string_view text) {
  for (const Row &row : rows)
    if (!row.name.empty() && row.name == text)
      return row.type;
  return std::nullopt;
}

std::string_view toString(Type type) { return rows[static_cast<unsigned>(type)].name; }
unsigned sizeOf(Type type) { return rows[static_cast<unsigned>(type)].size; }

} // namespace tessera::sim::ptx
