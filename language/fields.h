// Fields: reads one mapping of a definition key by key, by its table in language/grammar.h: to ask
// for what the table does not have is a bug. Every mistake becomes a finding at its place, and the
// reader gets nullopt (or an empty value) and goes on; a key that nobody asked for is reported when
// the Fields ends. The node must outlive it. One thread.
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

/// What a node is, for messages: `a number`, `a list`, `empty`.
std::string_view describe(const Node& node);

class Fields {
 public:
  /// Of a mapping of several kinds `grammar` is what they are kinds of: kind_of (language/walk.h)
  /// chooses, unless `kind` is given.
  /// Reports `definition.missing`, at the mapping, for each key that is required and not there.
  /// A node that is no mapping is reported once; then nothing is there and nothing is missed.
  Fields(const Node& node, std::string path, Findings& findings, const Mapping& grammar,
         const Mapping* kind = nullptr);
  ~Fields() { finish(); }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Reports what nobody has asked for: `definition.unsupported` where the table has it,
  /// `definition.vocabulary` where only other kinds of the mapping do, else
  /// `definition.unknown_key`, with the likely name; and two spellings of one key at once,
  /// `definition.both_keys`. Called by the destructor; a second call does nothing.
  void finish();

  /// Takes all keys for known ones: where nobody can say which there may be.
  void pass_over() { finished_ = true; }

  // Presence. A key is asked for by any of its spellings and found in any. To ask for it in any way
  // makes it a known one. What only other kinds of the same mapping have may be asked for, so as to
  // say that it does not stand here.

  /// Whether the mapping's own table has the key, there or not.
  bool takes(std::string_view key) const;
  /// Whether the key is there, with whatever value.
  bool has(std::string_view key);
  /// As has(), for a key that is required.
  bool require(std::string_view key);

  // Values. nullopt where the key is absent, and where a finding says why it cannot be used: a
  // wrong type is `definition.type`, what the type cannot be `definition.value`.

  std::optional<std::string> string(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  /// Within the bounds of the table.
  std::optional<int64_t> integer(std::string_view key);
  std::optional<double> number(std::string_view key);
  /// Codes are those of Span::parse, and `duration.zero` where the table has no zero.
  std::optional<Span> duration(std::string_view key);
  /// A string that is_identifier (base/ids.h) takes; else `definition.identifier`.
  std::optional<std::string> identifier(std::string_view key);
  /// One of a few words of the table, as the value that stands beside it:
  /// `fields.one_of<Mode>("mode", {{"and", Mode::kAnd}, {"or", Mode::kOr}})`.
  template <class T>
  std::optional<T> one_of(std::string_view key,
                          std::initializer_list<std::pair<std::string_view, T>> choices);
  /// Any value as it stands, null included; null if the key is absent or its value broken.
  const Node* node(std::string_view key);
  /// The same with the key as it is written; null if it is absent.
  const Member* member(std::string_view key);
  /// A list of strings; what is no string in it is reported and left out.
  std::vector<std::string> strings(std::string_view key);

  // Nested ones. They return whether the key is there and of the right type. A Node or Member that
  // is handed on may be kBroken: pass over it without a word.

  bool object(std::string_view key, const std::function<void(Fields&)>& read);
  /// A list of mappings, each read by `read`.
  bool objects(std::string_view key, const std::function<void(Fields&)>& read);
  /// A list of anything, with each item's path.
  bool sequence(std::string_view key,
                const std::function<void(const Node&, const std::string& path)>& read);
  /// A mapping with keys of the author's choice (`context`), with each value's path.
  bool each(std::string_view key,
            const std::function<void(const Member&, const std::string& path)>& read);

  // The same, required.

  std::string required_string(std::string_view key);
  std::string required_identifier(std::string_view key);
  std::optional<Span> required_duration(std::string_view key);
  const Node* required_node(std::string_view key);

  // The caller's own findings.

  /// At the key's value if it is there, else at the mapping; the path is the key's either way.
  void report(std::string_view key, std::string code, std::string message);

  /// False where the node is no mapping.
  bool ok() const { return mapping_ != nullptr; }
  const std::string& path() const { return path_; }
  std::string path(std::string_view key) const { return path_of(path_, spelling(key)); }
  Position at() const { return at_; }
  Position at(std::string_view key) const;
  Findings& findings() { return findings_; }

  /// The key's row in the table, for a reader of values of these kinds; of any if none are named.
  const KeyRule& rule(std::string_view key, std::initializer_list<KeyRule::Kind> kinds = {},
                      bool list = false) const;

 private:
  const KeyRule* find_rule(std::string_view spelling) const;
  /// The key as it is written here; as the table has it if it is not there.
  std::string_view spelling(std::string_view key) const;
  const Member* find(std::string_view key) const;
  void report_missing();
  void report_both_keys();
  void report_unknown(const Member& member);
  std::vector<std::string_view> candidates() const;

  /// The value of the key if it is there and not broken; the key is known from now on.
  const Node* ask(std::string_view key);
  /// As ask(); a value of another kind is reported, `wanted` saying what to write.
  const Node* ask(std::string_view key, Node::Kind kind, std::string_view wanted);
  void report_bounds(std::string_view key, const Node& value);
  std::optional<size_t> choice(std::string_view key, const std::vector<std::string_view>& words);
  void wrong_type(std::string_view key, const Node& node, std::string_view wanted);

  const Node* mapping_;  ///< null where it is no mapping
  Position at_;
  std::string path_;
  Findings& findings_;
  const Mapping& grammar_;
  const Mapping& kind_;
  std::vector<Keys> keys_;  ///< of the mapping's own table
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
