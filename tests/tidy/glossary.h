// Functions for checks against the glossary (docs/GLOSSARY.md): whether its terms are in use, and
// whether sources and documents avoid the words that it retires.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A term that is not used any more: its words, in lower case, and the term to write instead.
struct RetiredTerm {
  std::vector<std::string> words;
  std::string instead;
};

/// The words of a text, in lower case. Identifiers are split at underscores and at capitals:
/// `in_hand`, `InHand` and "in hand" have the same words.
std::vector<std::string> words_of(std::string_view text);

/// The terms that a page defines: the first column of the tables above the heading "Retired
/// words", split at commas.
std::vector<std::string> defined_terms(const std::string& page);

/// The terms of the table under the heading "Retired words": the first column, split at commas,
/// and the replacement in the second column.
std::vector<RetiredTerm> retired_terms(const std::string& page);

/// The text without data: raw strings of C++, fenced blocks of Markdown, and what is in quotes or
/// backticks without a blank, such as "hooks". Lines keep their numbers.
std::string without_data(const std::string& file, const std::string& text);

/// A line for each use of a retired term: `base/ids.h:3: "errand": write instance message`.
std::vector<std::string> retired_uses(const std::vector<RetiredTerm>& terms,
                                      const std::string& file, const std::string& text);

}  // namespace millrace
