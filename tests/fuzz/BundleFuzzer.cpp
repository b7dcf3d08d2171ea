// bundle-fuzzer: any bytes are opened as a bundle, read, reworked and searched for kernels. What verifies is what the
// writer would have written.
#include "runtime/bundle/BundleWriter.h"
#include "runtime/engine/BundleSelection.h"
#include "tests/fuzz/BundleMutator.h"
#include "tests/fuzz/Expect.h"

#include <algorithm>

using namespace tessera;
using fuzz::expect;
using BundlePointer = std::shared_ptr<const Bundle>;

namespace {

Result<BundlePointer> open(std::string_view bytes) {
  return Bundle::openEmbedded(std::as_bytes(std::span(bytes)), "fuzz");
}

DeviceFacts deviceOf(std::string name, unsigned major, unsigned minor, int driver, uint32_t sharedBytes,
                     bool simulated = false) {
  DeviceFacts facts;
  facts.name = std::move(name);
  facts.code = {major, minor, driver};
  facts.sharedBytesPerBlock = sharedBytes;
  facts.simulated = simulated;
  facts.target = *Target::forDevice(major, minor);
  return facts;
}

const std::vector<DeviceFacts> &devices() {
  static const auto &devices = *new std::vector<DeviceFacts>{
      deviceOf("NVIDIA A100-SXM4-80GB", 8, 0, 13000, 166912),
      deviceOf("NVIDIA GeForce RTX 4090", 8, 9, 11040, 101376),
      deviceOf("NVIDIA H100", 9, 0, 12000, 232448, true),
      deviceOf("NVIDIA B200", 10, 0, 13000, 232448),
  };
  return devices;
}

void choose(const BundlePointer &bundle, const AttentionSpec &spec, const Problem &problem, const Schedule *given) {
  const BundleList list(&bundle, 1);
  for (const DeviceFacts &device : devices()) {
    const BundleChoice choice = chooseFromBundles(list, spec, problem, device, given);
    if (!choice.chosen) {
      (void)describeNearest(list, spec, choice);
      continue;
    }
    expect(choice.chosen->bundle == bundle.get() && choice.chosen->fit != CodeFit::None, "what is chosen fits");
    expect(choice.chosen->entry->spec == spec.text(), "what is chosen is of the spec asked for");
    expect(!given || choice.chosen->entry->schedule == given->text(), "a given schedule is kept to");
  }
}

void chooseAll(const BundlePointer &bundle) {
  const BundleIndex &index = bundle->index();
  const Problem problem = index.records.empty() ? Problem{} : index.records.front().problem;
  choose(bundle, AttentionSpec(), problem, nullptr);
  for (const std::string &text : index.specs)
    if (const Result<AttentionSpec> spec = AttentionSpec::parse(text); spec && spec->text() == text) {
      choose(bundle, *spec, problem, nullptr);
      for (const std::string &scheduleText : index.schedules)
        if (const Result<Schedule> schedule = Schedule::parse(scheduleText); schedule)
          choose(bundle, *spec, problem, &*schedule);
    }
}

/// The images and records of a bundle that verifies, put into a new writer.
void writeAgain(const Bundle &bundle) {
  BundleWriter writer;
  for (const BundleEntry &entry : bundle.index().entries) {
    if (!Target::parse(entry.target.text()))
      return; // of a later Tessera: kept as a whole, not understood
    const Status added = writer.add(*bundle.imageBytes(entry));
    expect(added.ok(), "an image of a bundle that verifies can be added to another", added.text());
  }
  for (const TuningRecord &record : bundle.index().records)
    writer.add(record);
  const Result<std::string> again = writer.serialize();
  expect(again.ok(), "a bundle that verifies can be written", again.status().text());
  std::string bytes = *bundle.bytes();
  constexpr size_t signatureBegin = 72, signatureEnd = 176;
  std::fill(bytes.begin() + signatureBegin, bytes.begin() + signatureEnd, '\0');
  expect(bytes == *again, "there is one form for one bundle",
         bytes.substr(256, 4000) + "\n" + again->substr(256, 4000));
}

void checkReworked(const Result<BundleWriter> &writer) {
  if (!writer)
    return;
  const Result<std::string> bytes = writer->serialize();
  expect(bytes.ok(), "what was split or stripped can be written", bytes.status().text());
  const Result<BundlePointer> bundle = open(*bytes);
  expect(bundle.ok() && (*bundle)->verify().ok(), "what is written verifies",
         (bundle ? (*bundle)->verify() : bundle.status()).text());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Result<BundlePointer> opened = open(fuzz::viewOf(data, size));
  if (!opened) {
    expect(opened.status().code() == Code::File, "bytes that are no bundle are Code::File", opened.status().text());
    return 0;
  }
  const Bundle &bundle = **opened;
  const bool sound = bundle.verify().ok();
  bool imagesSound = true;
  for (const BundleEntry &entry : bundle.index().entries) {
    imagesSound &= bundle.image(entry).ok() || !Target::parse(entry.target.text());
    const std::span<const BundleEntry> found = bundle.index().find(entry.spec);
    expect(!found.empty() && &found.front() <= &entry && &entry <= &found.back(), "every image is found by its spec");
  }
  expect(!sound || imagesSound, "every image of a bundle that verifies can be read");
  const Status signature = bundle.verifySignature(fuzz::fuzzKey().publicKey());
  expect(!signature.ok() || bundle.signature(), "what has no signature is not accepted as signed");
  expect(diffBundles(bundle, bundle).empty(), "a bundle does not differ from itself");
  for (const DeviceFacts &device : devices())
    checkReworked(splitBundle(bundle, {device.code.major, device.code.minor, 0}));
  checkReworked(stripPtx(bundle));
  chooseAll(*opened);
  if (sound)
    writeAgain(bundle);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  fuzz::Random random(seed);
  return fuzz::give(fuzz::mutateBundle(fuzz::viewOf(data, size), random), data, maxSize);
}
