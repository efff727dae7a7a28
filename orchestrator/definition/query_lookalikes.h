// Recognises texts that look like a query but are not one at their place: jq without `jq(…)`, or
// placeholders of other languages. Private to orchestrator/definition/. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// A part of a plain string of a definition that looks like a jq program.
struct Lookalike {
  std::string text;   ///< the part that looks like a jq program
  std::string query;  ///< the jq program that was probably meant; empty if unknown
};

/// The jq program that was probably meant, written as `jq(…)`; a long or unknown program is shown
/// as an ellipsis.
std::string query_of(const Lookalike& one);

/// What to write in place of the text, as an imperative sentence.
std::string mend_of(const Lookalike& one);

/// A query that yields the text literally.
std::string text_as_query(const std::string& text);

/// The first `jq(…)` of a text at a place where jq programs are not evaluated.
std::optional<Lookalike> find_query(std::string_view text);

/// The part of a literal string that looks like a jq program.
std::optional<Lookalike> query_in_text(std::string_view text);

/// The part of a pattern that looks like a jq program. Such a pattern probably does not match what
/// was meant: the dots of a path match any character, and nothing can match after `$`.
std::optional<Lookalike> query_in_pattern(std::string_view text);

}  // namespace millrace
