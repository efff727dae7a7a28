// A definition as a tree of JSON, for the fields of states that only the behaviour of the states
// knows; and the text of a definition within a scenario file. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

class ReadDefinition {
 public:
  /// The text of a definition that was loaded without errors.
  static Result<ReadDefinition> make(std::string_view text);

  /// The definition.
  const Json& json() const { return json_; }
  /// The state with that id; null: there is none.
  const Json& state(std::string_view id) const;
  /// Whether a text of the definition, apart from descriptions, has the word.
  bool has_word(std::string_view word) const;
  /// Whether a function of the definition has that id.
  bool has_function(std::string_view id) const;

  /// The definition as an item of the list `workflows` of a scenario file: lines that begin with
  /// `  -`. The text is that of the author if it keeps its meaning there.
  std::string as_item() const;

 private:
  ReadDefinition(std::string text, Json json);

  std::string text_;
  Json json_;
  std::map<std::string, size_t, std::less<>> states_;  ///< their places, by id
};

/// The text with spaces before each line that is not empty.
std::string indented(std::string_view text, size_t spaces);

/// A definition as an item of the list `workflows`.
std::string workflow_item(const Json& definition);

}  // namespace millrace
