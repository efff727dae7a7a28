#include "cli/command_parser.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/findings.h"

namespace millrace {
namespace {

std::vector<std::string_view> verbs_of(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* one : app.get_subcommands(nullptr)) names.push_back(one->get_name());
  return names;
}

/// Words of other programs, and the verb of millrace that does the same.
struct OtherWord {
  std::string_view word;
  std::string_view verb;
};
constexpr OtherWord kOtherWords[] = {{"explain", "why"}, {"describe", "get"}, {"show", "get"},
                                     {"get", "show"},    {"delete", "drop"},  {"watch", "tail"}};

/// `; did you mean "why"?` for a word that is not one of the verbs; empty: no verb is like it.
std::string verb_like(std::string_view word, const std::vector<std::string_view>& verbs) {
  for (const OtherWord& other : kOtherWords) {
    if (other.word != word) continue;
    if (std::find(verbs.begin(), verbs.end(), other.verb) == verbs.end()) continue;
    return fmt::format("; did you mean {}?", in_quotes(other.verb));
  }
  return did_you_mean(word, verbs);
}

/// At most so many options are named in a hint.
constexpr size_t kMostNamedOptions = 6;

/// A hint for an argument that the verb does not take: the options of which it may be the value, or
/// the option that is meant. Empty: there is none.
std::string hint_for_extra(const CLI::App& program) {
  const CLI::App* verb = &program;
  std::string path = program.get_name();
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    path += " " + verb->get_name();
  }
  std::vector<std::string> names;
  std::vector<std::string> with_values;
  for (const CLI::Option* const option : verb->get_options({})) {
    if (!option->nonpositional()) continue;
    names.push_back(option->get_name());
    if (option->get_expected_min() == 0) continue;
    with_values.push_back(fmt::format("{} {}", option->get_name(), option->get_type_name()));
  }
  const std::vector<std::string> extras = program.remaining(true);
  const auto option = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) {
    return extra.starts_with("-") && extra != "--";
  });
  if (option != extras.end()) {
    for (const CLI::Option* const global : program.get_options({})) {
      names.push_back(global->get_name());
    }
    return did_you_mean(option->substr(0, option->find('=')), {names.begin(), names.end()});
  }
  if (with_values.empty()) return "";
  if (with_values.size() > kMostNamedOptions) {
    return fmt::format("; a value follows its option: `{} --help` lists them", path);
  }
  return fmt::format("; a value follows its option: {}", fmt::join(with_values, ", "));
}

/// The text of an error of CLI11; in plain words if an option was given more than once.
std::string plain_text(const std::string& error) {
  const size_t end = error.find(": At Most 1 required but received ");
  if (end == std::string::npos) return error;
  return error.substr(0, end) + " is given more than once; give it once";
}

template <class To>
AddedOption add(CLI::App& app, const std::string& names, To& to, const std::string& what,
                const std::string& type) {
  return AddedOption(*app.add_option(names, to, what)->type_name(type));
}

}  // namespace

AddedOption& AddedOption::required() {
  option_->required();
  return *this;
}

AddedOption& AddedOption::excludes(const AddedOption& other) {
  option_->excludes(other.option_);
  return *this;
}

AddedOption& AddedOption::value_is_optional() {
  option_->expected(0, 1);
  return *this;
}

AddedOption& AddedOption::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

bool AddedOption::is_given() const { return option_->count() > 0; }

AddedOption Verb::option(const std::string& names, std::string& to, const std::string& what,
                         const std::string& type) {
  return add(*app_, names, to, what, type);
}

AddedOption Verb::option(const std::string& names, std::optional<std::string>& to,
                         const std::string& what, const std::string& type) {
  return add(*app_, names, to, what, type);
}

AddedOption Verb::option(const std::string& names, std::vector<std::string>& to,
                         const std::string& what, const std::string& type) {
  return add(*app_, names, to, what, type);
}

void Verb::flag(const std::string& names, bool& to, const std::string& what) {
  app_->add_flag(names, to, what);
}

CommandGroup CommandGroup::noun(const std::string& name, const std::string& what) {
  return {*app_->add_subcommand(name, what)->require_subcommand(1), *chosen_};
}

Verb CommandGroup::verb(const std::string& name, const std::string& what,
                        const std::string& example, Act act) {
  CLI::App& added = *app_->add_subcommand(name, what);
  added.footer("Example:\n  " + example);
  added.callback([chosen = chosen_, act = std::move(act)] { *chosen = act; });
  return Verb(added);
}

CommandParser::CommandParser(const std::string& name, const std::string& what,
                             const std::string& version)
    : app_(std::make_unique<CLI::App>(what, name)) {
  app_->require_subcommand(1);
  app_->fallthrough();
  app_->set_version_flag("--version", version);
}

CommandParser::~CommandParser() = default;

Verb CommandParser::globals() { return Verb(*app_); }

CommandGroup CommandParser::commands() { return {*app_, chosen_}; }

/// How many of the next arguments are values of a global option, as it stands before a verb.
size_t CommandParser::values_of(const std::string& option) const {
  const CLI::Option* const known = app_->get_option_no_throw(option);
  return known != nullptr && known->get_expected_min() > 0 ? 1 : 0;
}

/// Writes `help event why` as `event why --help`.
void CommandParser::replace_help(std::vector<std::string>& arguments) const {
  size_t first = 0;
  while (first < arguments.size() && arguments[first].starts_with('-')) {
    first += 1 + values_of(arguments[first]);
  }
  if (first >= arguments.size() || arguments[first] != "help") return;
  arguments.erase(arguments.begin() + static_cast<ptrdiff_t>(first));
  const bool has_option =
      std::find(arguments.begin(), arguments.end(), "--help") != arguments.end();
  if (!has_option) arguments.emplace_back("--help");
}

/// Checks the noun and the verb; returns the error text if one of them is wrong. CLI11 would check
/// them only after `--help`, and its error does not name the unknown word.
std::optional<std::string> CommandParser::wrong_verb(
    const std::vector<std::string>& arguments) const {
  const CLI::App* at = app_.get();
  std::string path = app_->get_name();
  bool wants_help = false;
  for (size_t i = 0; i < arguments.size() && !verbs_of(*at).empty(); ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with('-')) {
      wants_help = wants_help || word == "--help" || word == "-h" || word == "--version";
      i += values_of(word);
      continue;
    }
    const auto found =
        at->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (found.empty()) {
      return fmt::format("{} is not a command of `{}`{}; expected one of: {}", in_quotes(word),
                         path, verb_like(word, verbs_of(*at)), fmt::join(verbs_of(*at), ", "));
    }
    path += " " + word;
    at = found.front();
  }
  if (wants_help || verbs_of(*at).empty()) return std::nullopt;
  return fmt::format("`{}` needs a command; expected one of: {}", path,
                     fmt::join(verbs_of(*at), ", "));
}

Ended CommandParser::run(std::vector<std::string> arguments, std::ostream& out) {
  replace_help(arguments);
  if (const std::optional<std::string> wrong = wrong_verb(arguments)) return wrong_usage(*wrong);
  try {
    std::reverse(arguments.begin(), arguments.end());
    app_->parse(std::move(arguments));
  } catch (const CLI::Success& wanted) {
    return static_cast<ExitCode>(app_->exit(wanted, out, out));
  } catch (const CLI::ExtrasError& error) {
    return wrong_usage(error.what() + hint_for_extra(*app_));
  } catch (const CLI::ParseError& error) {
    return wrong_usage(plain_text(error.what()));
  }
  return chosen_();
}

}  // namespace millrace
