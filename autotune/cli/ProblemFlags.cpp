// From flags and tensor shapes to one AttentionSpec with its sizes; every contradiction is named.
#include "autotune/cli/ProblemFlags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::cli {
namespace {

Status refuse(std::string message, std::string hint = {}) {
  return Status(Code::InvalidArgument, std::move(message), std::move(hint));
}

/// The flag's value, the tensor's, or the default; a contradiction between the first two is an error that names both.
template <typename T> class Choice {
public:
  Choice(const char *flag, const std::optional<T> &given) : flag(flag), value(given) {}

  Status take(const T &found, const std::string &where, const std::string &shown, const std::string &flagShown) {
    if (value && *value != found)
      return refuse(fmt::format("{} {} contradicts {}, which has {}", flag, flagShown, where, shown),
                    fmt::format("leave {} out: the files say it", flag));
    value = found;
    return {};
  }
  T orElse(const T &fallback) const { return value.value_or(fallback); }

private:
  const char *flag;
  std::optional<T> value;
};

} // namespace

void ProblemFlags::addTo(CLI::App &app) {
  const std::string group = "Attention";
  const auto grouped = [&](CLI::Option *option) { option->group(group); };
  grouped(addValue(app, "--dtype", dtype, parseType, "element type of q, k and v (default bf16)", "f16|bf16|f32"));
  grouped(addValue(app, "--out-dtype", outDType, parseType, "element type of the output (default: --dtype)",
                   "f16|bf16|f32"));
  grouped(addValue(app, "--batch", batch, parseSize, "batch size (default 1)", "N"));
  grouped(addValue(app, "--heads", heads, parseSize, "query heads (default 4)", "N"));
  grouped(addValue(app, "--kv-heads", kvHeads, parseSize, "key/value heads; divides --heads (default: --heads)", "N"));
  grouped(addValue(app, "--head-dim", headDim, parsePositive, "channels of q and k (default 128)", "N"));
  grouped(
      addValue(app, "--value-dim", valueDim, parsePositive, "channels of v and the output (default: --head-dim)", "N"));
  grouped(addValue(app, "--seqlen-q", seqlenQ, parseSize, "query length (default 256)", "N"));
  grouped(addValue(app, "--seqlen-kv", seqlenKv, parseSize, "key/value length (default: --seqlen-q)", "N"));
  grouped(addValue(app, "--causal", causal, parseAlign, "keys up to the diagonal through this corner",
                   "bottom-right|top-left"));
  grouped(addValue(app, "--window", window, parseWindow,
                   "L keys left and R keys right of the diagonal, inclusive; a side may be inf; with --causal, the "
                   "intersection. \"W tokens including myself\" is --causal ... --window W-1,0",
                   "L,R"));
  grouped(addValue(app, "--align", align, parseAlign,
                   "where a --window without --causal has its diagonal (default bottom-right)",
                   "bottom-right|top-left"));
  grouped(addValue(app, "--scale", scale, parseNumber, "factor of the scores (default 1/sqrt(head-dim))", "X"));
  grouped(addValue(app, "--softcap", softcap, parseNumber, "scores become X*tanh(score/X)", "X"));
  grouped(app.add_flag("--lse", lse, "also compute the log-sum-exp of every row"));
  grouped(app.add_flag("--precise", precise, "f32 only: split operands so that results reach f32 accuracy"));
}

Status ProblemFlags::resolveMask(ResolvedProblem &problem) const {
  if (causal && align && *causal != *align)
    return refuse(fmt::format("--causal {} contradicts --align {}", name(*causal), name(*align)), "leave --align out");
  if (align && !causal && !window)
    return refuse(fmt::format("--align {} has no meaning without a mask", name(*align)),
                  "give --causal or --window, or leave it out");
  Mask &mask = problem.spec.mask;
  const Align diagonal = causal ? *causal : align.value_or(Align::BottomRight);
  if (window) {
    const std::optional<int64_t> right = causal ? std::optional<int64_t>(0) : window->right;
    mask = Mask::window(window->left, right, diagonal);
    if (!causal && !align && !mask.isFull())
      problem.notes.push_back("the window's diagonal is aligned bottom-right (--align top-left changes that)");
  } else if (causal) {
    mask = Mask::causal(diagonal);
  }
  return {};
}

Result<ResolvedProblem> ProblemFlags::resolve(const std::optional<std::array<files::HostTensor, 3>> &tensors) const {
  Choice<DType> type("--dtype", dtype);
  Choice<int64_t> sizes[] = {{"--batch", batch},       {"--heads", heads},        {"--kv-heads", kvHeads},
                             {"--head-dim", headDim},  {"--value-dim", valueDim}, {"--seqlen-q", seqlenQ},
                             {"--seqlen-kv", seqlenKv}};
  const std::optional<int64_t> *flags[] = {&batch, &heads, &kvHeads, &headDim, &valueDim, &seqlenQ, &seqlenKv};
  enum { Batch, Heads, KvHeads, HeadDim, ValueDim, SeqlenQ, SeqlenKv };
  if (tensors) {
    constexpr const char *names[] = {"q", "k", "v"};
    constexpr int axes[3][4] = {
        {Batch, SeqlenQ, Heads, HeadDim}, {Batch, SeqlenKv, KvHeads, HeadDim}, {Batch, SeqlenKv, KvHeads, ValueDim}};
    std::array<reference::View, 3> views;
    for (int t = 0; t < 3; ++t) {
      const files::HostTensor &tensor = (*tensors)[t];
      const std::string where = fmt::format("{} of shape ({})", names[t], fmt::join(tensor.shape, ", "));
      if (tensor.shape.size() != 4)
        return refuse(
            fmt::format("{} has {} dimensions; 4 are needed: (batch, sequence, head, dim)", where, tensor.shape.size()),
            "add the missing dimensions as 1, e.g. a[None, :, None, :] in numpy");
      if (tensor.type != (*tensors)[0].type)
        return refuse(fmt::format("q is {} but {} is {}", name((*tensors)[0].type), names[t], name(tensor.type)),
                      "convert them to one element type");
      if (dtype)
        if (Status status = type.take(tensor.type, where, std::string(name(tensor.type)), std::string(name(*dtype)));
            !status)
          return status;
      for (int axis = 0; axis < 4; ++axis) {
        const int which = axes[t][axis];
        views[t].shape[axis] = tensor.shape[axis];
        if (*flags[which])
          if (Status status = sizes[which].take(tensor.shape[axis], where, fmt::format("{}", tensor.shape[axis]),
                                                fmt::format("{}", **flags[which]));
              !status)
            return status;
      }
    }
    const Result<reference::Sizes> found = reference::sizesOf(views[0], views[1], views[2]);
    if (!found)
      return found.status();
    type = {"--dtype", (*tensors)[0].type};
    const int64_t values[] = {found->batch,    found->queryHeads,  found->keyHeads, found->headDim,
                              found->valueDim, found->queryLength, found->keyLength};
    for (int which = Batch; which <= SeqlenKv; ++which)
      sizes[which] = {"", values[which]};
  }

  ResolvedProblem problem;
  reference::Sizes &size = problem.sizes;
  size.batch = sizes[Batch].orElse(1);
  size.queryHeads = sizes[Heads].orElse(4);
  size.keyHeads = sizes[KvHeads].orElse(size.queryHeads);
  size.headDim = sizes[HeadDim].orElse(128);
  size.valueDim = sizes[ValueDim].orElse(size.headDim);
  size.queryLength = sizes[SeqlenQ].orElse(256);
  size.keyLength = sizes[SeqlenKv].orElse(size.queryLength);
  if (size.queryHeads > 0 && (size.keyHeads == 0 || size.queryHeads % size.keyHeads != 0))
    return refuse(
        fmt::format("{} query heads cannot be shared out over {} key/value heads", size.queryHeads, size.keyHeads),
        "--heads must be a multiple of --kv-heads");

  AttentionSpec &spec = problem.spec;
  spec.dtype = type.orElse(DType::BF16);
  spec.outDType = outDType;
  spec.headDim = unsigned(size.headDim);
  spec.valueDim = unsigned(size.valueDim);
  spec.scale = scale;
  spec.softcap = softcap;
  spec.outputs = lse ? Output::O | Output::LSE : Output::O;
  if (precise && spec.dtype != DType::F32)
    return refuse(fmt::format("--precise is about f32 inputs, and these are {}", name(spec.dtype)),
                  "16-bit products are exact already; leave it out");
  spec.precision = precise ? Precision::Precise : Precision::Tf32;
  if (spec.dtype == DType::F32 && !precise)
    problem.notes.push_back("f32 operands are rounded to tf32 for the tensor cores (--precise splits them)");
  if (Status status = resolveMask(problem); !status)
    return status;
  if (Status status = spec.validate(); !status)
    return status;
  return problem;
}

} // namespace tessera::cli
