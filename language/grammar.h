// The grammar of the definition language as tables: the mappings (those of Direktiv and those that
// docs/language.md adds), the keys of each, and the values that each key may have. The loader
// (language/fields.h), `explain`, `schema` and "did you mean" all use these tables: a key that is
// not in them does not exist. Constants, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace {

struct Mapping;

/// A word that may be the value of a key, and its meaning.
struct Word {
  std::string_view word;
  std::string_view meaning;
};

/// One key of a mapping. The fields are declared in the order in which the tables set them.
struct KeyRule {  // NOLINT(clang-analyzer-optin.performance.Padding)
  /// The kind of the key's value.
  enum class Kind {
    kText,        ///< text without further rules
    kIdentifier,  ///< letters, digits, `.`, `-`, `_` (is_identifier, base/ids.h)
    kBoolean,
    kInteger,     ///< within min and max
    kNumber,      ///< within min and max
    kDuration,    ///< as Span::parse reads it (policies/duration.h)
    kWord,        ///< one of `words`
    kType,        ///< the word that chooses the mapping's kind: Mapping::chooser
    kQuery,       ///< jq: a bare string is itself a program
    kCommand,     ///< any value; jq(…) in its strings is evaluated, "." means all data
    kTemplate,    ///< text that may contain jq(…)
    kMessage,     ///< a format string as for printf
    kState,       ///< the id of a state
    kFunction,    ///< the id of a function
    kEventType,   ///< compared as plain text
    kAttribute,   ///< the name of a context attribute
    kPatterns,    ///< attribute → pattern, number or boolean
    kAttributes,  ///< attribute → text that may contain jq(…)
    kCron,        ///< the times of a schedule
    kGlob,        ///< `*` matches any characters, `?` one, every other character itself
    kPattern,     ///< an ECMAScript regular expression, searched
    kMediaType,   ///< RFC 2046
    kObject,      ///< a mapping that the table `object` describes
    kUntil,  ///< a time, a number of seconds or a schedule (until_of, policies/evaluated_time.h)
    kRetryText,   ///< a retry policy as text (parse_retry_text, policies/vocabularies.h)
    kSchema,      ///< a JSON Schema
    kSchemaOrId,  ///< a JSON Schema, or the id of one in `schemas`
  };

  std::string_view name;
  Kind kind = Kind::kText;
  std::string_view meaning;  ///< one sentence
  bool list = false;         ///< the value is a list of values of `kind`
  bool required = false;
  std::string_view otherwise = {};  ///< the default if the key is absent, as it would be written
  std::array<std::string_view, 2> spellings = {};  ///< other names of the key; empty if unused
  std::optional<int64_t> min = {};
  std::optional<int64_t> max = {};
  bool above_min = false;     ///< the value must be greater than min
  bool zero = false;          ///< the duration may be zero
  bool milliseconds = false;  ///< the duration may be a whole number of milliseconds (Steep)
  bool jq = false;            ///< the duration, or the schedule, may contain jq(…)
  /// Another key that may stand in the place of this one. Both together are refused; a required key
  /// may be missing if the other one is present.
  std::string_view alternative = {};
  std::span<const Word> words = {};
  const Mapping* object = nullptr;
  std::optional<Kind> instead = {};  ///< the kind of a value that may replace the mapping
  bool inlined = false;  ///< if the key is absent, the keys of `object` may be written in its place
  bool own = false;      ///< a key of millrace that Direktiv does not have

  /// The key's name and its other spellings.
  std::vector<std::string_view> names() const;
  /// Whether `spelling` is the key's name or one of its other spellings.
  bool is(std::string_view spelling) const;
};

using Keys = std::span<const KeyRule>;

/// A mapping of the language. A mapping with several kinds (a state, a start, a function) has the
/// keys that all kinds share, and `kinds` has the complete table of each kind. The word in `type`
/// chooses the kind. A mapping without `type` is chosen by its keys, and by `vocabulary` if several
/// kinds have these keys.
struct Mapping {
  std::string_view name;     ///< the name in its source: `ConsumeEventState`
  std::string_view section;  ///< the section of its source
  std::string_view meaning;  ///< one sentence
  std::array<Keys, 5> groups;
  std::span<const Mapping* const> kinds = {};
  std::array<std::string_view, 2> types = {};  ///< for a kind: the words in `type` that choose it
  std::string_view source = "Direktiv";        ///< the system whose manual defines it

  /// The key whose word chooses the kind: `vocabulary` if the mapping has it, else `type`.
  std::string_view chooser() const;

  /// The key with that name or spelling; null if it does not exist.
  const KeyRule* find(std::string_view spelling) const;
  std::vector<const KeyRule*> keys() const;
  /// The kind with that word; null if it does not exist.
  const Mapping* kind(std::string_view type) const;
};

/// The definition itself, from which every other mapping can be reached.
const Mapping& workflow_grammar();

/// An item of `states`; its kinds are the state types.
const Mapping& state_grammar();

/// The value of `retries`; its kinds are the vocabularies.
const Mapping& retry_grammar();

/// The policies that the settings of a namespace may give a service beside its address.
const Mapping& service_grammar();

/// Every mapping of the language, each once, in depth-first order.
std::vector<const Mapping*> all_mappings();

}  // namespace millrace
