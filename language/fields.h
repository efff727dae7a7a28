// Fields: reads one mapping of a definition key by key, by its grammar (a Mapping of
// language/grammar.h). Asking for a key that the grammar does not have is a bug. Every mistake
// becomes a finding at its position; the reader gets nullopt (or an empty value) and continues.
// Keys that were never asked for are reported by the destructor. The node must outlive the Fields.
// For use by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/document.h"
#include "language/findings.h"
#include "language/grammar.h"
#include "policies/duration.h"

namespace millrace {

/// Whether the text has `jq(` in it.
bool mentions_jq(std::string_view text);

/// The kind of a node, for messages: `a number`, `a list`, `empty`.
std::string_view describe(const Node& node);

class Fields {
 public:
  /// For a mapping with several kinds, `grammar` is the mapping that lists the kinds, and kind_of
  /// (language/walk.h) chooses one unless `kind` is given.
  /// Reports `definition.missing`, at the mapping, for each required key that is absent.
  /// A node that is not a mapping is reported once; then every key is absent and none is reported
  /// as missing.
  Fields(const Node& node, std::string path, Findings& findings, const Mapping& grammar,
         const Mapping* kind = nullptr);
  ~Fields() { finish(); }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Reports each key that was never asked for: `definition.unsupported` if the grammar has the
  /// key, `definition.vocabulary` if only other kinds of the mapping have it, else
  /// `definition.unknown_key` with the likely name. Also reports two spellings of one key as
  /// `definition.both_keys`. Called by the destructor; a second call does nothing.
  void finish();

  /// Accepts all keys, for a mapping whose keys the grammar does not know. finish() then reports
  /// nothing.
  void pass_over() { finished_ = true; }

  // Presence. A caller may ask for a key by any spelling of the key; the key is found under any of
  // its spellings. A key that was asked for is not reported as unknown. It is allowed to ask for a
  // key that only other kinds of the same mapping have, in order to report that it is not valid
  // here.

  /// Whether the grammar of the mapping's kind has the key; the mapping itself need not contain it.
  bool takes(std::string_view key) const;
  /// Whether the key is present, with any value.
  bool has(std::string_view key);
  /// Like has(), but only for a key that the grammar requires; to ask for any other key is a bug.
  bool require(std::string_view key);

  // Values. nullopt if the key is absent, or if its value cannot be used, which is reported: a
  // wrong type is `definition.type`, a value outside the type's range `definition.value`.

  std::optional<std::string> string(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  /// An integer between `min` and `max` of the key's KeyRule.
  std::optional<int64_t> integer(std::string_view key);
  std::optional<double> number(std::string_view key);
  /// A duration. Findings have the codes of Span::parse, `duration.zero` if the duration is zero
  /// and the key's KeyRule does not allow zero, or `definition.jq_not_here` if it has jq in it: a
  /// caller that can evaluate jq asks has_jq() first.
  std::optional<Span> duration(std::string_view key);
  /// Whether the value of the key is a string with `jq(` in it, and its KeyRule allows jq there.
  bool has_jq(std::string_view key);
  /// A string that is_identifier (base/ids.h) accepts; else `definition.identifier`.
  std::optional<std::string> identifier(std::string_view key);
  /// The value that `choices` pairs with the written word. The words in `choices` must be words of
  /// the key's KeyRule: `fields.one_of<Mode>("mode", {{"and", Mode::kAnd}, {"or", Mode::kOr}})`.
  template <class T>
  std::optional<T> one_of(std::string_view key,
                          std::initializer_list<std::pair<std::string_view, T>> choices);
  /// The node of the value, of any kind, kNull included; nullptr if the key is absent or its value
  /// is kBroken.
  const Node* node(std::string_view key);
  /// The key as written, with its value, which may be kBroken; nullptr if the key is absent.
  const Member* member(std::string_view key);
  /// A list of strings; an item that is not a string is reported and left out.
  std::vector<std::string> strings(std::string_view key);

  // Nested values. Each function returns whether the key is present and has the right type. The
  // Node or Member that it passes to `read` may be kBroken: skip it without a finding.

  /// A mapping, read by `read`.
  bool object(std::string_view key, const std::function<void(Fields&)>& read);
  /// A list of mappings, each read by `read`.
  bool objects(std::string_view key, const std::function<void(Fields&)>& read);
  /// A list of items of any kind, with each item's path.
  bool sequence(std::string_view key,
                const std::function<void(const Node&, const std::string& path)>& read);
  /// A mapping with keys of the author's choice (`context`), with each value's path.
  bool each(std::string_view key,
            const std::function<void(const Member&, const std::string& path)>& read);

  // Values of keys that the grammar requires.

  std::string required_string(std::string_view key);
  std::string required_identifier(std::string_view key);
  std::optional<Span> required_duration(std::string_view key);
  const Node* required_node(std::string_view key);

  // Findings of the caller.

  /// Adds an error at the key's value if it is present, else at the mapping. The path is always
  /// that of the key.
  void report(std::string_view key, std::string code, std::string message);

  /// Whether the node is a mapping.
  bool ok() const { return mapping_ != nullptr; }
  const std::string& path() const { return path_; }
  std::string path(std::string_view key) const { return path_of(path_, spelling(key)); }
  Position at() const { return at_; }
  Position at(std::string_view key) const;
  Findings& findings() { return findings_; }

  /// The key's KeyRule. CHECKs that its kind is one of `kinds` and that it is for a list if and
  /// only if `list` is true; with empty `kinds` it checks neither.
  const KeyRule& rule(std::string_view key, std::initializer_list<KeyRule::Kind> kinds = {},
                      bool list = false) const;

 private:
  const KeyRule* find_rule(std::string_view spelling) const;
  /// The spelling of the key in this mapping; the given spelling if the key is absent.
  std::string_view spelling(std::string_view key) const;
  const Member* find(std::string_view key) const;
  void report_missing();
  void report_both_keys();
  void report_unknown(const Member& member);
  std::vector<std::string_view> candidates() const;

  /// The value of the key if it is present and not kBroken. Marks the key as asked for.
  const Node* ask(std::string_view key);
  /// The value of the key if it has the given kind. A value of another kind is reported, with
  /// `wanted` as the instruction.
  const Node* ask(std::string_view key, Node::Kind kind, std::string_view wanted);
  void report_bounds(std::string_view key, const Node& value);
  std::optional<size_t> choice(std::string_view key, const std::vector<std::string_view>& words);
  void wrong_type(std::string_view key, const Node& node, std::string_view wanted);

  const Node* mapping_;  ///< null if the node is not a mapping
  Position at_;
  std::string path_;
  Findings& findings_;
  const Mapping& grammar_;
  const Mapping& kind_;
  std::vector<Keys> keys_;  ///< the keys that the grammar of the mapping's kind has
  std::vector<const KeyRule*> asked_for_;
  bool finished_ = false;
};

template <class T>
std::optional<T> Fields::one_of(std::string_view key,
                                std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  const std::optional<size_t> index = choice(key, words);
  if (!index) return std::nullopt;
  return (choices.begin() + *index)->second;
}

}  // namespace millrace
