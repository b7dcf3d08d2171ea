// Opening, reading and verifying bundles. Checked at opening: header, digest of the index, everything the index says.
// Checked whenever an image is read: its digest, on the very bytes that are then used, and the facts that the index
// repeats. Left to verify(), because it reads the whole file: the zeros between images, and that the builds listed are
// those of the images.
//
// Images are read, not mapped: a file that is written to or cut short while it is open gives an error, where a mapping
// would let bytes change after they were checked, or raise SIGBUS.
#include "runtime/bundle/Bundle.h"

#include "runtime/bundle/BundleLayout.h"
#include "runtime/bundle/ImageFacts.h"
#include "runtime/bundle/IndexTables.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <set>
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

/// Where the bytes of a bundle are: an open file, or memory that outlives it.
class Source {
public:
  Source() = default;
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;
  ~Source() {
    if (file_ >= 0)
      close(file_);
  }

  void embed(std::string_view bytes) {
    memory_ = bytes;
    size_ = bytes.size();
  }

  Status open(const std::string &path) {
    if (path.find('\0') != std::string::npos)
      return fileFault(path.c_str(), "the path holds a zero byte");
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file_ < 0)
      return systemFault(path, "open", errno);
    struct stat facts;
    if (fstat(file_, &facts))
      return systemFault(path, "fstat", errno);
    if (!S_ISREG(facts.st_mode))
      return fileFault(path, "not a plain file");
    if (facts.st_size == 0)
      return fileFault(path, "the file is empty");
    size_ = uint64_t(facts.st_size);
    return {};
  }

  uint64_t size() const { return size_; }

  /// A copy of these bytes, which lie within the size that the source had when it was opened.
  Result<std::string> read(std::string_view path, uint64_t offset, uint64_t size) const {
    if (file_ < 0)
      return std::string(memory_.substr(offset, size));
    std::string bytes(size, '\0');
    for (uint64_t filled = 0; filled < size;) {
      const ssize_t got = pread(file_, bytes.data() + filled, size - filled, off_t(offset + filled));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return systemFault(path, "read", errno);
      if (got == 0)
        return fileFault(path,
                         fmt::format("the file ends at byte {}; it was cut short after it was opened", offset + filled),
                         "replace a bundle that is in use by rename, not by writing over it");
      filled += uint64_t(got);
    }
    return bytes;
  }

private:
  int file_ = -1;
  std::string_view memory_;
  uint64_t size_ = 0;
};

} // namespace

struct Bundle::State {
  std::string path;
  Source source;
  detail::BundleHeader header;
  BundleIndex index;
  std::optional<Signature> signature;

  /// Reads header and index.
  Status read() {
    const auto named = [&](const Status &status) { return fileFault(path, status.message(), status.hint()); };
    Result<std::string> start = source.read(path, 0, std::min(source.size(), detail::headerSize));
    if (!start)
      return start.status();
    Result<detail::BundleHeader> found = detail::readHeader(*start, source.size());
    if (!found)
      return named(found.status());
    header = *found;
    signature = detail::signatureOf(header);
    Result<std::string> indexBytes = source.read(path, detail::headerSize, header.indexSize);
    if (!indexBytes)
      return indexBytes.status();
    if (Status status = detail::checkIndex(header, *indexBytes); !status)
      return named(status);
    Result<detail::IndexText> text = detail::IndexText::parse(*indexBytes);
    if (!text)
      return named(text.status());
    Result<BundleIndex> resolved = detail::resolveIndex(std::move(*text), header.indexSize, source.size());
    if (!resolved)
      return named(resolved.status());
    if (resolved->entries.size() != header.imageCount)
      return fileFault(path, fmt::format("the header speaks of {} images, the index lists {}", header.imageCount,
                                         resolved->entries.size()));
    index = std::move(*resolved);
    return {};
  }
};

Bundle::Bundle(std::unique_ptr<State> state) : state_(std::move(state)) {}
Bundle::~Bundle() = default;

Result<std::shared_ptr<const Bundle>> Bundle::open(const std::string &path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (Status status = state->source.open(path); !status.ok())
    return status;
  if (Status status = state->read(); !status.ok())
    return status;
  return std::shared_ptr<const Bundle>(new Bundle(std::move(state)));
}

Result<std::shared_ptr<const Bundle>> Bundle::openEmbedded(std::span<const std::byte> bytes, std::string name) {
  auto state = std::make_unique<State>();
  state->path = std::move(name);
  state->source.embed({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  if (Status status = state->read(); !status.ok())
    return status;
  return std::shared_ptr<const Bundle>(new Bundle(std::move(state)));
}

const std::string &Bundle::path() const { return state_->path; }
const BundleIndex &Bundle::index() const { return state_->index; }
uint64_t Bundle::size() const { return state_->source.size(); }
Result<std::string> Bundle::bytes() const { return state_->source.read(path(), 0, size()); }
const std::optional<Signature> &Bundle::signature() const { return state_->signature; }

Result<std::string> Bundle::imageBytes(const BundleEntry &entry) const {
  const BundleEntry *first = state_->index.entries.data(), *end = first + state_->index.entries.size();
  if (std::less<>()(&entry, first) || !std::less<>()(&entry, end))
    return Status(Code::InvalidArgument, fmt::format("the entry is none of bundle '{}'", path()));
  Result<std::string> image = state_->source.read(path(), entry.offset, entry.size);
  if (image && digestOf(*image) != entry.digest)
    return fileFault(path(),
                     fmt::format("the digest of the image for {} {} {} does not match: the bytes were changed",
                                 entry.spec, entry.schedule, entry.target.text()),
                     "copy the file again");
  return image;
}

Result<KernelImage> Bundle::image(const BundleEntry &entry) const {
  const Result<std::string> bytes = imageBytes(entry);
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
    const Result<std::string> gap = state_->source.read(path(), end, entry.offset - end);
    if (!gap)
      return gap.status();
    if (size_t at = gap->find_first_not_of('\0'); at != gap->npos)
      return fileFault(path(), fmt::format("byte {}, which fills up a page, is not zero", end + at));
    end = entry.offset + entry.size;
    // An architecture of a later Tessera: whole, but not to be understood here.
    if (!Target::parse(entry.target.text())) {
      complete = false;
      if (Result<std::string> whole = imageBytes(entry); !whole)
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
