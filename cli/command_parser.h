// CommandParser: the grammar of the command line (nouns, verbs, options). It parses the arguments
// and calls the function of the verb that they name; the verbs themselves are defined elsewhere.
// Its source file is the only one that includes CLI11. For one thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace {

/// An option or argument that was added to a verb, to restrict it further.
class AddedOption {
 public:
  explicit AddedOption(CLI::Option& option) : option_(&option) {}

  AddedOption& required();
  /// A command line must not contain both options.
  AddedOption& excludes(const AddedOption& other);
  /// The option may be given without a value.
  AddedOption& value_is_optional();
  /// An option that may be repeated takes one value each time.
  AddedOption& one_value_each();

  /// Whether the command line contains the option.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// Adds options and arguments to a verb. Names are `--limit` or `-f,--file`; a name without dashes
/// is a positional argument. The parser writes the value to `to`, which must outlive the parser.
class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  AddedOption option(const std::string& names, std::string& to, const std::string& what,
                     const std::string& type = "TEXT");
  AddedOption option(const std::string& names, std::optional<std::string>& to,
                     const std::string& what, const std::string& type = "TEXT");
  AddedOption option(const std::string& names, std::vector<std::string>& to,
                     const std::string& what, const std::string& type = "TEXT");
  void flag(const std::string& names, bool& to, const std::string& what);

 private:
  CLI::App* app_;
};

/// A group of commands: the program itself, or one noun.
class CommandGroup {
 public:
  /// The function that runs a verb.
  using Act = std::function<Ended()>;

  CommandGroup(CLI::App& app, Act& chosen) : app_(&app), chosen_(&chosen) {}

  CommandGroup noun(const std::string& name, const std::string& what);

  /// Adds a verb. `example` is one or more command lines, shown at the end of its help.
  Verb verb(const std::string& name, const std::string& what, const std::string& example, Act act);

 private:
  CLI::App* app_;
  Act* chosen_;
};

class CommandParser {
 public:
  /// `name` is the name of the program; `--version` prints `version`.
  CommandParser(const std::string& name, const std::string& what, const std::string& version);
  ~CommandParser();
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  /// For adding the options that every verb accepts.
  Verb globals();
  CommandGroup commands();

  /// Parses the arguments, which do not contain the program's name, and runs the verb that they
  /// name; `help` before a verb means `--help` after it. Writes help to `out`. Exit kUsage,
  /// `cli.usage`: the arguments do not match the grammar.
  Ended run(std::vector<std::string> arguments, std::ostream& out);

 private:
  size_t values_of(const std::string& option) const;
  void replace_help(std::vector<std::string>& arguments) const;
  std::optional<std::string> wrong_verb(const std::vector<std::string>& arguments) const;

  std::unique_ptr<CLI::App> app_;
  CommandGroup::Act chosen_;
};

}  // namespace millrace
