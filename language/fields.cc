#include "language/fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/ids.h"
#include "language/key_hints.h"
#include "language/walk.h"

namespace millrace {
namespace {

using Kind = Node::Kind;
using Rule = KeyRule::Kind;

constexpr std::string_view kWantDuration = "write a duration such as \"PT1H\"";
constexpr std::string_view kWantMapping = "write a mapping (\"key: value\" lines)";
constexpr std::string_view kWantList = "write a list (\"- item\" lines)";

/// How to write a key whose kind says what a value looks like: `period: PT1M`. Empty: another kind.
std::string example_of(const KeyRule& key) {
  if (key.kind == Rule::kDuration) return fmt::format("{}: PT1M", key.name);
  if (key.kind != Rule::kInteger || key.list) return "";
  constexpr int64_t kExample = 10;
  const int64_t least = std::max(kExample, key.min.value_or(kExample));
  return fmt::format("{}: {}", key.name, std::min(least, key.max.value_or(least)));
}

/// The instruction for a value that must be a string. A number or boolean in its place is usually a
/// string whose quotes are missing.
std::string want_text(const Node& node) {
  if (node.kind == Kind::kInt || node.kind == Kind::kFloat || node.kind == Kind::kBool) {
    return fmt::format("put it in quotes: {}", in_quotes(node.text));
  }
  return "write a string";
}

bool has_word(const KeyRule& key, std::string_view word) {
  return std::any_of(key.words.begin(), key.words.end(),
                     [&](const Word& one) { return one.word == word; });
}

}  // namespace

bool mentions_jq(std::string_view text) { return text.find("jq(") != std::string_view::npos; }

std::string_view describe(const Node& node) {
  switch (node.kind) {
    case Kind::kBroken:
      return "not readable";
    case Kind::kNull:
      return "empty";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInt:
    case Kind::kFloat:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
  }
  return "";
}

Fields::Fields(const Node& node, std::string path, Findings& findings, const Mapping& grammar,
               const Mapping* kind)
    : mapping_(node.kind == Kind::kMapping ? &node : nullptr),
      at_(node.at),
      path_(std::move(path)),
      findings_(findings),
      grammar_(grammar),
      kind_(kind == nullptr ? kind_of(node, grammar) : *kind),
      keys_(keys_of(node, kind_)) {
  if (mapping_ == nullptr && node.kind != Kind::kBroken) {
    findings_.error("definition.type", path_, at_,
                    fmt::format("this is {}; {}", describe(node), kWantMapping));
  }
  if (mapping_ != nullptr) report_missing();
}

void Fields::report_missing() {
  for (const Keys group : keys_) {
    for (const KeyRule& key : group) {
      if (!key.required || key.inlined || find(key.name) != nullptr) continue;
      const bool has_alternative = !key.alternative.empty();
      if (has_alternative && find(key.alternative) != nullptr) continue;
      const std::string example = example_of(key);
      std::string message = fmt::format("{} is missing", in_quotes(key.name));
      if (has_alternative) {
        message += fmt::format("; write {}, or {}", example.empty() ? "it" : example,
                               in_quotes(key.alternative));
      } else if (!example.empty()) {
        message += "; write for example " + example;
      }
      findings_.error("definition.missing", path(key.name), at_, std::move(message));
    }
  }
}

void Fields::finish() {
  if (finished_ || mapping_ == nullptr) return;
  finished_ = true;
  report_both_keys();
  for (const Member& member : mapping_->members) {
    const KeyRule* const rule = find_rule(member.key);
    if (std::find(asked_for_.begin(), asked_for_.end(), rule) != asked_for_.end()) continue;
    if (takes(member.key)) {
      // If the key were ignored, the workflow would differ from its text.
      report(
          member.key, "definition.unsupported",
          fmt::format("this release of millrace does not support the key `{}` here", member.key));
      continue;
    }
    report_unknown(member);
  }
}

void Fields::report_unknown(const Member& member) {
  // Keys of other kinds are reported here only if keys choose the kind. If `type` chooses the kind,
  // the reader of the kind reports them.
  const bool by_keys = !grammar_.kinds.empty() && grammar_.chooser() != "type";
  for (const Mapping* other : grammar_.kinds) {
    if (!by_keys || other->find(member.key) == nullptr) continue;
    findings_.error("definition.vocabulary", path_of(path_, member.key), member.at,
                    fmt::format("{} is a key of {}, not of {}", in_quotes(member.key),
                                other->types[0], kind_.types[0]));
    return;
  }
  std::string advice;
  if (const std::string_view hint = hint_on_key(kind_, member.key); !hint.empty()) {
    advice = fmt::format("; {}", hint);
  } else if (!findings_.full()) {
    advice = did_you_mean(member.key, candidates());
  }
  const std::string known = keys_of_small_mapping(kind_);
  if (!known.empty()) advice += (advice.ends_with('?') ? " The" : "; the") + known;
  findings_.error("definition.unknown_key", path_of(path_, member.key), member.at,
                  fmt::format("{} is not a known key here{}", in_quotes(member.key), advice));
}

void Fields::report_both_keys() {
  for (const Keys group : keys_) {
    for (const KeyRule& key : group) {
      std::string_view chosen;
      for (const Member& member : mapping_->members) {
        if (!key.is(member.key)) continue;
        if (chosen.empty()) {
          chosen = member.key;
          continue;
        }
        findings_.error("definition.both_keys", path_of(path_, member.key), member.at,
                        fmt::format("{} and {} are the same field; write one of them",
                                    in_quotes(chosen), in_quotes(member.key)));
      }
      const Member* const other =
          key.alternative.empty() ? nullptr : mapping_->find(key.alternative);
      if (chosen.empty() || other == nullptr) continue;
      findings_.error("definition.both_keys", path_of(path_, other->key), other->at,
                      fmt::format("{} and {} both set the end of the wait; write one of them",
                                  in_quotes(chosen), in_quotes(other->key)));
    }
  }
}

std::vector<std::string_view> Fields::candidates() const {
  std::vector<std::string_view> names;
  const auto add = [&](Keys group) {
    for (const KeyRule& key : group) {
      for (const std::string_view name : key.names()) names.push_back(name);
    }
  };
  for (const Keys group : keys_) add(group);
  for (const Keys group : grammar_.groups) add(group);
  return names;
}

bool Fields::takes(std::string_view key) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](Keys group) {
    return std::any_of(group.begin(), group.end(), [&](const KeyRule& one) { return one.is(key); });
  });
}

const KeyRule* Fields::find_rule(std::string_view spelling) const {
  for (const Keys group : keys_) {
    for (const KeyRule& key : group) {
      if (key.is(spelling)) return &key;
    }
  }
  return grammar_.find(spelling);
}

const KeyRule& Fields::rule(std::string_view key, std::initializer_list<Rule> kinds,
                            bool list) const {
  const KeyRule* const found = find_rule(key);
  CHECK(found != nullptr, "no key {} in the grammar of {}", key, grammar_.name);
  const auto may_be = [&](std::optional<Rule> kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  const bool fits =
      kinds.size() == 0 || (found->list == list && (may_be(found->kind) || may_be(found->instead)));
  CHECK(fits, "{} of {} is read as another kind than the grammar has", key, grammar_.name);
  return *found;
}

const Member* Fields::find(std::string_view key) const {
  if (mapping_ == nullptr) return nullptr;
  if (const Member* const member = mapping_->find(key)) return member;
  const KeyRule* const rule = find_rule(key);
  if (rule == nullptr) return nullptr;
  for (const std::string_view name : rule->names()) {
    if (const Member* const member = mapping_->find(name)) return member;
  }
  return nullptr;
}

std::string_view Fields::spelling(std::string_view key) const {
  const Member* const member = find(key);
  return member == nullptr ? key : std::string_view(member->key);
}

bool Fields::has(std::string_view key) {
  const KeyRule& asked = rule(key);
  if (std::find(asked_for_.begin(), asked_for_.end(), &asked) == asked_for_.end()) {
    asked_for_.push_back(&asked);
  }
  return find(key) != nullptr;
}

bool Fields::require(std::string_view key) {
  CHECK(rule(key).required, "{} of {} is not required by the grammar", key, grammar_.name);
  return has(key);
}

const Node* Fields::ask(std::string_view key) {
  if (!has(key)) return nullptr;
  const Node& value = find(key)->value;
  return value.kind == Kind::kBroken ? nullptr : &value;
}

const Node* Fields::ask(std::string_view key, Kind kind, std::string_view wanted) {
  const Node* const value = ask(key);
  if (value == nullptr || value->kind == kind) return value;
  wrong_type(key, *value, wanted);
  return nullptr;
}

void Fields::wrong_type(std::string_view key, const Node& node, std::string_view wanted) {
  findings_.error("definition.type", path(key), node.at,
                  fmt::format("{} is {}; {}", spelling(key), describe(node), wanted));
}

std::optional<std::string> Fields::string(std::string_view key) {
  rule(key, {Rule::kText, Rule::kIdentifier, Rule::kTemplate, Rule::kMessage, Rule::kState,
             Rule::kFunction, Rule::kEventType, Rule::kCron, Rule::kGlob, Rule::kMediaType,
             Rule::kType});
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kString) {
    wrong_type(key, *value, want_text(*value));
    return std::nullopt;
  }
  return value->text;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  rule(key, {Rule::kBoolean});
  const Node* const value = ask(key, Kind::kBool, "write true or false");
  if (value == nullptr) return std::nullopt;
  return value->scalar.get<bool>();
}

std::optional<int64_t> Fields::integer(std::string_view key) {
  const KeyRule& bounds = rule(key, {Rule::kInteger});
  const Node* const value = ask(key, Kind::kInt, "write a whole number");
  if (value == nullptr) return std::nullopt;
  const bool past = value->scalar.is_number_unsigned() &&
                    value->scalar.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = past ? INT64_MAX : value->scalar.get<int64_t>();
  if (past || (bounds.min && number < *bounds.min) || (bounds.max && number > *bounds.max)) {
    report_bounds(key, *value);
    return std::nullopt;
  }
  return number;
}

std::optional<double> Fields::number(std::string_view key) {
  const KeyRule& bounds = rule(key, {Rule::kNumber});
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kInt && value->kind != Kind::kFloat) {
    wrong_type(key, *value, "write a number");
    return std::nullopt;
  }
  const double number = value->scalar.get<double>();
  const double min = bounds.min ? static_cast<double>(*bounds.min) : number;
  if (number < min || (bounds.above_min && number == min) ||
      (bounds.max && number > static_cast<double>(*bounds.max))) {
    report_bounds(key, *value);
    return std::nullopt;
  }
  return number;
}

void Fields::report_bounds(std::string_view key, const Node& value) {
  const KeyRule& bounds = rule(key);
  const int64_t max = bounds.max.value_or(INT64_MAX);
  std::string wanted = fmt::format("at most {}", max);
  if (bounds.above_min) {
    wanted = fmt::format("above {}", *bounds.min);
  } else if (bounds.min) {
    wanted = bounds.max ? fmt::format("between {} and {}", *bounds.min, max)
                        : fmt::format("at least {}", *bounds.min);
  }
  report(key, "definition.value",
         fmt::format("{} is {}; it must be {}", spelling(key), value.text, wanted));
}

std::optional<Span> Fields::duration(std::string_view key) {
  const KeyRule& allowed = rule(key, {Rule::kDuration});
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kString && !(allowed.milliseconds && value->kind == Kind::kInt)) {
    wrong_type(key, *value, kWantDuration);
    return std::nullopt;
  }
  if (value->kind == Kind::kString && mentions_jq(value->text)) {
    report(key, "definition.jq_not_here",
           fmt::format("{} is a constant and cannot contain jq; {}", spelling(key), kWantDuration));
    return std::nullopt;
  }
  Result<Span> span = Span::parse(value->text);
  if (!span) {
    report(key, span.error().code, span.error().message);
    return std::nullopt;
  }
  if (span->is_zero() && !allowed.zero) {
    report(key, "duration.zero",
           fmt::format("{} is zero; it must be longer", in_quotes(value->text)));
    return std::nullopt;
  }
  return std::move(*span);
}

bool Fields::has_jq(std::string_view key) {
  const Node* const value = rule(key).jq ? ask(key) : nullptr;
  return value != nullptr && value->kind == Kind::kString && mentions_jq(value->text);
}

std::optional<std::string> Fields::identifier(std::string_view key) {
  std::optional<std::string> name = string(key);
  if (name && !is_identifier(*name)) {
    report(key, "definition.identifier",
           fmt::format(
               "{} is not an identifier; write 1 to 128 letters, digits, \".\", \"-\" or \"_\"",
               in_quotes(*name)));
    return std::nullopt;
  }
  return name;
}

std::optional<size_t> Fields::choice(std::string_view key,
                                     const std::vector<std::string_view>& words) {
  const KeyRule& asked = rule(key, {Rule::kWord, Rule::kType});
  for (const std::string_view word : words) {
    CHECK(asked.kind == Rule::kType ? grammar_.kind(word) != nullptr : has_word(asked, word),
          "{} of {} has no word {} in the grammar", key, grammar_.name, word);
  }
  std::string wanted;
  for (const std::string_view word : words) {
    wanted += fmt::format("{}{}", wanted.empty() ? "write one of " : ", ", in_quotes(word));
  }
  const Node* const value = ask(key, Kind::kString, wanted);
  if (value == nullptr) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), value->text);
  if (found == words.end()) {
    report(key, "definition.value",
           fmt::format("{} is {}; {}{}", spelling(key), in_quotes(value->text), wanted,
                       did_you_mean(value->text, words)));
    return std::nullopt;
  }
  return static_cast<size_t>(found - words.begin());
}

const Node* Fields::node(std::string_view key) { return ask(key); }

const Member* Fields::member(std::string_view key) { return has(key) ? find(key) : nullptr; }

std::vector<std::string> Fields::strings(std::string_view key) {
  rule(key, {Rule::kText, Rule::kPattern}, true);
  std::vector<std::string> out;
  sequence(key, [&](const Node& item, const std::string& item_path) {
    if (item.kind == Kind::kString) {
      out.push_back(item.text);
    } else if (item.kind != Kind::kBroken) {
      findings_.error("definition.type", item_path, item.at,
                      fmt::format("this is {}; {}", describe(item), want_text(item)));
    }
  });
  return out;
}

bool Fields::object(std::string_view key, const std::function<void(Fields&)>& read) {
  const KeyRule& asked = rule(key, {Rule::kObject});
  const std::string_view hint = hint_on_mapping(*asked.object);
  const Node* const value = ask(key, Kind::kMapping, hint.empty() ? kWantMapping : hint);
  if (value == nullptr) return false;
  Fields fields(*value, path(key), findings_, *asked.object);
  read(fields);
  return true;
}

bool Fields::objects(std::string_view key, const std::function<void(Fields&)>& read) {
  const KeyRule& asked = rule(key, {Rule::kObject}, true);
  return sequence(key, [&](const Node& item, const std::string& item_path) {
    Fields fields(item, item_path, findings_, *asked.object);
    if (fields.ok()) read(fields);
  });
}

bool Fields::sequence(std::string_view key,
                      const std::function<void(const Node&, const std::string&)>& read) {
  CHECK(rule(key).list, "{} of {} is not a list in the grammar", key, grammar_.name);
  const Node* const value = ask(key, Kind::kSequence, kWantList);
  if (value == nullptr) return false;
  const std::string list_path = path(key);
  for (size_t i = 0; i < value->items.size(); ++i) read(value->items[i], path_of(list_path, i));
  return true;
}

bool Fields::each(std::string_view key,
                  const std::function<void(const Member&, const std::string&)>& read) {
  rule(key, {Rule::kPatterns, Rule::kAttributes});
  const Node* const value = ask(key, Kind::kMapping, kWantMapping);
  if (value == nullptr) return false;
  const std::string mapping_path = path(key);
  for (const Member& member : value->members) read(member, path_of(mapping_path, member.key));
  return true;
}

std::string Fields::required_string(std::string_view key) {
  require(key);
  return string(key).value_or("");
}

std::string Fields::required_identifier(std::string_view key) {
  require(key);
  return identifier(key).value_or("");
}

std::optional<Span> Fields::required_duration(std::string_view key) {
  require(key);
  return duration(key);
}

const Node* Fields::required_node(std::string_view key) {
  require(key);
  return node(key);
}

void Fields::report(std::string_view key, std::string code, std::string message) {
  findings_.error(std::move(code), path(key), at(key), std::move(message));
}

Position Fields::at(std::string_view key) const {
  const Member* const member = find(key);
  return member != nullptr ? member->value.at : at_;
}

}  // namespace millrace
