// tessera bundle extract: one kernel out of a bundle; and embed: a bundle into an object file.
#include "autotune/cli/Print.h"
#include "autotune/cli/Values.h"
#include "autotune/cli/bundle/BundleCommands.h"
#include "autotune/cli/files/OutputFile.h"
#include "runtime/bundle/EmbedObject.h"
#include "runtime/cache/CacheOptions.h"
#include "runtime/image/Digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unistd.h>

namespace tessera::cli {
namespace {

constexpr size_t kLeastDigits = 8; ///< of a hash, so that no number of an entry is taken for one

struct ExtractFlags {
  std::string file, entry, emit, output;
};

/// By number as `inspect` counts, or by the first digits of the hash.
Result<const BundleEntry *> findEntry(const Bundle &bundle, const std::string &wanted) {
  const std::vector<BundleEntry> &entries = bundle.index().entries;
  const std::string hint = fmt::format("`tessera bundle inspect {}` lists them", bundle.path());
  if (wanted.size() < kLeastDigits) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
    if (error != std::errc{} || end != wanted.data() + wanted.size() || number == 0 || number > entries.size())
      return Status(Code::InvalidArgument,
                    fmt::format("--entry {} is neither a number from 1 to {} nor {} or more digits of a hash", wanted,
                                entries.size(), kLeastDigits),
                    hint);
    return &entries[number - 1];
  }
  const BundleEntry *found = nullptr;
  for (const BundleEntry &entry : entries)
    if (hexText(entry.digest).starts_with(wanted)) {
      if (found)
        return Status(Code::InvalidArgument, fmt::format("--entry {} begins more than one hash", wanted), hint);
      found = &entry;
    }
  if (!found)
    return Status(Code::InvalidArgument, fmt::format("--entry {} begins no hash of {}", wanted, bundle.path()), hint);
  return found;
}

Result<std::string> partOf(const Bundle &bundle, const BundleEntry &entry, const std::string &emit) {
  if (emit == "image")
    return bundle.imageBytes(entry);
  Result<KernelImage> image = bundle.image(entry);
  if (!image)
    return image.status();
  if (emit == "ptx" && image->ptx.empty())
    return Status(Code::InvalidArgument, "this kernel has no PTX: it was stripped", "--emit cubin");
  if (emit == "cubin" && image->cubin.empty())
    return Status(Code::InvalidArgument, "this kernel has no cubin: it was built without an assembler", "--emit ptx");
  return emit == "ptx" ? std::move(image->ptx) : std::string(image->cubin.begin(), image->cubin.end());
}

Result<ExitCode> extract(const ExtractFlags &flags, const CommonFlags &common) {
  constexpr std::string_view emits[] = {"cubin", "ptx", "image"};
  if (std::find(std::begin(emits), std::end(emits), flags.emit) == std::end(emits))
    return Status(Code::InvalidArgument, fmt::format("--emit {} is no part of a kernel", flags.emit),
                  "give one of cubin, ptx, image");
  if (flags.output == "-" && common.json)
    return Status(Code::InvalidArgument, "--json and the kernel cannot both go to stdout", "add -o FILE");
  if (flags.output == "-" && flags.emit != "ptx" && ::isatty(STDOUT_FILENO))
    return Status(Code::InvalidArgument, fmt::format("--emit {} is binary and would go to the terminal", flags.emit),
                  "add -o FILE, or redirect stdout");
  if (Status status = flags.output == "-" ? Status() : checkOutput(flags.output, {flags.file}); !status)
    return status;
  const Result<BundlePointer> bundle = Bundle::open(flags.file);
  if (!bundle)
    return bundle.status();
  const Result<const BundleEntry *> entry = findEntry(**bundle, flags.entry);
  if (!entry)
    return entry.status();
  const Result<std::string> part = partOf(**bundle, **entry, flags.emit);
  if (!part)
    return part.status();
  if (Status status = files::writeOutput(flags.output, *part); !status)
    return status;
  if (common.json)
    printJson({{"file", flags.output},
               {"bytes", part->size()},
               {"emit", flags.emit},
               {"target", (*entry)->target.text()},
               {"spec", (*entry)->spec},
               {"schedule", (*entry)->schedule}});
  else if (!common.quiet && flags.output != "-")
    say("{}: {} of {} for {}, {}\n", flags.output, byteText(part->size()), flags.emit, (*entry)->target.text(),
        (*entry)->schedule);
  return Right;
}

struct EmbedFlags {
  std::string file, symbol, output;
};

Result<ExitCode> embed(const EmbedFlags &flags, const CommonFlags &common) {
  if (Status status = checkOutput(flags.output, {flags.file}); !status)
    return status;
  const Result<BundlePointer> file = Bundle::open(flags.file);
  if (!file)
    return file.status();
  const Result<std::string> bytes = (*file)->bytes();
  if (!bytes)
    return bytes.status();
  // A program should not carry a damaged one: what is embedded is what was verified, this copy.
  const Result<BundlePointer> bundle = Bundle::openEmbedded(std::as_bytes(std::span(*bytes)), flags.file);
  if (!bundle)
    return bundle.status();
  if (Status status = (*bundle)->verify(); !status)
    return status;
  const Result<std::string> object = embedObject(*bytes, flags.symbol);
  if (!object)
    return object.status();
  if (Status status = files::writeOutput(flags.output, *object); !status)
    return status;
  if (common.json)
    printJson({{"file", flags.output}, {"bytes", object->size()}, {"symbol", flags.symbol}});
  else if (!common.quiet)
    say("{}: {} as {} and {}_size\n", flags.output, byteText(bytes->size()), flags.symbol, flags.symbol);
  return Right;
}

} // namespace

Command declareBundleExtract(CLI::App &app) {
  auto flags = std::make_shared<ExtractFlags>();
  addInput(app, flags->file);
  app.add_option("--entry", flags->entry, "which kernel: its number in `tessera bundle inspect`, or digits of its hash")
      ->type_name("N|HASH")
      ->required();
  app.add_option("--emit", flags->emit, "which part of it")->type_name("cubin|ptx|image")->required();
  addOutput(app, flags->output, "file to write; - is stdout");
  app.footer("Example:\n  tessera bundle extract app.tsb --entry 1 --emit ptx -o kernel.ptx");
  return [flags](const CommonFlags &common) { return extract(*flags, common); };
}

Command declareBundleEmbed(CLI::App &app) {
  auto flags = std::make_shared<EmbedFlags>();
  addInput(app, flags->file);
  app.add_option("--symbol", flags->symbol, "name of the first byte; NAME_size is a uint64_t")
      ->type_name("NAME")
      ->required();
  addOutput(app, flags->output, "the object file to write");
  app.footer("Example:\n  tessera bundle embed app.tsb --symbol app_kernels -o kernels.o\nand in the program:\n"
             "  extern \"C\" const std::byte app_kernels[];\n  extern \"C\" const uint64_t app_kernels_size;\n"
             "  Engine::create({.embeddedBundles = {{\"app\", {app_kernels, app_kernels_size}}}});");
  return [flags](const CommonFlags &common) { return embed(*flags, common); };
}

} // namespace tessera::cli
