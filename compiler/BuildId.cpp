// The compiler's build id: the linker's hash of the library's content, read from the loaded image.
#include "compiler/Compiler.h"

#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

namespace tessera {

/// Finds the GNU build id among the notes of the object that holds `self`.
static int readBuildId(dl_phdr_info *info, size_t, void *out) {
  auto self = reinterpret_cast<uintptr_t>(&readBuildId);
  auto &id = *static_cast<std::string *>(out);
  bool holdsSelf = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    holdsSelf |= segment.p_type == PT_LOAD && self >= start && self < start + segment.p_memsz;
  }
  if (!holdsSelf)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    auto at = reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr), end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *content = name + ((note->n_namesz + 3) & ~3u);
      bool gnu = note->n_namesz == sizeof(ELF_NOTE_GNU) && std::memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
      if (gnu && note->n_type == NT_GNU_BUILD_ID)
        for (unsigned b = 0; b < note->n_descsz; ++b)
          id += fmt::format("{:02x}", static_cast<unsigned char>(content[b]));
      at = content + ((note->n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

const std::string &compilerBuildId() {
  static const std::string &id = *new std::string([] {
    std::string found;
    dl_iterate_phdr(readBuildId, &found);
    return found.empty() ? std::string("no-build-id") : found;
  }());
  return id;
}

} // namespace tessera
