#include "model/fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ids.h"

namespace millrace {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kWantDuration = "write a duration such as \"PT1H\"";
constexpr std::string_view kWantMapping = "write a mapping (\"key: value\" lines)";
constexpr std::string_view kWantList = "write a list (\"- item\" lines)";

/// A number, bool or null that stands where a text should is mostly a text that wants its quotes.
std::string want_text(const Node& node) {
  if (node.kind == Kind::kInt || node.kind == Kind::kFloat || node.kind == Kind::kBool) {
    return fmt::format("put it in quotes: {}", in_quotes(node.text));
  }
  return "write a text";
}

}  // namespace

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
      return "a text";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
  }
  return "";
}

Fields::Fields(const Node& node, std::string path, Findings& findings)
    : mapping_(node.kind == Kind::kMapping ? &node : nullptr),
      at_(node.at),
      path_(std::move(path)),
      findings_(findings) {
  if (mapping_ == nullptr && node.kind != Kind::kBroken) {
    findings_.error("definition.type", path_, at_,
                    fmt::format("this is {}; {}", describe(node), kWantMapping));
  }
}

void Fields::finish() {
  if (finished_ || mapping_ == nullptr) return;
  finished_ = true;
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const Member& member : mapping_->members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    findings_.error("definition.unknown_key", path_of(path_, member.key), member.at,
                    fmt::format("{} is not a known key here{}", in_quotes(member.key),
                                findings_.full() ? "" : did_you_mean(member.key, names)));
  }
}

bool Fields::has(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return mapping_ != nullptr && mapping_->find(key) != nullptr;
}

bool Fields::require(std::string_view key) {
  if (has(key)) return true;
  if (mapping_ != nullptr) {
    findings_.error("definition.missing", path(key), at_,
                    fmt::format("{} is missing", in_quotes(key)));
  }
  return false;
}

std::string_view Fields::either(std::initializer_list<std::string_view> keys) {
  std::string_view chosen;
  for (const std::string_view key : keys) {
    if (!has(key)) continue;
    if (chosen.empty()) {
      chosen = key;
    } else {
      findings_.error("definition.both_keys", path(key), mapping_->find(key)->at,
                      fmt::format("{} and {} are the same field; write one of them",
                                  in_quotes(chosen), in_quotes(key)));
    }
  }
  return chosen.empty() ? *keys.begin() : chosen;
}

const Node* Fields::ask(std::string_view key) {
  if (!has(key)) return nullptr;
  const Node& value = mapping_->find(key)->value;
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
                  fmt::format("{} is {}; {}", key, describe(node), wanted));
}

std::optional<std::string> Fields::string(std::string_view key) {
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kString) {
    wrong_type(key, *value, want_text(*value));
    return std::nullopt;
  }
  return value->text;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const Node* const value = ask(key, Kind::kBool, "write true or false");
  if (value == nullptr) return std::nullopt;
  return value->scalar.get<bool>();
}

std::optional<int64_t> Fields::integer(std::string_view key, int64_t min, int64_t max) {
  const Node* const value = ask(key, Kind::kInt, "write a whole number");
  if (value == nullptr) return std::nullopt;
  const bool past = value->scalar.is_number_unsigned() &&
                    value->scalar.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = past ? INT64_MAX : value->scalar.get<int64_t>();
  if (past || number < min || number > max) {
    std::string bounds = fmt::format("between {} and {}", min, max);
    if (max == INT64_MAX) bounds = fmt::format("at least {}", min);
    if (min == INT64_MIN) bounds = fmt::format("at most {}", max);
    report(key, "definition.value",
           fmt::format("{} is {}; it must be {}", key, value->text, bounds));
    return std::nullopt;
  }
  return number;
}

std::optional<double> Fields::number(std::string_view key, double min, double max) {
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kInt && value->kind != Kind::kFloat) {
    wrong_type(key, *value, "write a number");
    return std::nullopt;
  }
  const double number = value->scalar.get<double>();
  if (number < min || number > max) {
    std::string bounds = fmt::format("between {} and {}", min, max);
    if (max == std::numeric_limits<double>::max()) bounds = fmt::format("at least {}", min);
    if (min == std::numeric_limits<double>::lowest()) bounds = fmt::format("at most {}", max);
    report(key, "definition.value",
           fmt::format("{} is {}; it must be {}", key, value->text, bounds));
    return std::nullopt;
  }
  return number;
}

std::optional<Span> Fields::duration(std::string_view key, DurationRules rules) {
  const Node* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kString && !(rules.number && value->kind == Kind::kInt)) {
    wrong_type(key, *value, kWantDuration);
    return std::nullopt;
  }
  Result<Span> span = Span::parse(value->text);
  if (!span) {
    report(key, span.error().code, span.error().message);
    return std::nullopt;
  }
  if (span->is_zero() && !rules.zero) {
    report(key, "duration.zero",
           fmt::format("{} is zero; it must be longer", in_quotes(value->text)));
    return std::nullopt;
  }
  return std::move(*span);
}

std::optional<std::string> Fields::identifier(std::string_view key) {
  std::optional<std::string> name = string(key);
  if (name && !is_identifier(*name)) {
    report(key, "definition.identifier",
           fmt::format("{} is no identifier; write 1 to 128 letters, digits, \".\", \"-\", \"_\"",
                       in_quotes(*name)));
    return std::nullopt;
  }
  return name;
}

std::optional<size_t> Fields::choice(std::string_view key,
                                     const std::vector<std::string_view>& words) {
  std::string wanted;
  for (const std::string_view word : words) {
    wanted += fmt::format("{}{}", wanted.empty() ? "write one of " : ", ", in_quotes(word));
  }
  const Node* const value = ask(key, Kind::kString, wanted);
  if (value == nullptr) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), value->text);
  if (found == words.end()) {
    report(key, "definition.value",
           fmt::format("{} is {}; {}{}", key, in_quotes(value->text), wanted,
                       did_you_mean(value->text, words)));
    return std::nullopt;
  }
  return static_cast<size_t>(found - words.begin());
}

const Node* Fields::node(std::string_view key) { return ask(key); }

std::vector<std::string> Fields::strings(std::string_view key) {
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
  const Node* const value = ask(key, Kind::kMapping, kWantMapping);
  if (value == nullptr) return false;
  Fields fields(*value, path(key), findings_);
  read(fields);
  return true;
}

bool Fields::objects(std::string_view key, const std::function<void(Fields&)>& read) {
  return sequence(key, [&](const Node& item, const std::string& item_path) {
    Fields fields(item, item_path, findings_);
    if (fields.ok()) read(fields);
  });
}

bool Fields::sequence(std::string_view key,
                      const std::function<void(const Node&, const std::string&)>& read) {
  const Node* const value = ask(key, Kind::kSequence, kWantList);
  if (value == nullptr) return false;
  const std::string list_path = path(key);
  for (size_t i = 0; i < value->items.size(); ++i) read(value->items[i], path_of(list_path, i));
  return true;
}

bool Fields::each(std::string_view key,
                  const std::function<void(const Member&, const std::string&)>& read) {
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

std::optional<Span> Fields::required_duration(std::string_view key, DurationRules rules) {
  require(key);
  return duration(key, rules);
}

const Node* Fields::required_node(std::string_view key) {
  require(key);
  return node(key);
}

void Fields::report(std::string_view key, std::string code, std::string message) {
  findings_.error(std::move(code), path(key), at(key), std::move(message));
}

void Fields::warn(std::string_view key, std::string code, std::string message) {
  findings_.warning(std::move(code), path(key), at(key), std::move(message));
}

Position Fields::at(std::string_view key) const {
  const Member* const member = mapping_ != nullptr ? mapping_->find(key) : nullptr;
  return member != nullptr ? member->value.at : at_;
}

}  // namespace millrace
