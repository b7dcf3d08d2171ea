// Two maps by canonical text.
#include "autotune/search/KernelStore.h"

#include "runtime/image/Digest.h"

namespace tessera::tune {

std::string codeDigest(const KernelImage &image) {
  return hexText(digestOf(
      image.cubin.empty() ? std::string_view(image.ptx)
                          : std::string_view(reinterpret_cast<const char *>(image.cubin.data()), image.cubin.size())));
}

std::shared_ptr<StoredKernel> KernelStore::find(const AttentionSpec &spec, const Schedule &schedule) const {
  const auto ofSpec = kernels_.find(spec.text());
  if (ofSpec == kernels_.end())
    return nullptr;
  const auto found = ofSpec->second.find(schedule.text());
  return found == ofSpec->second.end() ? nullptr : found->second;
}

std::shared_ptr<StoredKernel> KernelStore::put(const AttentionSpec &spec, const Schedule &schedule,
                                               Answered<Compiled> compiled) {
  auto kernel = std::make_shared<StoredKernel>();
  if (compiled.fate == Fate::Done)
    kernel->digest = codeDigest(compiled.value.image);
  kernel->compiled = std::move(compiled);
  if (kernel->compiled.fate == Fate::Killed)
    return kernel;
  return kernels_[spec.text()][schedule.text()] = std::move(kernel);
}

} // namespace tessera::tune
