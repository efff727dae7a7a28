#include "language/policy_fields.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "expressions/template.h"
#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {
namespace {

using Kind = Node::Kind;
using Kinds = std::vector<const Mapping*>;

/// The names of the kinds, joined: `steep or stevora`, `direktiv, steep or temporal`.
std::string names_of(const Kinds& kinds, std::string_view format = "{}") {
  std::string names;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view before = i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ";
    names += before;
    names += fmt::format(fmt::runtime(format), kinds[i]->types[0]);
  }
  return names;
}

std::span<const RetryKey> retry_keys_of(const Mapping& kind) {
  const std::optional<Vocabulary> vocabulary = vocabulary_named(kind.types[0]);
  return vocabulary ? retry_vocabulary(*vocabulary).keys : std::span<const RetryKey>();
}

/// The key with that name; nullptr: the kind has none.
const RetryKey* retry_key_named(const Mapping& kind, std::string_view name) {
  const auto keys = retry_keys_of(kind);
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const RetryKey& key) {
    return key.name == name || key.spelling == name;
  });
  return found == keys.end() ? nullptr : &*found;
}

/// The key that sets that part of a policy; nullptr: the kind has none.
const RetryKey* retry_key_for(const Mapping& kind, RetryKey::Part part) {
  const auto keys = retry_keys_of(kind);
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const RetryKey& key) { return key.part == part; });
  return found == keys.end() ? nullptr : &*found;
}

/// A key as advice shows it: "`max_attempts` (without the first attempt)".
std::string shown_key(const Mapping& kind, const RetryKey& key) {
  const std::optional<Vocabulary> vocabulary = vocabulary_named(kind.types[0]);
  const bool is_less = key.part == RetryKey::Part::kAttempts && vocabulary &&
                       retry_vocabulary(*vocabulary).uncounted > 0;
  return fmt::format("`{}`{}", key.name, is_less ? " (without the first attempt)" : "");
}

/// Determines the vocabulary of a policy that is a mapping.
class Chooser {
 public:
  Chooser(const Member& member, const std::string& path, Findings& findings)
      : member_(member), path_(path), findings_(findings) {}

  /// The vocabulary; nullptr, with a finding, if it cannot be determined.
  const Mapping* choose() {
    if (const Member* const word = member_.value.find("vocabulary")) return chosen_by(*word);
    for (const Member& one : member_.value.members) {
      Kinds left = kinds_with(kinds_, grammar_, one.key);
      if (left.empty()) return refuse_mix(one);
      kinds_ = std::move(left);
    }
    if (kinds_.size() == 1) return kinds_.front();
    const auto stevora = std::find(kinds_.begin(), kinds_.end(), grammar_.kind("stevora"));
    if (member_.key == "retry" && stevora != kinds_.end()) return *stevora;
    report_unknown_keys();
    findings_.error("definition.vocabulary", path_, member_.value.at,
                    fmt::format("the keys of this policy fit several vocabularies: {}; add {}",
                                names_of(kinds_), names_of(kinds_, "`vocabulary: {}`")));
    return nullptr;
  }

 private:
  const Mapping* chosen_by(const Member& word) {
    const Mapping* const kind = grammar_.kind(word.value.text);
    if (kind == nullptr && word.value.kind != Kind::kBroken) {
      const bool is_zart = word.value.text == retry_vocabulary(Vocabulary::kZart).name;
      findings_.error(
          "definition.value", path_of(path_, word.key), word.value.at,
          is_zart
              ? "Zart's policy is not a mapping; write a string such as \"fixed(3, 1s)\""
              : fmt::format("vocabulary is {}; write {}", described(word.value), names_of(kinds_)));
    }
    return kind;
  }

  static std::string described(const Node& node) {
    return node.kind == Kind::kString ? in_quotes(node.text) : std::string(describe(node));
  }

  const Mapping* refuse_mix(const Member& member) {
    report_unknown_keys();
    const Kinds all(grammar_.kinds.begin(), grammar_.kinds.end());
    const Kinds others = kinds_with(all, grammar_, member.key);
    findings_.error("definition.vocabulary", path_of(path_, member.key), member.at,
                    fmt::format("{} is a key of {}, but the keys before it are of {}; {}",
                                in_quotes(member.key), names_of(others), names_of(kinds_),
                                advice_on_mix(member, *others.front())));
    return nullptr;
  }

  /// What to write, if `member` is a key of the kind `other` and the keys before it are of kinds_.
  std::string advice_on_mix(const Member& member, const Mapping& other) const {
    const RetryKey* const key = retry_key_named(other, member.key);
    if (key == nullptr) return "write keys of one vocabulary only";
    std::string same;
    for (const Mapping* kind : kinds_) {
      const RetryKey* const one = retry_key_for(*kind, key->part);
      if (one == nullptr) continue;
      if (member_.value.find(one->name) != nullptr) {
        return fmt::format("remove it: `{}` sets the same", one->name);
      }
      same += fmt::format("{}{}", same.empty() ? "" : " or ", shown_key(*kind, *one));
      if (kinds_.size() > 1) same += fmt::format(" ({})", kind->types[0]);
    }
    if (!same.empty()) return fmt::format("write {} in its place", same);
    return fmt::format("no key of theirs sets the same, so write keys of {} only: {}",
                       other.types[0], keys_instead(member, other));
  }

  /// What to write in place of the keys before `end`, if all keys are to be of that kind.
  std::string keys_instead(const Member& end, const Mapping& kind) const {
    std::string keys;
    for (const Member& one : member_.value.members) {
      if (&one == &end) break;
      const RetryKey* const own = retry_key_named(*kinds_.front(), one.key);
      const RetryKey* const same = own == nullptr ? nullptr : retry_key_for(kind, own->part);
      if (own == nullptr || (same != nullptr && same->name == one.key)) continue;
      keys += fmt::format("{}{} in place of `{}`", keys.empty() ? "" : ", ",
                          same == nullptr ? "no key" : shown_key(kind, *same), own->name);
    }
    return keys;
  }

  /// Reports keys that no vocabulary has. Such a key can be the reason why no vocabulary could be
  /// chosen.
  void report_unknown_keys() {
    std::vector<std::string_view> known;
    for (const Mapping* kind : grammar_.kinds) {
      for (const KeyRule* key : kind->keys()) {
        for (const std::string_view name : key->names()) known.push_back(name);
      }
    }
    for (const Member& one : member_.value.members) {
      if (std::find(known.begin(), known.end(), one.key) != known.end()) continue;
      findings_.error("definition.unknown_key", path_of(path_, one.key), one.at,
                      fmt::format("{} is not a known key here{}", in_quotes(one.key),
                                  did_you_mean(one.key, known)));
    }
  }

  const Member& member_;
  const std::string& path_;
  Findings& findings_;
  const Mapping& grammar_ = retry_grammar();
  Kinds kinds_{grammar_.kinds.begin(), grammar_.kinds.end()};
};

std::vector<CodePattern> read_patterns(Fields& fields, std::string_view key) {
  std::vector<CodePattern> patterns;
  fields.sequence(key, [&](const Node& node, const std::string& path) {
    if (node.kind == Kind::kBroken) return;
    if (node.kind != Kind::kString) {
      fields.findings().error("definition.type", path, node.at,
                              fmt::format("this is {}; write a pattern", describe(node)));
      return;
    }
    Result<CodePattern> pattern = CodePattern::compile(node.text);
    if (pattern) {
      patterns.push_back(std::move(*pattern));
    } else {
      fields.findings().error(pattern.error().code, path, node.at, pattern.error().message);
    }
  });
  const Node* const list = fields.node(key);
  if (list != nullptr && list->kind == Kind::kSequence && list->items.empty()) {
    fields.report(key, "definition.empty",
                  "with an empty list no error is retried; write the codes, or `*` for all");
  }
  return patterns;
}

std::optional<Span> read_span(Fields& fields, const RetryKey& key) {
  if (key.unit != RetryKey::Unit::kMilliseconds) return fields.duration(key.name);
  const std::optional<int64_t> count = fields.integer(key.name);
  if (!count) return std::nullopt;
  return Span{.fixed = Duration(*count), .text = fmt::format("{}ms", *count)};
}

/// The template of a `delay` that has jq(…) in it. nullopt after a finding.
std::optional<Template> read_delay_template(Fields& fields, std::string_view key) {
  Result<Template> value = Template::literal_or_jq(fields.node(key)->text, Template::Dot::kLiteral);
  if (!value) {
    fields.report(key, value.error().code, value.error().message);
    return std::nullopt;
  }
  const auto programs = value->programs();
  if (value->names_instance()) {
    fields.report(
        key, "definition.value",
        "the jq program of a `delay` sees the data and `.error`, but not $instance; write "
        "what it needs into the data in a transform before this state");
    return std::nullopt;
  }
  const auto slow = std::find_if(programs.begin(), programs.end(),
                                 [](const Program& one) { return one.fast == nullptr; });
  if (slow == programs.end()) return std::move(*value);
  fields.report(
      key, "definition.value",
      fmt::format("{} is not a simple jq program, and a failed attempt cannot wait for a jq "
                  "worker; write a path such as jq(.wait // \"PT10S\"), and compute the "
                  "value in a transform before this state",
                  in_quotes(slow->text)));
  return std::nullopt;
}

/// Reads a `delay`, which may have jq(…) in it.
void read_delay(Fields& fields, const RetryKey& key, RetryJq jq, WrittenRetry& written) {
  if (jq == RetryJq::kHere && fields.has_jq(key.name)) {
    written.delay_template = read_delay_template(fields, key.name);
  } else {
    written.delay = read_span(fields, key);
  }
}

RetryPolicy read_policy(Vocabulary vocabulary, Fields& fields, RetryJq jq) {
  WrittenRetry written;
  for (const RetryKey& key : retry_vocabulary(vocabulary).keys) {
    switch (key.part) {
      case RetryKey::Part::kAttempts:
        written.attempts = fields.integer(key.name);
        break;
      case RetryKey::Part::kDelay:
        read_delay(fields, key, jq, written);
        break;
      case RetryKey::Part::kFactor:
        written.factor = fields.number(key.name);
        break;
      case RetryKey::Part::kMaxDelay:
        written.max_delay = read_span(fields, key);
        break;
      case RetryKey::Part::kOnly:
        written.only = read_patterns(fields, key.name);
        break;
      case RetryKey::Part::kNever:
        written.never = fields.strings(key.name);
        break;
    }
  }
  return retry_policy(vocabulary, std::move(written));
}

Timeout read_timeout(Fields& fields, const TimeoutKey& key) {
  Timeout timeout{.expiry = key.expiry};
  if (key.vocabulary != Vocabulary::kSteep) {
    timeout.span = fields.duration(key.name).value_or(Span{});
    return timeout;
  }
  bool is_error = false;
  const Node* const node = fields.node(key.name);
  if (node != nullptr && node->kind == Kind::kMapping) {
    fields.object(key.name, [&](Fields& nested) {
      timeout.span = nested.required_duration("timeout").value_or(Span{});
      is_error = nested.boolean("errorOnTimeout").value_or(false);
    });
  } else {
    timeout.span = fields.duration(key.name).value_or(Span{});
  }
  if (!is_error) timeout.expiry = Timeout::Expiry::kCancels;
  return timeout;
}

/// The kind of timeout that Zart's `timeout` sets.
TimeoutKind read_scope(Fields& fields) {
  static_assert(kTimeoutScopes.size() == 2);
  constexpr const auto& kScopes = kTimeoutScopes;
  return fields
      .one_of<TimeoutKind>("timeout_scope",
                           {{kScopes[0].word, kScopes[0].kind}, {kScopes[1].word, kScopes[1].kind}})
      .value_or(kScopes[0].kind);
}

}  // namespace

std::optional<WrittenPolicy> read_retries(const Member& member, const std::string& path,
                                          Findings& findings, RetryJq jq) {
  const Node& node = member.value;
  if (node.kind == Kind::kBroken) return std::nullopt;
  if (node.kind == Kind::kString) {
    Result<RetryPolicy> policy = parse_retry_text(node.text);
    if (policy) return WrittenPolicy{Vocabulary::kZart, std::move(*policy)};
    findings.error(policy.error().code, path, node.at, policy.error().message);
    return std::nullopt;
  }
  if (node.kind != Kind::kMapping) {
    findings.error("definition.type", path, node.at,
                   fmt::format("{} is {}; write a mapping, or a string such as \"fixed(3, 1s)\"",
                               member.key, describe(node)));
    return std::nullopt;
  }
  const Mapping* const kind = Chooser(member, path, findings).choose();
  if (kind == nullptr) return std::nullopt;
  Fields fields(node, path, findings, retry_grammar(), kind);
  fields.has("vocabulary");
  const Vocabulary vocabulary = *vocabulary_named(kind->types[0]);
  return WrittenPolicy{vocabulary, read_policy(vocabulary, fields, jq)};
}

std::optional<RetryPolicy> read_retries(Fields& fields, RetryJq jq) {
  const Member* const member = fields.member("retries");
  if (member == nullptr) return std::nullopt;
  auto written = read_retries(*member, fields.path("retries"), fields.findings(), jq);
  if (!written) return std::nullopt;
  return std::move(written->policy);
}

std::string same_timeout(std::string_view first, Vocabulary of_first, std::string_view second,
                         Vocabulary of_second) {
  return fmt::format("{} ({}) and {} ({}) set the same timeout; write one of them",
                     in_quotes(first), retry_vocabulary(of_first).name, in_quotes(second),
                     retry_vocabulary(of_second).name);
}

WrittenTimeouts read_timeouts(Fields& fields) {
  WrittenTimeouts written;
  for (const TimeoutKey& key : kActionTimeouts) {
    if (!fields.has(key.name)) continue;
    const Timeout timeout = read_timeout(fields, key);
    const TimeoutKind kind = key.vocabulary == Vocabulary::kZart ? read_scope(fields) : key.kind;
    const TimeoutKey*& first = written.keys[static_cast<size_t>(kind)];
    if (first == nullptr) {
      first = &key;
      written.policy[kind] = timeout;
      continue;
    }
    fields.report(key.name, "definition.both_keys",
                  same_timeout(first->name, first->vocabulary, key.name, key.vocabulary));
  }
  if (fields.has("timeout_scope") && !fields.has("timeout")) {
    fields.report(
        "timeout_scope", "definition.not_here",
        "timeout_scope has no effect without `timeout`; add `timeout` or remove this key");
  }
  return written;
}

namespace {

/// The first finding, as an error for a function that can return only one. Where nothing could be
/// evaluated, jq(…) is a text like any other that is not a duration.
Error first_error(const Findings& findings) {
  Finding first = findings.sorted().front();
  if (first.code == "definition.jq_not_here") first.code = "duration.malformed";
  return {first.code,
          first.path.empty() ? first.message : fmt::format("{}: {}", first.path, first.message)};
}

}  // namespace

Result<ServicePolicy> read_service_policy(std::string_view json) {
  Findings findings;
  ServicePolicy policy;
  const std::optional<Node> document = parse_document(json, findings);
  if (document) {
    Fields fields(*document, "", findings, service_grammar());
    policy.retries = read_retries(fields, RetryJq::kNotHere);
    policy.timeouts = read_timeouts(fields);
    const TimeoutKey* const key = policy.timeouts.key_of(Vocabulary::kTemporal);
    const TimeoutPolicy& timeouts = policy.timeouts.policy;
    if (key != nullptr && !timeouts[TimeoutKind::kStartToClose] &&
        !timeouts[TimeoutKind::kScheduleToClose]) {
      fields.report(key->name, "definition.missing",
                    fmt::format("with a {} the service needs a startToCloseTimeout or a "
                                "scheduleToCloseTimeout",
                                key->name));
    }
  }
  if (findings.has_errors()) return tl::unexpected(first_error(findings));
  return policy;
}

Result<RetryPolicy> read_retry_policy(std::string_view json) {
  Findings findings;
  std::optional<Node> document = parse_document(json, findings);
  if (document) {
    const Member member{.key = "retries", .value = std::move(*document)};
    auto written = read_retries(member, "", findings, RetryJq::kNotHere);
    if (written && !findings.has_errors()) {
      if (written->policy.attempts != 0U) return std::move(written->policy);
      return fail("definition.value", "with 0 attempts there would be no run; write at least 1");
    }
  }
  CHECK(findings.has_errors(), "a policy could not be read, but there is no finding");
  return tl::unexpected(first_error(findings));
}

Result<Span> read_timeout(std::string_view text) {
  Span span = TRY(Span::parse(text));
  if (span.is_zero()) {
    return fail("duration.zero", fmt::format("{} is zero; it must be longer", in_quotes(text)));
  }
  return span;
}

}  // namespace millrace
