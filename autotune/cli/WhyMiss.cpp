// The sources, asked without being changed.
#include "autotune/cli/WhyMiss.h"

#include "runtime/cache/KeyComparison.h"

#include <fmt/format.h>

#include <limits>

namespace tessera::cli {
namespace {

class Report {
public:
  explicit Report(const WantedKernel &wanted) : wanted(wanted) {}

  /// What the bundles have. A damaged image is no miss: a prepare() ends with it and asks no further.
  enum class Bundled { Miss, Hit, Damaged };
  Bundled askBundles(BundleList bundles) {
    Json &json = report.json["bundles"];
    json["asked"] = bundles.size();
    if (bundles.empty()) {
      json["hit"] = false;
      row("bundles", "none is given");
      return Bundled::Miss;
    }
    const BundleChoice choice =
        chooseFromBundles(bundles, wanted.spec, wanted.problem, wanted.device, wanted.given ? &*wanted.given : nullptr);
    if (choice.chosen) {
      const BundleEntry &entry = *choice.chosen->entry;
      const Result<KernelImage> image = choice.chosen->bundle->image(entry); // read: a prepare() would
      json["hit"] = image.ok();
      json["bundle"] = choice.chosen->bundle->path();
      json["target"] = entry.target.text();
      json["schedule"] = entry.schedule;
      json["reason"] = choice.scheduleReason;
      if (!image) {
        json["detail"] = image.status().message();
        row("bundles", fmt::format("damaged in {}: {}, {}: {}", choice.chosen->bundle->path(), entry.target.text(),
                                   entry.schedule, image.status().message()));
        return Bundled::Damaged;
      }
      row("bundles", fmt::format("hit in {}: {}, {} ({})", choice.chosen->bundle->path(), entry.target.text(),
                                 entry.schedule, choice.scheduleReason));
      return Bundled::Hit;
    }
    json["hit"] = false;
    const std::string nearest = describeNearest(bundles, wanted.spec, choice);
    json["nearest"] = nearest;
    row("bundles", fmt::format("miss in {} of them", bundles.size()));
    lines("nearest", nearest);
    return Bundled::Miss;
  }

  /// Whether the disk cache has it.
  bool askDisk(const EngineOptions &options) {
    Json &json = report.json["disk"];
    json["hit"] = false;
    std::string warning;
    const std::shared_ptr<DiskCache> asOpened =
        DiskCache::open(options.cache, [&](const std::string &text) { warning = text; });
    json["directory"] = asOpened->directory();
    json["mode"] = name(asOpened->mode());
    CacheOptions looking = options.cache; // a look is no use: it must not move the entry to the front
    looking.mode = CacheMode::ReadOnly;
    const std::shared_ptr<DiskCache> cache = DiskCache::open(looking);
    ImageSource source(cache, options.compilerLibrary);
    const Result<ImageKey> key = source.keyOf(wanted.spec, wanted.schedule, wanted.target);
    if (!key) {
      json["miss"] = "no key";
      json["detail"] = key.status().message();
      row("disk", "miss: the build of the compiler is part of the key, and " + key.status().message());
      return false;
    }
    const std::string text = key->text();
    json["key_hash"] = keyHash(text);
    row("key", keyHash(text));
    const bool reads = asOpened->mode() == CacheMode::ReadWrite || asOpened->mode() == CacheMode::ReadOnly;
    const DiskCache::Lookup found = cache->find(text);
    if (found.image && reads) {
      json["hit"] = true;
      row("disk", fmt::format("hit in {}", cache->directory()));
      return true;
    }
    const CacheMiss miss = reads ? found.miss : CacheMiss::Off;
    const std::string detail = reads              ? found.detail
                               : !warning.empty() ? warning
                                                  : fmt::format("mode {} does not read", name(asOpened->mode()));
    json["miss"] = name(miss);
    json["detail"] = detail.empty() ? Json(nullptr) : Json(detail);
    row("disk",
        fmt::format("miss, {}{}", name(miss),
                    detail.empty() ? fmt::format(": no entry of this key in {}", cache->directory()) : ": " + detail));
    if (miss == CacheMiss::Absent)
      compareNearest(json, text, *cache);
    return false;
  }

  void answer(Bundled bundle, bool disk, Policy policy) {
    const bool compiles = report.json["disk"].contains("key_hash"); // the compiler has told its build
    const char *answer = bundle == Bundled::Hit         ? "bundle"
                         : bundle == Bundled::Damaged   ? "none"
                         : policy == Policy::BundleOnly ? "none"
                         : disk                         ? "disk"
                         : policy == Policy::CacheOnly  ? "none"
                         : compiles                     ? "compiler"
                                                        : "none";
    report.json["answer"] = answer;
    row("so", bundle == Bundled::Damaged ? "nothing would serve it: the bundle comes first, and its kernel is damaged"
              : std::string_view(answer) == "none"
                  ? fmt::format("nothing would serve it under the policy {}", name(policy))
                  : fmt::format("the {} would serve it", std::string_view(answer) == "disk" ? "disk cache" : answer));
  }

  WhyMiss report;

private:
  void compareNearest(Json &json, const std::string &text, const DiskCache &cache) {
    const std::optional<NearestKey> nearest = nearestKey(text, cache.keys());
    if (!nearest) {
      json["nearest"] = nullptr;
      row("nearest", "the cache holds no kernel");
      return;
    }
    json["nearest"] = {{"path", nearest->entry.path}, {"differences", Json::array()}};
    row("nearest", nearest->entry.path);
    for (const KeyDifference &one : nearest->differences) {
      json["nearest"]["differences"].push_back({{"field", one.field}, {"wanted", one.wanted}, {"found", one.found}});
      row("differs", fmt::format("{}: wanted {}, found {}", one.field, one.wanted, one.found));
    }
  }

  void row(std::string name, std::string value) { report.rows.emplace_back(std::move(name), std::move(value)); }
  void lines(const std::string &name, std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (const size_t first = line.find_first_not_of(' '); first != line.npos)
        row(name, std::string(line.substr(first)));
    }
  }

  const WantedKernel &wanted;
};

} // namespace

WhyMiss whyMiss(BundleList bundles, const EngineOptions &options, const WantedKernel &wanted) {
  Report report(wanted);
  report.report.json["answer"] = nullptr; // stands first
  const auto bundle = report.askBundles(bundles);
  const bool disk = report.askDisk(options);
  report.answer(bundle, disk, options.policy);
  return std::move(report.report);
}

DeviceFacts factsOf(const Target &target) {
  DeviceFacts facts;
  facts.name = std::string(target.name);
  facts.code = {target.major, target.minor, std::numeric_limits<int>::max()};
  facts.sharedBytesPerBlock = target.sharedBytesPerBlock;
  facts.target = target;
  return facts;
}

} // namespace tessera::cli
