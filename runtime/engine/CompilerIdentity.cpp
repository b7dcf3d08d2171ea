// Reads a library's build id from its file, and remembers what else the library said of itself.
#include "runtime/engine/CompilerIdentity.h"

#include "runtime/engine/CompilerLibrary.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <link.h>
#include <sys/stat.h>
#include <vector>

namespace tessera::detail {
namespace {

template <typename T> bool readAt(std::ifstream &file, uint64_t offset, T *values, size_t count) {
  file.seekg(std::streamoff(offset));
  return bool(file.read(reinterpret_cast<char *>(values), std::streamsize(count * sizeof(T))));
}

/// The build id among these notes, or nothing.
std::string buildIdOf(const std::vector<char> &notes) {
  std::string id;
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= notes.size();) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const size_t name = at + sizeof note, content = name + ((size_t(note.n_namesz) + 3) & ~size_t(3));
    const size_t end = content + ((size_t(note.n_descsz) + 3) & ~size_t(3));
    if (end > notes.size())
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        !std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU))
      for (size_t i = 0; i < note.n_descsz; ++i)
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
    at = end;
  }
  return id;
}

/// What changes when a file is replaced; empty where there is none.
std::string stampOf(const std::string &path) {
  struct stat status;
  if (path.empty() || ::stat(path.c_str(), &status) != 0)
    return {};
  return fmt::format("{} {} {}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The lines of a note: build, assembler, the assembler's path, the stamp of that file.
std::vector<std::string> lines(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

} // namespace

std::string elfBuildId(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header;
  if (!file || !readAt(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header.e_phentsize != sizeof(ElfW(Phdr)))
    return {};
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  if (!readAt(file, header.e_phoff, segments.data(), segments.size()))
    return {};
  for (const ElfW(Phdr) &segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 65536)
      continue;
    std::vector<char> notes(segment.p_filesz);
    if (!readAt(file, segment.p_offset, notes.data(), notes.size()))
      return {};
    if (std::string id = buildIdOf(notes); !id.empty())
      return id;
  }
  return {};
}

Result<CompilerIdentity> identifyCompiler(const std::string &path, DiskCache &cache) {
  Result<std::string> located = CompilerLibrary::locate(path);
  if (!located)
    return located.status();
  const std::string id = elfBuildId(*located);
  const std::string note = fmt::format("compiler {}\nTESSERA_CUDA_PATH {}\nLD_LIBRARY_PATH {}", id,
                                       environment("TESSERA_CUDA_PATH"), environment("LD_LIBRARY_PATH"));
  if (!id.empty())
    if (std::optional<std::string> text = cache.note(note))
      if (std::vector<std::string> known = lines(*text); known.size() == 4 && stampOf(known[2]) == known[3])
        return CompilerIdentity{known[0], known[1]};

  Result<std::shared_ptr<const CompilerLibrary>> library = CompilerLibrary::open(*located);
  if (!library)
    return library.status();
  CompilerIdentity identity{(*library)->buildId(), (*library)->assembler()};
  if (identity.assembler.starts_with("none"))
    identity.assembler = "none"; // not remembered: an assembler may be installed any time
  else if (const std::string stamp = stampOf((*library)->assemblerPath()); !id.empty() && !stamp.empty())
    cache.keepNote(
        note, fmt::format("{}\n{}\n{}\n{}", identity.build, identity.assembler, (*library)->assemblerPath(), stamp));
  return identity;
}

} // namespace tessera::detail
