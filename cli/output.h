// Output: what a verb has to show, in the form that was asked for. Tables are for people: aligned,
// times as ages, colour on a terminal; the other forms are for programs and hold everything.
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

/// `name` empty: a table on a terminal, else JSON.
Fallible<Format> parse_format(const std::string& name, bool is_terminal);

struct Column {
  std::string title;
  std::function<std::string(const Json& item)> cell;
};

/// The text of `item[key]`; `-` for none, compact JSON for what is no text.
Column field(std::string title, std::string key);

/// `yes` where `item[key]` is true, else `-`.
Column flag(std::string title, std::string key);

/// How long ago the time in `item[key]` was: `42s`, `5m`, `3h`, `12d`.
Column age(std::string title, std::string key, TimePoint now);

class Output {
 public:
  Output(Console& console, Format format);

  Format format() const { return format_; }

  /// {"items":[…],"next"}: as a table with these columns, or by its names in `name_key`. That there
  /// are more is said on standard error.
  void list(const Json& answer, const std::vector<Column>& columns, const std::string& name_key);

  /// One thing: as a table of its members, one a line, those in `last` below each other behind it.
  void item(const Json& item, const std::string& name_key,
            const std::vector<std::string>& last = {});

  /// A value as it is: a table is indented JSON.
  void value(const Json& value);

 private:
  void print_list(const Json& answer, const std::vector<Column>& columns,
                  const std::string& name_key);
  std::string coloured(const std::string& cell, const std::string& padded) const;

  Console& console_;
  Format format_;
  bool colour_;
};

/// The findings in `errors` as lines for people: `file:2:7: error: path: message [code]`.
std::string render_findings(const Json& errors, std::string_view file);

/// Block-style YAML that reads back as the value.
std::string to_yaml(const Json& value);

}  // namespace millrace
