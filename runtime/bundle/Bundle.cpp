// Opening, reading and verifying bundles. Checked at opening: header, digest of the index, everything the index says.
// Checked when an image is first read: its digest and the facts that the index repeats. Left to verify(), because it
// touches every page: the zeros between images, and that the builds listed are those of the images.
//
// A file that another process cuts short while it is open is out of scope: reading what is gone raises SIGBUS, as with
// any mapped file. Replacing it by rename, which is how Tessera writes files, is safe.
#include "runtime/bundle/Bundle.h"

#include "runtime/bundle/BundleLayout.h"
#include "runtime/bundle/ImageFacts.h"
#include "runtime/bundle/IndexTables.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tessera {
namespace {

Status fileFault(std::string_view path, std::string_view what, std::string hint = {}) {
  return {Code::File, fmt::format("bundle '{}': {}", path, what), std::move(hint)};
}

Status systemFault(std::string_view path, std::string_view call, int error) {
  return fileFault(path, fmt::format("{}: {}", call, std::system_category().message(error)));
}

/// A file in memory for as long as it lives.
class Mapping {
public:
  Mapping() = default;
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    if (!bytes_.empty())
      munmap(const_cast<char *>(bytes_.data()), bytes_.size());
  }

  Status map(const std::string &path) {
    if (path.find('\0') != std::string::npos)
      return fileFault(path.c_str(), "the path holds a zero byte");
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
      return systemFault(path, "open", errno);
    Status status = mapFile(path, file);
    close(file);
    return status;
  }
  std::string_view bytes() const { return bytes_; }

private:
  Status mapFile(const std::string &path, int file) {
    struct stat facts;
    if (fstat(file, &facts))
      return systemFault(path, "fstat", errno);
    if (!S_ISREG(facts.st_mode))
      return fileFault(path, "not a plain file");
    if (facts.st_size == 0)
      return fileFault(path, "the file is empty");
    void *start = mmap(nullptr, size_t(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED)
      return systemFault(path, "mmap", errno);
    bytes_ = {static_cast<const char *>(start), size_t(facts.st_size)};
    return {};
  }

  std::string_view bytes_;
};

} // namespace

struct Bundle::State {
  std::string path;
  Mapping mapping; ///< of nothing where the bundle is embedded
  std::string_view bytes;
  detail::BundleHeader header;
  BundleIndex index;
  std::optional<Signature> signature;
  mutable std::unique_ptr<std::atomic<bool>[]> sound; ///< by entry: its digest has been checked

  /// Reads header and index of `bytes`.
  Status read() {
    Result<detail::BundleHeader> found = detail::readHeader(bytes);
    if (!found)
      return fileFault(path, found.status().message(), found.status().hint());
    header = *found;
    signature = detail::signatureOf(header);
    Result<detail::IndexText> text = detail::IndexText::parse(detail::indexOf(header, bytes));
    if (!text)
      return fileFault(path, text.status().message());
    Result<BundleIndex> resolved = detail::resolveIndex(std::move(*text), header.indexSize, bytes.size());
    if (!resolved)
      return fileFault(path, resolved.status().message());
    if (resolved->entries.size() != header.imageCount)
      return fileFault(path, fmt::format("the header speaks of {} images, the index lists {}", header.imageCount,
                                         resolved->entries.size()));
    index = std::move(*resolved);
    sound = std::make_unique<std::atomic<bool>[]>(index.entries.size());
    return {};
  }
};

Bundle::Bundle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Bundle::~Bundle() = default;

Result<std::shared_ptr<const Bundle>> Bundle::open(const std::string &path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (Status status = state->mapping.map(path); !status.ok())
    return status;
  state->bytes = state->mapping.bytes();
  if (Status status = state->read(); !status.ok())
    return status;
  return std::shared_ptr<const Bundle>(new Bundle(std::move(state)));
}

Result<std::shared_ptr<const Bundle>> Bundle::openEmbedded(std::span<const std::byte> bytes, std::string name) {
  auto state = std::make_unique<State>();
  state->path = std::move(name);
  state->bytes = {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  if (Status status = state->read(); !status.ok())
    return status;
  return std::shared_ptr<const Bundle>(new Bundle(std::move(state)));
}

const std::string &Bundle::path() const { return state_->path; }
const BundleIndex &Bundle::index() const { return state_->index; }
std::string_view Bundle::bytes() const { return state_->bytes; }
const std::optional<Signature> &Bundle::signature() const { return state_->signature; }

Result<std::string_view> Bundle::imageBytes(const BundleEntry &entry) const {
  const BundleEntry *first = state_->index.entries.data(), *end = first + state_->index.entries.size();
  if (std::less<>()(&entry, first) || !std::less<>()(&entry, end))
    return Status(Code::InvalidArgument, fmt::format("the entry is none of bundle '{}'", path()));
  const std::string_view image = bytes().substr(entry.offset, entry.size);
  std::atomic<bool> &sound = state_->sound[size_t(&entry - first)];
  if (!sound) {
    if (digestOf(image) != entry.digest)
      return fileFault(path(),
                       fmt::format("the digest of the image for {} {} {} does not match: the bytes were changed",
                                   entry.spec, entry.schedule, entry.target.text()),
                       "copy the file again");
    sound = true;
  }
  return image;
}

Result<KernelImage> Bundle::image(const BundleEntry &entry) const {
  Result<std::string_view> bytes = imageBytes(entry);
  if (!bytes)
    return bytes.status();
  Result<KernelImage> image = KernelImage::parse(*bytes);
  if (!image)
    return fileFault(path(),
                     fmt::format("the image for {} {} {}: {}", entry.spec, entry.schedule, entry.target.text(),
                                 image.status().message()),
                     image.status().hint());
  auto contradiction = [&](std::string_view fact, std::string_view stated, std::string_view real) {
    return fileFault(path(), fmt::format("the index contradicts an image: {} {} -> {}", fact, stated, real));
  };
  if (std::string spec = image->spec.text(); spec != entry.spec)
    return contradiction("spec", entry.spec, spec);
  if (std::string schedule = image->schedule.text(); schedule != entry.schedule)
    return contradiction("schedule", entry.schedule, schedule);
  if (std::string changes = detail::factChanges(entry, detail::factsOf(*image)); !changes.empty())
    return fileFault(path(), fmt::format("the index contradicts the image for {} {} {}: {}", entry.spec, entry.schedule,
                                         entry.target.text(), changes));
  if (!std::ranges::binary_search(index().builds, image->buildId))
    return fileFault(path(), fmt::format("an image of build '{}', which the index does not list", image->buildId));
  return image;
}

Status Bundle::verify() const {
  std::set<std::string> builds;
  bool complete = true;
  uint64_t end = detail::headerSize + state_->header.indexSize;
  for (const BundleEntry &entry : index().entries) {
    const std::string_view gap = bytes().substr(end, entry.offset - end);
    if (size_t at = gap.find_first_not_of('\0'); at != gap.npos)
      return fileFault(path(), fmt::format("byte {}, which fills up a page, is not zero", end + at));
    end = entry.offset + entry.size;
    // An architecture of a later Tessera: whole, but not to be understood here.
    if (!Target::parse(entry.target.text())) {
      complete = false;
      if (Result<std::string_view> whole = imageBytes(entry); !whole)
        return whole.status();
      continue;
    }
    Result<KernelImage> found = image(entry);
    if (!found)
      return found.status();
    builds.insert(found->buildId);
  }
  for (const std::string &build : index().builds)
    if (complete && !builds.contains(build))
      return fileFault(path(), fmt::format("the index lists build '{}', of which there is no image", build));
  if (signature() && !detail::signatureHolds(state_->header))
    return fileFault(path(), "the signature does not match: header or index were changed after signing");
  return {};
}

Status Bundle::verifySignature(const PublicKey &key) const {
  auto refuse = [&](std::string_view what, std::string hint = {}) {
    return Status(Code::InvalidArgument, fmt::format("bundle '{}': {}", path(), what), std::move(hint));
  };
  if (!signature())
    return refuse("it is not signed", "tessera bundle sign adds a signature");
  if (signature()->key != key)
    return refuse(fmt::format("signed with another key: {}", signature()->key.text()));
  if (!detail::signatureHolds(state_->header))
    return refuse("the signature does not match: header or index were changed after signing");
  return {};
}

} // namespace tessera
