#include "orchestrator/definition/lint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "cloudevents/headers.h"
#include "expressions/evaluation.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "language/grammar.h"
#include "language/policy_fields.h"
#include "language/walk.h"
#include "orchestrator/definition/call_limits.h"
#include "orchestrator/definition/lint_call_keys.h"
#include "orchestrator/definition/lint_calls.h"
#include "orchestrator/definition/lint_compensations.h"
#include "orchestrator/definition/lint_errors.h"
#include "orchestrator/definition/lint_events.h"
#include "orchestrator/definition/lint_graph.h"
#include "orchestrator/definition/lint_idle.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/lint_own_calls.h"
#include "orchestrator/definition/lint_queries.h"
#include "orchestrator/definition/lint_retries.h"
#include "orchestrator/definition/lint_starts.h"
#include "orchestrator/definition/lint_timeouts.h"
#include "policies/cron.h"
#include "policies/duration.h"
#include "policies/unit_advice.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

/// The jq program in the value of a key that accepts `PROGRAM` and `jq(PROGRAM)` alike.
std::string_view program_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("jq(") && text.ends_with(')')) {
    text = trimmed(text.substr(3, text.size() - 4));
  }
  return text;
}

/// The event filter of an entry of `events`: the type, and each context attribute as `name=value`,
/// with the name in lower case and the value as JSON.
struct Listening {
  std::string type;
  std::set<std::string> attributes;
};

Listening listening(const Node& entry) {
  const Node* const event = value_of(entry, "event");
  const Node& node = event == nullptr ? entry : *event;
  Listening out{.type = text_of(node, "type"), .attributes = {}};
  for (const std::string_view key : {"context", "filters"}) {
    const Node* const patterns = value_of(node, key);
    if (patterns == nullptr) continue;
    for (const Member& member : patterns->members) {
      out.attributes.insert(to_lower(member.key) + "=" + dump_json(to_json(member.value)));
    }
  }
  return out;
}

/// A duration as text, in the largest unit of which it is a whole number: `1s`, `1500ms`, `90m`.
std::string short_text(double milliseconds) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}};
  for (const auto& [size, unit] : kUnits) {
    if (milliseconds >= size && std::fmod(milliseconds, size) == 0) {
      return fmt::format("{:.0f}{}", milliseconds / size, unit);
    }
  }
  return fmt::format("{:.0f}ms", milliseconds);
}

/// The first few waits between the attempts of a policy, as text: `, after waits of 1s, 2s, 4s`.
std::string waits_text(const RetryPolicy& policy) {
  if (policy.has_evaluated_delay()) return ", after waits that jq decides at each failure";
  if (policy.delay.is_zero()) return ", without waits";
  if (policy.delay.months > 0) {
    return fmt::format(", the first wait being {}", policy.delay.text);
  }
  constexpr uint32_t kShown = 4;
  std::string waits;
  for (uint32_t attempt = 1; attempt <= kShown && policy.allows_after(attempt); ++attempt) {
    const Duration wait = policy.next_at(attempt, TimePoint{}) - TimePoint{};
    waits += (attempt == 1 ? "" : ", ") + short_text(static_cast<double>(wait.count()));
  }
  const std::string less =
      policy.jitter > 0 ? fmt::format(", each up to {:.0f}% shorter", policy.jitter * 100) : "";
  return fmt::format(", after waits of {}{}{}", waits, policy.allows_after(kShown + 1) ? ", …" : "",
                     less);
}

/// The number of attempts of a policy and their waits, as text.
std::string attempts_text(const RetryPolicy& policy) {
  if (!policy.attempts) {
    const std::string until =
        policy.window ? fmt::format(" for {} years", policy.window->months / 12) : " without end";
    return "attempts" + until + waits_text(policy);
  }
  if (*policy.attempts == 0) return "no attempt at all: the action is skipped";
  if (*policy.attempts == 1) return "one attempt only";
  return fmt::format("up to {} attempts in all{}", *policy.attempts, waits_text(policy));
}

/// A timeout in Temporal's vocabulary that the call or its function has; null if none has one.
const Member* temporal_timeout_of(const Node& call, const Node& function) {
  for (const Node* const node : {&call, &function}) {
    for (const TimeoutKey& key : kActionTimeouts) {
      if (key.vocabulary != Vocabulary::kTemporal) continue;
      if (const Member* const member = node->find(key.name); member != nullptr) return member;
    }
  }
  return nullptr;
}

class Linter {
 public:
  Linter(const Node& document, Findings& findings, const LintContext& context)
      : document_(document), findings_(findings), context_(context) {}

  void run() {
    if (context_.loads) {
      check_ways();
      check_unused("functions", Kind::kFunction, "no action calls this function",
                   "remove it, or name it in the `function` of an action");
      check_unused("schemas", Kind::kSchemaOrId, "no state refers to this schema",
                   "remove it, or name it in the `schema` of a validate state");
    }
    check_start();
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) check_state(states[i], path_of("states", i));
    walk(document_, workflow_grammar(), "", [&](const Place& place) { check_place(place); });
    note_default_attempts();
    lint_queries(document_, findings_);
    lint_calls(document_, context_.names_service, context_.has_workers, context_.is_unserved,
               findings_);
    lint_own_calls(document_, findings_);
    lint_limits(document_, context_.limits_beside, findings_);
    lint_calls_beside(document_, context_.limits_beside, findings_);
    lint_errors(document_, context_.loads, findings_);
    lint_events(document_, context_.makes_type, findings_);
    lint_timeouts(document_, context_.loads, findings_);
    lint_retries(document_, findings_);
    lint_idle(document_, context_.loads, findings_);
    lint_compensations(document_, context_.loads, findings_);
    lint_starts(document_, findings_);
    lint_call_keys(document_, findings_);
  }

 private:
  // The states and their transitions.

  void check_ways() {
    const StateGraph graph = state_graph(document_);
    const std::vector<bool> reached = reachable(graph);
    const std::vector<bool> leads_out = leading_out(graph);
    std::vector<size_t> trapped;
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (!reached[i]) {
        findings_.warning("lint.unreachable", path_of(path_of("states", i), "id"),
                          graph.states[i].at, "nothing leads to this state",
                          "remove it, or name it in a `transition`");
      } else if (!leads_out[i]) {
        trapped.push_back(i);
      }
    }
    if (trapped.empty()) return;
    constexpr size_t kShown = 5;
    std::string names;
    for (size_t i = 0; i < std::min(trapped.size(), kShown); ++i) {
      names += (i == 0 ? "" : ", ") + in_quotes(graph.states[trapped[i]].id);
    }
    if (trapped.size() > kShown) names += ", …";
    findings_.warning(
        "lint.never_ends", path_of(path_of("states", trapped.front()), "id"),
        graph.states[trapped.front()].at,
        fmt::format(
            "an instance that enters this state never ends and never waits; it loops through {}",
            names),
        "remove a `transition` of these states, or write one that leads to another state");
  }

  void check_start() {
    const Node* const start = value_of(document_, "start");
    if (start == nullptr) return;
    if (text_of(*start, "type") == "scheduled" && trimmed(text_of(*start, "cron")).empty()) {
      findings_.warning("lint.never_starts", "start", start->at,
                        "without `cron` the schedule never starts an instance",
                        "write `cron`, such as cron: '@hourly'");
    }
    if (context_.now) note_ticks(*start, *context_.now);
    const Mapping& kind = kind_of(*start, *workflow_grammar().find("start")->object);
    if (kind.types[0] == "eventsXor")
      check_alternatives(items_of(*start, "events"), "start.events");
  }

  void note_ticks(const Node& start, TimePoint now) {
    const Node* const text = value_of(start, "cron");
    if (text == nullptr) return;
    const Result<Cron> cron = Cron::parse(text->text);
    if (!cron) return;
    constexpr int kShown = 5;
    std::string ticks;
    for (int i = 0; i < kShown; ++i) {
      now = cron->next(now);
      ticks += (i == 0 ? "" : ", ") + format_rfc3339(now);
    }
    findings_.fact("lint.ticks", "start.cron", text->at,
                   "the next ticks of this schedule are " + ticks);
  }

  /// Warns about entries of the list `list` whose id no key of the kind `kind` names.
  void check_unused(std::string_view list, Kind kind, std::string_view doubt,
                    const std::string& mend) {
    std::set<std::string> used;
    walk(document_, workflow_grammar(), "", [&](const Place& place) {
      if (place.rule.kind == kind) used.insert(place.member.value.text);
    });
    const std::vector<Node>& items = items_of(document_, list);
    for (size_t i = 0; i < items.size(); ++i) {
      const Node* const id = value_of(items[i], "id");
      if (id == nullptr || used.count(id->text) > 0) continue;
      findings_.warning("lint.unused", path_of(path_of(list, i), "id"), id->at, doubt, mend);
    }
  }

  // Checks of one state.

  void check_state(const Node& state, const std::string& path) {
    const Mapping& type = kind_of(state, state_grammar());
    if (type.types[0] == "eventXor") {
      check_alternatives(items_of(state, "events"), path_of(path, "events"));
    }
    if (type.types[0] == "switch") check_conditions(state, path);
  }

  /// Finds entries that can never be chosen because of an earlier entry: of the entries that match
  /// an event, the first is chosen.
  void check_alternatives(const std::vector<Node>& entries, const std::string& path) {
    std::vector<Listening> before;
    for (size_t i = 0; i < entries.size(); ++i) {
      Listening one = listening(entries[i]);
      for (size_t j = 0; j < before.size(); ++j) {
        const Listening& first = before[j];
        if (first.type != one.type ||
            !std::includes(one.attributes.begin(), one.attributes.end(), first.attributes.begin(),
                           first.attributes.end())) {
          continue;
        }
        findings_.warning(
            "lint.event_hidden", path_of(path, i), entries[i].at,
            fmt::format("this entry is never chosen: entry {} matches all of its events", j),
            first.attributes.size() < one.attributes.size()
                ? fmt::format("move this entry before entry {}", j)
                : "remove this entry, or write a `context` that only its events match");
        break;
      }
      if (before.size() < kComparedEntries) before.push_back(std::move(one));
    }
  }

  void check_conditions(const Node& state, const std::string& path) {
    const std::vector<Node>& entries = items_of(state, "conditions");
    std::map<std::string, size_t> before;
    std::optional<size_t> always;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Node* const condition = value_of(entries[i], "condition");
      if (condition == nullptr) continue;
      const std::string place = path_of(path_of(path_of(path, "conditions"), i), "condition");
      const std::string program = condition->kind == Node::Kind::kString
                                      ? std::string(program_of(condition->text))
                                      : dump_json(to_json(*condition));
      const auto [first, is_new] = before.emplace(program, i);
      if (always) {
        findings_.warning(
            "lint.condition_hidden", place, condition->at,
            fmt::format("this condition is never evaluated: condition {} is always true", *always),
            fmt::format("move this condition before condition {}, or remove it", *always));
        continue;
      }
      if (!is_new) {
        findings_.warning(
            "lint.condition_hidden", place, condition->at,
            fmt::format("this condition is never the first that is true: condition {} is the same",
                        first->second),
            "remove it, or write another condition");
        continue;
      }
      if (truth_of(*condition, place) == true) always = i;
    }
    if (!always) return;
    for (const char* key : {"defaultTransition", "defaultTransform", "defaultContinueAsNew"}) {
      const Node* const node = value_of(state, key);
      if (node == nullptr) continue;
      findings_.warning("lint.condition_hidden", path_of(path, key), node->at,
                        fmt::format("this key is never used: condition {} is always true", *always),
                        fmt::format("remove this key, or write a condition {} that reads the data, "
                                    "such as jq(.amount > 3)",
                                    *always));
    }
  }

  /// Whether the condition is always true or always false; nullopt: it depends on the data. Reports
  /// a condition that is probably constant by mistake.
  std::optional<bool> truth_of(const Node& condition, const std::string& path) {
    const auto value = Template::query(to_json(condition));
    if (!value) return std::nullopt;
    const ProgramFacts facts = facts_of(*value);
    if (facts.value && !is_true(*facts.value)) {
      findings_.warning("lint.condition_never", path, condition.at,
                        fmt::format("this condition is never true: it yields {}, for any data",
                                    dump_json(*facts.value)),
                        "write a condition that reads the data, such as jq(.amount > 3), or remove "
                        "this entry");
      return false;
    }
    if (facts.value) return true;
    const auto& parts = value->parts();
    const bool has_text = value->whole() == nullptr &&
                          std::any_of(parts.begin(), parts.end(), [](const Template::Part& part) {
                            return !part.literal.empty();
                          });
    if (!has_text) return std::nullopt;
    findings_.warning("lint.condition_always", path, condition.at,
                      "this condition is always true: it is a string that contains the results of "
                      "jq(…) and is not empty",
                      "write one jq(…) around the whole condition");
    return true;
  }

  // Checks of one key, at any place.

  void note_attempts(const Place& place) {
    Findings none;  // the loader has reported these findings
    const auto written = read_retries(place.member, place.path, none);
    if (!written || none.has_errors()) return;
    const bool counts_after_first = written->vocabulary == Vocabulary::kDirektiv;
    findings_.fact("lint.attempts", place.path, place.member.at,
                   fmt::format("{}: {}{}", retry_vocabulary(written->vocabulary).name,
                               attempts_text(written->policy),
                               counts_after_first && written->policy.attempts == 1U
                                   ? ": max_attempts counts the attempts after the first"
                                   : ""));
  }

  /// Notes the attempts of each call that has no written retry policy, but one of Temporal's
  /// timeouts: it has Temporal's default policy.
  void note_default_attempts() {
    for (const ActionSite& site : actions_of(document_)) {
      if (site.function == nullptr || find_retries(*site.state) != nullptr) continue;
      note_default_attempts(*site.action, *site.function, site.path);
    }
    for (const CompensationSite& site : compensations_of(document_)) {
      note_default_attempts(*site.call, *site.function, site.path);
    }
  }

  void note_default_attempts(const Node& call, const Node& function, const std::string& path) {
    if (find_retries(call) != nullptr || find_retries(function) != nullptr) return;
    const Member* const timeout = temporal_timeout_of(call, function);
    if (timeout == nullptr) return;
    findings_.fact(
        "lint.attempts", path_of(path, "function"), call.find("function")->value.at,
        fmt::format("temporal, by default because of `{}`: {}; with `retries: "
                    "{{maximumAttempts: 1}}` there is one attempt",
                    timeout->key, attempts_text(*default_policy(Vocabulary::kTemporal))));
  }

  void check_place(const Place& place) {
    if (place.rule.object == &retry_grammar()) note_attempts(place);
    const Node& value = place.member.value;
    if (place.rule.kind == Kind::kDuration || place.rule.instead == Kind::kDuration) {
      report_unit(value, place.path, advice_on_unit(value.text));
    }
    if (place.rule.object == &retry_grammar() && value.kind == Node::Kind::kString) {
      report_unit(value, place.path, advice_on_unit_of_fixed(value.text));
    }
    if (place.rule.kind == Kind::kCron && trimmed(value.text).starts_with("@every")) {
      report_unit(value, place.path, advice_on_unit(value.text));
    }
    if (place.rule.is("scale") && type_of_function(place.mapping) == "container") {
      findings_.note("lint.scale", place.path, place.member.at,
                     "`scale` has no effect: this type starts a new container for each call",
                     "remove `scale`, or write `type: container-pool`");
    }
  }

  /// Reports a duration that is a number without a unit: the number means milliseconds, but the
  /// author may have meant seconds.
  void report_unit(const Node& value, const std::string& path,
                   const std::optional<UnitAdvice>& advice) {
    if (!advice) return;
    if (value.kind == Node::Kind::kString) {
      findings_.warning("lint.unit", path, value.at, advice->doubt, advice->mend);
    } else {
      findings_.note("lint.unit", path, value.at, advice->doubt, advice->mend);
    }
  }

  const Node& document_;
  Findings& findings_;
  const LintContext& context_;
};

/// A copy of the document without the scalars at `paths`: a key is removed with its scalar, and an
/// item of a list becomes null, so that the other items keep their indexes.
Node without_scalars(const Node& node, const std::set<std::string>& paths,
                     const std::string& path) {
  Node out = node;
  out.items.clear();
  out.members.clear();
  const auto is_out = [&](const Node& value, const std::string& at) {
    return value.items.empty() && value.members.empty() && paths.count(at) > 0;
  };
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string at = path_of(path, i);
    out.items.push_back(is_out(node.items[i], at) ? Node{.at = node.items[i].at}
                                                  : without_scalars(node.items[i], paths, at));
  }
  for (const Member& member : node.members) {
    const std::string at = path_of(path, member.key);
    if (is_out(member.value, at)) continue;
    out.members.push_back({member.key, member.at, without_scalars(member.value, paths, at)});
  }
  return out;
}

/// Adds the lint findings of a definition with errors, at places that have no finding yet. A value
/// with an error must not cause a lint finding, neither by its text nor because it is left out. So
/// a finding is added only if lint finds it both with these values and without them.
void lint_beside_errors(const Node& document, Findings& findings, LintContext context) {
  context.loads = false;
  std::set<std::string> reported;
  std::set<std::string> refused;
  for (const Finding& one : findings.sorted()) {
    reported.insert(one.path);
    if (one.severity == Severity::kError) refused.insert(one.path);
  }
  Findings with;
  lint(document, with, context);
  Findings without;
  lint(without_scalars(document, refused, ""), without, context);
  std::set<std::tuple<std::string, std::string, std::string>> certain;
  for (Finding& one : without.sorted()) certain.emplace(one.code, one.path, one.message);
  for (Finding& one : with.sorted()) {
    if (reported.count(one.path) > 0) continue;
    if (certain.count({one.code, one.path, one.message}) > 0) findings.add(std::move(one));
  }
}

}  // namespace

void lint(const Node& document, Findings& findings, const LintContext& context) {
  Linter(document, findings, context).run();
}

Loaded load_and_lint(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas, const LintContext& context) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (!document) return {.workflow = nullptr, .findings = std::move(findings)};
  Loaded loaded = load_workflow(*document, std::move(findings), check, check_schemas);
  if (loaded.workflow) {
    lint(*document, loaded.findings, context);
  } else {
    lint_beside_errors(*document, loaded.findings, context);
  }
  return loaded;
}

}  // namespace millrace
