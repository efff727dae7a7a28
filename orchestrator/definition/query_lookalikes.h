// Texts that are no queries in the place where they stand, but look as if they were meant to be: of
// jq without its brackets, or of another language's placeholders. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// A text without a query that looks as if it were meant to have one.
struct Lookalike {
  std::string text;   ///< the part of it that does
  std::string query;  ///< what was probably meant; empty if that cannot be told
};

/// The query that was meant, as `jq(…)`; one that is long or unknown only hinted at.
std::string query_of(const Lookalike& one);

/// What to write to have the query read, as an imperative.
std::string mend_of(const Lookalike& one);

/// The query that yields the text itself.
std::string text_as_query(const std::string& text);

/// The first `jq(…)` of a text in a place where none is read.
std::optional<Lookalike> find_query(std::string_view text);

/// The part of a literal text that looks like a query.
std::optional<Lookalike> query_in_text(std::string_view text);

/// The part of a pattern that looks like a query. The dots of a path would match any character, and
/// no text goes on behind `$`.
std::optional<Lookalike> query_in_pattern(std::string_view text);

}  // namespace millrace
