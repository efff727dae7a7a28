// The grammar of the definition language as tables: which mappings there are (Direktiv and what
// docs/language.md adds to it), which keys each has, and what may stand behind them. The loader
// reads by it (language/fields.h), `explain`, `schema` and "did you mean" are made from it: a key
// that is not here does not exist. Constants, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace {

struct Mapping;

/// A word that may stand behind a key, and what it says.
struct Word {
  std::string_view word;
  std::string_view meaning;
};

/// One key of a mapping. The fields stand in the order in which the tables name them.
struct KeyRule {  // NOLINT(clang-analyzer-optin.performance.Padding)
  /// What stands behind it.
  enum class Kind {
    kText,        ///< text that is not looked into
    kIdentifier,  ///< letters, digits, `.`, `-`, `_` (is_identifier, base/ids.h)
    kBoolean,
    kInteger,     ///< within min and max
    kNumber,      ///< within min and max
    kDuration,    ///< as Span::parse reads it (policies/duration.h)
    kWord,        ///< one of `words`
    kType,        ///< the word that says which of the mapping's kinds it is: Mapping::chooser
    kQuery,       ///< jq: a bare string is itself a program
    kCommand,     ///< any value; jq(…) in its strings is evaluated, "." is the whole data
    kTemplate,    ///< text in which jq(…) may stand
    kMessage,     ///< printf's format
    kState,       ///< the id of a state
    kFunction,    ///< the id of a function
    kEventType,   ///< compared as it is
    kAttribute,   ///< the name of a context attribute
    kPatterns,    ///< attribute → pattern, number or boolean
    kAttributes,  ///< attribute → text in which jq(…) may stand
    kCron,        ///< when a schedule fires
    kGlob,        ///< `*` any run, `?` one character, all else literal
    kPattern,     ///< an ECMAScript regular expression, searched
    kMediaType,   ///< RFC 2046
    kObject,      ///< a mapping by the table `object`
    kRetryText,   ///< a retry policy in a text (parse_retry_text, policies/vocabularies.h)
    kSchema,      ///< a JSON Schema
    kSchemaOrId,  ///< a JSON Schema, or the id of one in `schemas`
  };

  std::string_view name;
  Kind kind = Kind::kText;
  std::string_view meaning;  ///< one sentence
  bool list = false;         ///< a list of them
  bool required = false;
  std::string_view otherwise = {};  ///< what it is where it is absent, as one would write it
  std::array<std::string_view, 2> spellings = {};  ///< other names of it; empty ones are none
  std::optional<int64_t> min = {};
  std::optional<int64_t> max = {};
  bool above_min = false;     ///< min itself is too little
  bool zero = false;          ///< a duration that may be zero
  bool milliseconds = false;  ///< a duration that may be a whole number of them (Steep)
  std::span<const Word> words = {};
  const Mapping* object = nullptr;
  std::optional<Kind> instead = {};  ///< what may stand there instead of the mapping
  bool inlined = false;  ///< where it is absent, the keys of `object` may stand in its place
  bool own = false;      ///< millrace's own: Direktiv does not have it

  /// Its name and its spellings.
  std::vector<std::string_view> names() const;
  /// Whether it is called so.
  bool is(std::string_view spelling) const;
};

using Keys = std::span<const KeyRule>;

/// A mapping of the language. One of several kinds (a state, a start, a function) is described by
/// what all of them have, and `kinds` holds the whole of each. Its word in `type` says which it is;
/// where there is no `type`, its keys do, and `vocabulary` if they are those of several kinds.
struct Mapping {
  std::string_view name;     ///< as its source calls it: `ConsumeEventState`
  std::string_view section;  ///< of its source
  std::string_view meaning;  ///< one sentence
  std::array<Keys, 4> groups;
  std::span<const Mapping* const> kinds = {};
  std::array<std::string_view, 2> types = {};  ///< as a kind: its word, other spellings
  std::string_view source = "Direktiv";        ///< the system whose manual defines it

  /// The key whose word says which kind it is.
  std::string_view chooser() const;

  /// The key of that name or spelling; null if there is none.
  const KeyRule* find(std::string_view spelling) const;
  std::vector<const KeyRule*> keys() const;
  /// The kind with that word; null if there is none.
  const Mapping* kind(std::string_view type) const;
};

/// The definition as a whole, from which every other mapping is reached.
const Mapping& workflow_grammar();

/// `states` as its items are: all state types are among its kinds.
const Mapping& state_grammar();

/// What stands under `retries`: all vocabularies are among its kinds.
const Mapping& retry_grammar();

/// What the settings of a namespace may say of a service beside where it is.
const Mapping& service_grammar();

/// Every mapping that a definition has, each once, those inside another one behind it.
std::vector<const Mapping*> all_mappings();

}  // namespace millrace
