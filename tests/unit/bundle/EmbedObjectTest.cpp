// Embedding: the object file says what it should, and a program that links it finds the bundle in itself.
#include "runtime/bundle/EmbedObject.h"
#include "tests/unit/bundle/SampleImages.h"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

namespace tessera {
namespace {

using namespace test;
namespace fs = std::filesystem;

template <typename T> T at(const std::string &file, uint64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

TEST(EmbedObject, TheObjectHoldsTheBytesUnderTheirSymbols) {
  for (size_t size : {0u, 1u, 7u, 8u, 5000u}) {
    std::string bytes(size, 'x');
    const std::string file = must(embedObject(bytes, "app_kernels"));
    EXPECT_EQ(file, must(embedObject(bytes, "app_kernels")));
    const auto header = at<Elf64_Ehdr>(file, 0);
    ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
    EXPECT_EQ(header.e_type, ET_REL);
    ASSERT_EQ(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr), file.size());
    std::map<std::string, Elf64_Shdr> sections;
    auto section = [&](unsigned i) { return at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
    for (unsigned i = 0; i < header.e_shnum; ++i)
      sections[file.c_str() + section(header.e_shstrndx).sh_offset + section(i).sh_name] = section(i);
    const Elf64_Shdr data = sections[".rodata"];
    EXPECT_EQ(data.sh_flags, Elf64_Xword(SHF_ALLOC)); // neither writable nor executable
    EXPECT_EQ(data.sh_addralign, 4096u);
    EXPECT_EQ(data.sh_offset % 4096, 0u);
    ASSERT_TRUE(sections.contains(".note.GNU-stack"));
    EXPECT_EQ(sections[".note.GNU-stack"].sh_flags, 0u);
    std::map<std::string, Elf64_Sym> symbols;
    for (unsigned i = 1; i < sections[".symtab"].sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(file, sections[".symtab"].sh_offset + i * sizeof(Elf64_Sym));
      symbols[file.c_str() + sections[".strtab"].sh_offset + symbol.st_name] = symbol;
    }
    ASSERT_EQ(symbols.size(), 2u);
    for (const auto &[name, symbol] : symbols) {
      EXPECT_EQ(symbol.st_info, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)) << name;
      EXPECT_LE(symbol.st_value + symbol.st_size, data.sh_size);
    }
    EXPECT_EQ(file.substr(data.sh_offset + symbols["app_kernels"].st_value, symbols["app_kernels"].st_size), bytes);
    EXPECT_EQ(at<uint64_t>(file, data.sh_offset + symbols["app_kernels_size"].st_value), size);
    EXPECT_EQ(symbols["app_kernels_size"].st_value % 8, 0u);
  }
}

TEST(EmbedObject, OnlyIdentifiersAreSymbols) {
  for (std::string symbol : {std::string(), std::string("1a"), std::string("a-b"), std::string("a b"),
                             std::string("a\0b", 3), std::string("\xc3\xa4"), std::string(300, 'a')})
    EXPECT_EQ(embedObject("x", symbol).status().code(), Code::InvalidArgument) << symbol;
  EXPECT_TRUE(embedObject("x", "_A9").ok());
}

TEST(EmbedObject, AProgramThatLinksItFindsTheBundle) {
  std::string folder = (fs::temp_directory_path() / "tessera-embed-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  auto write = [&](const char *name, const std::string &bytes) {
    std::ofstream(fs::path(folder) / name, std::ios::binary) << bytes;
  };
  const std::string bundle = sampleBundle(3);
  write("kernels.o", must(embedObject(bundle, "app_kernels")));
  write("main.c", "#include <stdint.h>\n#include <stdio.h>\n"
                  "extern const unsigned char app_kernels[];\nextern const uint64_t app_kernels_size;\n"
                  "int main(void) {\n"
                  "  if ((uintptr_t)app_kernels % 4096) return 2;\n"
                  "  return fwrite(app_kernels, 1, app_kernels_size, stdout) == app_kernels_size ? 0 : 3;\n}\n");
  const std::string build = fmt::format("cd '{}' && '{}' -Wall -Werror -Wl,--fatal-warnings main.c kernels.o -o main "
                                        "&& ./main > out.tsb",
                                        folder, TEST_C_COMPILER);
  EXPECT_EQ(std::system(build.c_str()), 0);
  auto opened = Bundle::open(folder + "/out.tsb");
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  EXPECT_EQ(must((*opened)->bytes()), bundle);
  fs::remove_all(folder);
}

} // namespace
} // namespace tessera
