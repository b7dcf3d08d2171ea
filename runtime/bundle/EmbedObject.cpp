// An ELF relocatable file around the bytes:
//
//   ELF header | zeros to 4096 | bytes | zeros to 8 | size (u64) | symbols | names | section names | section headers
//              \------------- .rodata -------------------------/
#include "runtime/bundle/EmbedObject.h"

#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <iterator>

namespace tessera {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half machine = EM_X86_64;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
constexpr Elf64_Half machine = EM_AARCH64;
#else
constexpr Elf64_Half machine = EM_NONE;
#endif

constexpr uint64_t pageSize = 4096;
constexpr uint64_t maxBytes = uint64_t(1) << 40; // keeps the offsets below far from overflow

enum Section : Elf64_Half { Null, Data, Stack, Symbols, Names, SectionNames, Sections };
constexpr const char *sectionNames[Sections] = {"", ".rodata", ".note.GNU-stack", ".symtab", ".strtab", ".shstrtab"};

bool isIdentifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || text.size() > 255 || !letter(text[0]))
    return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

void align(std::string &file, uint64_t alignment) {
  file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
}

template <typename T> void append(std::string &file, const T &value) {
  file.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Adds a string that ends in a zero byte; its place in the table.
Elf64_Word addName(std::string &table, std::string_view name) {
  const auto place = Elf64_Word(table.size());
  table += name;
  table += '\0';
  return place;
}

Elf64_Sym object(Elf64_Word name, uint64_t place, uint64_t size) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbol.st_shndx = Data;
  symbol.st_value = place;
  symbol.st_size = size;
  return symbol;
}

} // namespace

Result<std::string> embedObject(std::string_view bytes, std::string_view symbol) {
  if (machine == EM_NONE)
    return Status(Code::Unsupported, "object files are written for x86-64 and AArch64 only",
                  "install the bundle as a file and open it by its path");
  if (!isIdentifier(symbol))
    return Status(Code::InvalidArgument, fmt::format("'{}' is no C identifier", symbol.substr(0, 64)),
                  "letters, digits and _, not starting with a digit, at most 255");
  if (bytes.size() > maxBytes)
    return Status(Code::InvalidArgument, fmt::format("{} bytes are too many to embed", bytes.size()));

  Elf64_Shdr sections[Sections] = {};
  std::string file(sizeof(Elf64_Ehdr), '\0');
  auto begin = [&](Section section, Elf64_Word type, uint64_t alignment) {
    align(file, alignment);
    sections[section].sh_type = type;
    sections[section].sh_offset = file.size();
    sections[section].sh_addralign = alignment;
  };
  auto end = [&](Section section) { sections[section].sh_size = file.size() - sections[section].sh_offset; };

  begin(Data, SHT_PROGBITS, pageSize);
  sections[Data].sh_flags = SHF_ALLOC;
  file += bytes;
  align(file, sizeof(uint64_t));
  const uint64_t sizePlace = file.size() - sections[Data].sh_offset;
  append(file, uint64_t(bytes.size()));
  end(Data);
  begin(Stack, SHT_PROGBITS, 1); // says that the stack need not be executable
  end(Stack);

  std::string names(1, '\0');
  begin(Symbols, SHT_SYMTAB, alignof(Elf64_Sym));
  sections[Symbols].sh_link = Names;
  sections[Symbols].sh_info = 1; // the first global symbol
  sections[Symbols].sh_entsize = sizeof(Elf64_Sym);
  append(file, Elf64_Sym{});
  append(file, object(addName(names, symbol), 0, bytes.size()));
  append(file, object(addName(names, std::string(symbol) + "_size"), sizePlace, sizeof(uint64_t)));
  end(Symbols);
  begin(Names, SHT_STRTAB, 1);
  file += names;
  end(Names);
  std::string headerNames;
  for (unsigned section = Null; section < Sections; ++section)
    sections[section].sh_name = addName(headerNames, sectionNames[section]);
  begin(SectionNames, SHT_STRTAB, 1);
  file += headerNames;
  end(SectionNames);

  align(file, alignof(Elf64_Shdr));
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = ELFOSABI_NONE;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_shoff = file.size();
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = Sections;
  header.e_shstrndx = SectionNames;
  std::memcpy(file.data(), &header, sizeof header);
  append(file, sections);
  return file;
}

} // namespace tessera
