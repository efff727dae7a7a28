// Output: prints the result of a verb in the format of `-o`. Tables are for people: aligned
// columns, ages instead of times, colours on a terminal. The other formats are for programs and
// contain all members.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "cli/console.h"

namespace millrace {

enum class Format { kTable, kJson, kJsonl, kYaml, kName };

/// The format with this name; an empty name means table on a terminal, else JSON. Exit kUsage: the
/// format is unknown.
Fallible<Format> parse_format(const std::string& name, bool is_terminal);

/// The control characters that several lines of text have.
inline constexpr std::string_view kLineEnds = "\n\t";

/// The text with a space in place of each control character that is not in `allowed`: texts of the
/// server quote what its clients have written, and must not send commands to the terminal.
std::string harmless(std::string_view text, std::string_view allowed = "");

/// Prints the `warnings` about settings in an answer, [{"path","message"}], on standard error.
void show_settings_warnings(const Console& console, const Json& answer);

struct Column {
  std::string title;
  std::function<std::string(const Json& item)> cell;
};

/// A column with the text of `item[key]`: `-` if it is absent or empty, compact JSON if it is not a
/// string.
Column field(std::string title, std::string key);

/// A column with the JSON value of `item[key]`, of which also null is one; a text has no quotes
/// unless it is empty. `-`: there is none.
Column json_value(std::string title, std::string key);

/// A column with `yes` if `item[key]` is true, else `-`.
Column flag(std::string title, std::string key);

/// A column with the age of the time in `item[key]`: `42s`, `5m`, `3h`, `12d`.
Column age(std::string title, std::string key, TimePoint now);

class Output {
 public:
  Output(Console& console, Format format);

  Format format() const { return format_; }

  /// Prints {"items":[…],"next"}: as a table with these columns, or, in the format name, the member
  /// `name_key` of each item. If `next` is set, prints that cursor on standard error.
  void list(const Json& answer, const std::vector<Column>& columns, const std::string& name_key);
  /// The same; in the format name, prints the cell of `name` for each item.
  void list(const Json& answer, const std::vector<Column>& columns, const Column& name);

  /// Prints the items as lines of a table that may go on. `widths` are those of the columns, in
  /// characters: empty before the first lines, which have the titles above them; they grow.
  void lines(const Json& items, const std::vector<Column>& columns, std::vector<size_t>& widths);

  /// Prints one object: as a table with one member a line, followed by the members in `last`, each
  /// as a block of lines; or, in the format name, only the member `name_key`.
  void item(const Json& item, const std::string& name_key,
            const std::vector<std::string>& last = {});

  /// Prints a value; in the formats table and name, as indented JSON.
  void value(const Json& value);

 private:
  void print_list(const Json& answer, const std::vector<Column>& columns, const Column& name);
  std::string coloured(const std::string& cell, const std::string& padded) const;

  Console& console_;
  Format format_;
  bool colour_;
};

/// The findings in `errors` as lines of text: `file:2:7: error: path: message [code]`.
std::string render_findings(const Json& errors, std::string_view file);

/// The text as one word of a shell: in quotes if it needs them.
std::string shell_word(std::string_view text);

}  // namespace millrace
