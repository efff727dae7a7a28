// CommandParser: the grammar of a command line, built of commands, verbs and options, and which
// verb a line asks for. It does not know what verbs do. Its source file is the only one that
// includes CLI11. One thread.
#pragma once

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

/// An option or an argument that was added, to say more about it.
class AddedOption {
 public:
  explicit AddedOption(CLI::Option& option) : option_(&option) {}

  AddedOption& required();
  /// Not both of them.
  AddedOption& excludes(const AddedOption& other);
  /// It may stand without a value.
  AddedOption& value_is_optional();
  /// Each mention of it takes one value, where it takes several.
  AddedOption& one_value_each();

  /// Whether the command line has it.
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// What may stand behind a verb. Names are `--limit` or `-f,--file`; those without dashes are
/// arguments. What is given is written to `to`, which outlives the parser.
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

/// A place where commands stand: the program, or one of its nouns.
class CommandGroup {
 public:
  /// What a verb does.
  using Act = std::function<Ended()>;

  CommandGroup(CLI::App& app, Act& chosen) : app_(&app), chosen_(&chosen) {}

  CommandGroup noun(const std::string& name, const std::string& what);

  /// Adds a verb. `example` is shown behind its help: command lines, one or several.
  Verb verb(const std::string& name, const std::string& what, const std::string& example, Act act);

 private:
  CLI::App* app_;
  Act* chosen_;
};

class CommandParser {
 public:
  /// `name` is that of the program, `version` what `--version` prints.
  CommandParser(const std::string& name, const std::string& what, const std::string& version);
  ~CommandParser();
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  /// The options that every verb takes.
  Verb globals();
  CommandGroup commands();

  /// Does what the arguments, without the program's name, ask for; help is written to `out`. Exit
  /// kUsage, `cli.usage`: the grammar does not have it.
  Ended run(std::vector<std::string> arguments, std::ostream& out);

 private:
  std::optional<std::string> wrong_verb(const std::vector<std::string>& arguments) const;

  std::unique_ptr<CLI::App> app_;
  CommandGroup::Act chosen_;
};

}  // namespace millrace
