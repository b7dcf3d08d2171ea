// The list is read event by event, so that a nested, endless or repeated one is refused before it is built.
#include "autotune/cli/bundle/SpecList.h"

#include "autotune/cli/Suggest.h"

#include <CLI/CLI.hpp> // not App.hpp: making an App takes the rest
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <set>

namespace tessera::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = size_t(4) << 20, kMostSpecs = 65536, kMostText = 200, kMostMessage = 300;

/// Text from the file for a message: quoted, printable, bounded.
std::string shown(const std::string &text) {
  const bool whole = text.size() <= kMostText;
  return Json(whole ? text : text.substr(0, 40) + "...").dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// What the flags of an attention are called, take, and do with a text: asked of the command line's own declaration.
class FlagTable {
public:
  FlagTable() { flags.addTo(app); }

  CLI::Option *find(const std::string &key) { return app.get_option_no_throw("--" + key); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options())
      for (const std::string &name : option->get_lnames())
        if (name != "help")
          names.push_back(name);
    return names;
  }
  /// The value as the command line would have read it.
  Status set(CLI::Option &option, const std::string &text) try {
    option.add_result(text);
    option.run_callback();
    return {};
  } catch (const CLI::Error &error) {
    const std::string message = error.what(), prefix = "--" + option.get_lnames()[0] + ": ";
    return Status(Code::InvalidArgument, message.starts_with(prefix) ? message.substr(prefix.size()) : message);
  }
  Result<ResolvedProblem> take() {
    Result<ResolvedProblem> problem = flags.resolve();
    flags = {};
    app.clear();
    return problem;
  }

private:
  ProblemFlags flags;
  CLI::App app;
};

/// What a JSON value may be for a flag.
enum class Kind { Text, Whole, Number, Truth };

Kind kindOf(const CLI::Option &option) {
  const std::string type = option.get_type_name();
  return option.get_expected_max() == 0 ? Kind::Truth
         : type == "N"                  ? Kind::Whole
         : type == "X"                  ? Kind::Number
                                        : Kind::Text;
}

std::string expectation(const CLI::Option &option) {
  switch (kindOf(option)) {
  case Kind::Truth:
    return "true or false";
  case Kind::Whole:
    return "a whole number";
  case Kind::Number:
    return "a number";
  case Kind::Text:
    break;
  }
  return fmt::format("a string, {}", option.get_type_name());
}

/// Receives the events of nlohmann's parser; false ends it, with the reason in `status`.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
public:
  bool null() override { return value("null"); }
  bool boolean(bool truth) override { return value(truth ? "true" : "false", Kind::Truth); }
  bool number_integer(int64_t number) override { return value(fmt::format("{}", number), Kind::Whole); }
  bool number_unsigned(uint64_t number) override { return value(fmt::format("{}", number), Kind::Whole); }
  bool number_float(double, const std::string &text) override { return value(text, Kind::Number); }
  bool string(std::string &text) override { return value(text, Kind::Text); }
  bool binary(binary_t &) override { return value("binary"); }

  bool start_array(size_t) override {
    if (where != Where::Start)
      return value("an array");
    where = Where::List;
    return true;
  }
  bool end_array() override {
    where = Where::End;
    return true;
  }
  bool start_object(size_t) override {
    if (where != Where::List)
      return value("an object");
    if (problems.size() == kMostSpecs)
      return refuse(Code::InvalidArgument, fmt::format("a list may hold {} attentions", kMostSpecs));
    where = Where::Spec;
    keys.clear();
    option = nullptr;
    return true;
  }
  bool key(std::string &name) override {
    option = name.size() > kMostText || name == "help" ? nullptr : table.find(name);
    if (!option) {
      const std::vector<std::string> known = table.names();
      return refuse(Code::InvalidArgument, fmt::format("{} is no flag of an attention", shown(name)),
                    fmt::format("{}there are {}", didYouMean(name, known), fmt::join(known, ", ")));
    }
    if (!keys.insert(name).second)
      return refuse(Code::InvalidArgument, "it is given twice", "leave one out");
    return true;
  }
  bool end_object() override {
    option = nullptr;
    Result<ResolvedProblem> problem = table.take();
    if (!problem)
      return refuse(problem.status().code(), problem.status().message(), problem.status().hint());
    problems.push_back(*std::move(problem));
    where = Where::List;
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) override {
    std::string text = error.what(); // "[json.exception.parse_error.101] parse error at line 1, ..."
    text = text.substr(text.find(']') + 1);
    if (text.size() > kMostMessage) // it repeats what it has read
      text = text.substr(0, kMostMessage) + "...";
    return refuse(Code::File, "no JSON:" + text);
  }

  Status status;
  std::vector<ResolvedProblem> problems;

private:
  bool refuse(Code code, const std::string &message, std::string hint = {}) {
    const std::string place = where != Where::Spec ? ""
                              : option ? fmt::format("attention [{}], {}: ", problems.size(), option->get_lnames()[0])
                                       : fmt::format("attention [{}]: ", problems.size());
    status = Status(code, place + message, std::move(hint));
    return false;
  }

  /// One value, where it stands; `kind` absent: it fits nowhere.
  bool value(const std::string &text, std::optional<Kind> kind = {}) {
    const std::string what = kind == Kind::Text || text.size() > kMostText ? shown(text) : text;
    if (where == Where::Start)
      return refuse(Code::InvalidArgument, fmt::format("the file holds {} and no list", what),
                    R"(write [{"dtype": "bf16", "head-dim": 128}])");
    if (where == Where::List)
      return refuse(Code::InvalidArgument, fmt::format("element [{}] is {} and no object", problems.size(), what),
                    R"(write an object for each attention: {"dtype": "bf16", "head-dim": 128})");
    const Kind wanted = kindOf(*option);
    const bool fits = kind == wanted || (wanted == Kind::Number && kind == Kind::Whole) ||
                      (wanted == Kind::Whole && kind == Kind::Number); // its own parser says what is wrong with 1.5
    if (!fits || text.size() > kMostText)
      return refuse(Code::InvalidArgument, fmt::format("{} is not {}", what, expectation(*option)));
    if (wanted == Kind::Truth && text == "false")
      return true;
    const Status set = table.set(*option, text);
    return set ? true : refuse(set.code(), set.message(), set.hint());
  }

  enum class Where { Start, List, Spec, End } where = Where::Start;
  FlagTable table;
  CLI::Option *option = nullptr; ///< of the last key
  std::set<std::string> keys;    ///< of this attention
};

} // namespace

Result<std::vector<ResolvedProblem>> parseSpecList(std::string_view json) {
  if (json.size() > kMostBytes)
    return Status(Code::File, fmt::format("the list has {} bytes; at most {} are read", json.size(), kMostBytes));
  Reader reader;
  if (!Json::sax_parse(json, &reader))
    return reader.status;
  if (reader.problems.empty())
    return Status(Code::InvalidArgument, "the list holds no attention",
                  R"(write [{"dtype": "bf16", "head-dim": 128}])");
  return std::move(reader.problems);
}

} // namespace tessera::cli
