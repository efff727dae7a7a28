#include "orchestrator/definition/lint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "expressions/evaluation.h"
#include "matchers/never_matches.h"
#include "matchers/pattern.h"
#include "model/grammar.h"
#include "model/policy_fields.h"
#include "model/walk.h"
#include "orchestrator/definition/lint_graph.h"
#include "policies/cron.h"
#include "policies/duration.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

/// With how many earlier entries of the same list one is compared: a text of 1 MiB has room for
/// thousands of them.
constexpr size_t kComparedEntries = 100;

bool has_jq(std::string_view text) { return text.find("jq(") != std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The program of a field whose bare string is one.
std::string_view program_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("jq(") && text.ends_with(')')) {
    text = trimmed(text.substr(3, text.size() - 4));
  }
  return text;
}

const Node* value_of(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  return member == nullptr ? nullptr : &member->value;
}

std::string text_of(const Node& node, std::string_view key) {
  const Node* const value = value_of(node, key);
  return value == nullptr ? "" : value->text;
}

const std::vector<Node>& items_of(const Node& node, std::string_view key) {
  static const std::vector<Node> none;
  const Node* const value = value_of(node, key);
  return value == nullptr ? none : value->items;
}

/// Whether every code that `narrow` matches is matched by `wide` too. A `*` in `narrow` may stand
/// for what only a `*` of `wide` takes.
bool covers(std::string_view wide, std::string_view narrow) {
  std::vector<bool> row(narrow.size() + 1, false);  // wide so far takes narrow up to here
  row[0] = true;
  for (const char w : wide) {
    std::vector<bool> next(narrow.size() + 1, false);
    next[0] = w == '*' && row[0];
    for (size_t n = 0; n < narrow.size(); ++n) {
      const char c = narrow[n];
      if (w == '*') {
        next[n + 1] = row[n + 1] || next[n];
      } else {
        next[n + 1] = row[n] && (w == c || (w == '?' && c != '*'));
      }
    }
    row = std::move(next);
  }
  return row.back();
}

/// An event that is right but for the attribute, which has this text.
Event event_with(const std::string& name, const std::string& text) {
  Event event{.id = "1", .source = "/", .type = "t"};
  if (name == "id") {
    event.id = text;
  } else if (name == "source") {
    event.source = text;
  } else if (name == "subject") {
    event.subject = text;
  } else if (name == "time") {
    event.time = text;
  } else if (name == "datacontenttype") {
    event.datacontenttype = text;
  } else if (name == "dataschema") {
    event.dataschema = text;
  } else {
    event.extensions[name] = text;
  }
  return event;
}

/// Why no event has an attribute that is this text; empty: one may.
std::string why_never_equal(const std::string& name, const std::string& text) {
  if (name == "specversion") return text == "1.0" ? "" : "the specversion of every event is 1.0";
  const Status valid = check_event(event_with(name, text));
  return valid ? "" : valid.error().message;
}

/// Why no event has an attribute that the pattern matches; empty: one may.
std::string why_never(const std::string& name, const std::string& text) {
  const auto pattern = Pattern::compile(text);
  const auto regex = parse_ecmascript(text);
  if (!pattern || !regex) return "";  // it has jq in it
  if (never_matches(regex->root)) return "the pattern matches no text at all";
  if (name == "specversion" && !(*pattern)->matches("1.0")) {
    return "the specversion of every event is 1.0";
  }
  const std::string& literal = (*pattern)->literal();
  switch ((*pattern)->kind()) {
    case Pattern::Kind::kEquals:
      return why_never_equal(name, literal);
    case Pattern::Kind::kPrefix:
    case Pattern::Kind::kSuffix:
    case Pattern::Kind::kContains:
      if (!is_attribute_string(literal)) return "no attribute holds a control character";
      if (name == "time" && literal.find_first_not_of("0123456789TtZz:.+- ") != std::string::npos) {
        return "a time is written as 2021-09-01T12:00:00Z";
      }
      return "";
    default:
      return "";
  }
}

/// What an entry of `events` listens for: its type, and its attributes as they are written.
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

/// `1s`, `1500ms`, `90m`.
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

/// The waits between the attempts, as far as anybody reads them: `, after waits of 1s, 2s, 4s`.
std::string waits_text(const RetryPolicy& policy) {
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

/// How often a policy tries, and when.
std::string attempts_text(const RetryPolicy& policy) {
  if (!policy.attempts) {
    const std::string until =
        policy.window ? fmt::format(" for {} years", policy.window->months / 12) : " without end";
    return "attempts" + until + waits_text(policy);
  }
  if (*policy.attempts == 0) return "no attempt at all: the action is passed over";
  if (*policy.attempts == 1) return "one attempt only";
  return fmt::format("up to {} attempts in all{}", *policy.attempts, waits_text(policy));
}

class Linter {
 public:
  Linter(const Node& document, Findings& findings, std::optional<TimePoint> now)
      : document_(document), findings_(findings), now_(now) {}

  void run() {
    check_ways();
    check_start();
    check_timeouts();
    check_unused("functions", Kind::kFunction, "no action calls it");
    check_unused("schemas", Kind::kSchemaOrId, "no state refers to it");
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) check_state(states[i], path_of("states", i));
    walk(document_, workflow_grammar(), "", [&](const Place& place) { check_place(place); });
  }

 private:
  // The states and the ways between them.

  void check_ways() {
    const StateGraph graph = state_graph(document_);
    const std::vector<bool> reached = reachable(graph);
    const std::vector<bool> leads_out = leading_out(graph);
    std::vector<size_t> trapped;
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (!reached[i]) {
        findings_.warning("lint.unreachable", path_of(path_of("states", i), "id"),
                          graph.states[i].at, "nothing leads to this state");
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
    findings_.warning("lint.never_ends", path_of(path_of("states", trapped.front()), "id"),
                      graph.states[trapped.front()].at,
                      fmt::format("an instance that comes here never ends and never waits; it goes "
                                  "round in {}",
                                  names));
  }

  void check_start() {
    const Node* const start = value_of(document_, "start");
    if (start == nullptr) return;
    if (text_of(*start, "type") == "scheduled" && trimmed(text_of(*start, "cron")).empty()) {
      findings_.warning("lint.never_starts", "start", start->at,
                        "without `cron` the schedule never starts an instance");
    }
    if (now_) note_ticks(*start, *now_);
    const Mapping& kind = kind_of(*start, *workflow_grammar().find("start")->object);
    if (kind.types[0] == "eventsXor")
      check_alternatives(items_of(*start, "events"), "start.events");
  }

  /// Of two timeouts that end the instance the shorter one leaves nothing to the longer one.
  void check_timeouts() {
    const auto span = [&](const Node* mapping, std::string_view key) {
      return mapping == nullptr ? nullptr : value_of(*mapping, key);
    };
    const Node* const timeouts = value_of(document_, "timeouts");
    const Node* const kill = span(timeouts, "kill");
    const Node* const run = span(&document_, "workflowRunTimeout");
    warn_of_never("timeouts.interrupt", span(timeouts, "interrupt"), "timeouts.kill", kill);
    warn_of_never("workflowRunTimeout", run, "timeouts.kill", kill);
    const Node* const start = value_of(document_, "start");
    const bool has_one_run = find_retries(document_) == nullptr &&
                             (start == nullptr || text_of(*start, "type") != "scheduled");
    for (const char* whole : {"workflowExecutionTimeout", "timeout"}) {
      const Node* const execution = span(&document_, whole);
      warn_of_never("workflowRunTimeout", run, whole, execution);
      if (has_one_run) warn_of_never(whole, execution, "timeouts.kill", kill);
    }
  }

  /// Where the timeout cannot be over before the other one is.
  void warn_of_never(const char* path, const Node* timeout, const char* other_path,
                     const Node* other) {
    if (timeout == nullptr || other == nullptr) return;
    const Result<Span> span = Span::parse(timeout->text);
    const Result<Span> bound = Span::parse(other->text);
    const TimePoint any{};
    if (!span || !bound || span->after(any) < bound->after(any)) return;
    findings_.warning(
        "lint.timeout_never", path, timeout->at,
        fmt::format("this has no effect: `{}` is over before, or at once", other_path));
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
    findings_.note("lint.ticks", "start.cron", text->at, "its next ticks are " + ticks);
  }

  /// Warns of what is defined in a list of the document and named by no key of that kind.
  void check_unused(std::string_view list, Kind kind, std::string_view what) {
    std::set<std::string> used;
    walk(document_, workflow_grammar(), "", [&](const Place& place) {
      if (place.rule.kind == kind) used.insert(place.member.value.text);
    });
    const std::vector<Node>& items = items_of(document_, list);
    for (size_t i = 0; i < items.size(); ++i) {
      const Node* const id = value_of(items[i], "id");
      if (id == nullptr || used.count(id->text) > 0) continue;
      findings_.warning("lint.unused", path_of(path_of(list, i), "id"), id->at, std::string(what));
    }
  }

  // One state.

  void check_state(const Node& state, const std::string& path) {
    check_catches(state, path);
    const Mapping& type = kind_of(state, state_grammar());
    if (type.types[0] == "eventXor") {
      check_alternatives(items_of(state, "events"), path_of(path, "events"));
    }
    if (type.types[0] == "switch") check_conditions(state, path);
    check_hidden_retries(state, path);
    walk(state, state_grammar(), path, [&](const Place& place) {
      if (place.rule.is("retries")) check_codes(place, items_of(state, "catch"));
    });
  }

  /// Those of a state are for actions that have none.
  void check_hidden_retries(const Node& state, const std::string& path) {
    const Member* const member = find_retries(state);
    if (member == nullptr) return;
    std::vector<const Node*> actions;
    for (const Node& one : items_of(state, "actions")) actions.push_back(&one);
    if (const Node* const one = value_of(state, "action")) actions.push_back(one);
    const auto has_own = [](const Node* action) { return find_retries(*action) != nullptr; };
    if (actions.empty() || !std::all_of(actions.begin(), actions.end(), has_own)) return;
    findings_.warning("lint.retry_hidden", path_of(path, member->key), member->at,
                      "nothing is tried again by this: every action has a policy of its own");
  }

  static const Member* find_retries(const Node& node) {
    const Member* const member = node.find("retries");
    return member == nullptr ? node.find("retry") : member;
  }

  void check_catches(const Node& state, const std::string& path) {
    const std::vector<Node>& entries = items_of(state, "catch");
    std::vector<std::string> before;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Node* const error = value_of(entries[i], "error");
      if (error == nullptr) continue;
      const std::string place = path_of(path_of(path_of(path, "catch"), i), "error");
      const auto wider = std::find_if(before.begin(), before.end(), [&](const std::string& one) {
        return covers(one, error->text);
      });
      if (wider != before.end()) {
        findings_.warning("lint.catch_hidden", place, error->at,
                          fmt::format("this entry catches nothing: {} before it catches the same",
                                      in_quotes(*wider)));
      } else if (error->text == "direktiv.stateTimeout" && value_of(state, "timeout") == nullptr) {
        findings_.warning("lint.catch_never", place, error->at,
                          "this state has no timeout that could end it");
      }
      if (before.size() < kComparedEntries) before.push_back(error->text);
    }
  }

  /// Of alternatives the first that matches an event is taken.
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
            fmt::format("this entry is never chosen: entry {} takes all of its events", j));
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
        findings_.warning("lint.condition_hidden", place, condition->at,
                          fmt::format("this is never asked: condition {} is always true", *always));
      } else if (!is_new) {
        findings_.warning(
            "lint.condition_hidden", place, condition->at,
            fmt::format("this is never the first that is true: condition {} is the same",
                        first->second));
      }
      if (!always && program == "true") always = i;
    }
  }

  /// In direktiv's vocabulary `catch` comes first.
  void check_codes(const Place& place, const std::vector<Node>& catches) {
    const Node& policy = place.member.value;
    const std::vector<Node>& codes = items_of(policy, "codes");
    for (size_t i = 0; i < codes.size(); ++i) {
      for (const Node& entry : catches) {
        const std::string glob = text_of(entry, "error");
        if (!catches_all_of(glob, codes[i].text)) continue;
        findings_.warning("lint.retry_hidden", path_of(path_of(place.path, "codes"), i),
                          codes[i].at,
                          fmt::format("this is never tried again: {} in `catch` takes it before",
                                      in_quotes(glob)));
        break;
      }
    }
  }

  /// Whether the glob takes every error that the pattern of a retry matches.
  static bool catches_all_of(const std::string& glob, const std::string& code) {
    if (covers(glob, "*")) return true;
    const auto pattern = Pattern::compile(code);
    return code != "*" && pattern && (*pattern)->kind() == Pattern::Kind::kEquals &&
           covers(glob, (*pattern)->literal());
  }

  // One key, wherever it stands.

  void note_attempts(const Place& place) {
    Findings none;  // the loader has found nothing
    const auto written = read_retries(place.member, place.path, none);
    if (!written) return;
    const bool counts_behind = written->vocabulary == Vocabulary::kDirektiv;
    findings_.note("lint.attempts", place.path, place.member.at,
                   fmt::format("{}: {}{}", retry_vocabulary(written->vocabulary).name,
                               attempts_text(written->policy),
                               counts_behind && written->policy.attempts == 1U
                                   ? ": max_attempts counts those behind the first"
                                   : ""));
  }

  void check_place(const Place& place) {
    if (place.rule.object == &retry_grammar()) note_attempts(place);
    const Node& value = place.member.value;
    const bool is_text = value.kind == Node::Kind::kString;
    switch (place.rule.kind) {
      case Kind::kQuery:
        if (is_text) {
          check_bare_query(place);
        } else {
          check_literals(value, place.path);
        }
        break;
      case Kind::kCommand:
        if (!is_text || trimmed(value.text) != ".") check_literals(value, place.path);
        break;
      case Kind::kTemplate:
      case Kind::kAttributes:
        check_literals(value, place.path);
        break;
      case Kind::kPatterns:
        for (const Member& member : value.members) {
          check_pattern(member, path_of(place.path, member.key));
        }
        break;
      default:
        break;
    }
    if (place.rule.is("scale") && text_of(place.mapping, "type") == "isolated") {
      findings_.note("lint.scale", place.path, place.member.at,
                     "an isolated function runs in a container of its own for each call, whatever "
                     "`scale` says");
    }
  }

  void check_bare_query(const Place& place) {
    const Node& value = place.member.value;
    const std::string_view program = trimmed(value.text);
    if (program.empty() || program == "." || has_jq(program)) return;
    findings_.note("lint.bare_jq", place.path, value.at,
                   fmt::format("a bare text is a jq program in this field only; write jq({})",
                               program.size() > 40 ? "…" : program));
  }

  /// Text that looks like jq and is none.
  void check_literals(const Node& node, const std::string& path) {
    for (size_t i = 0; i < node.items.size(); ++i) check_literals(node.items[i], path_of(path, i));
    for (const Member& member : node.members) {
      check_literals(member.value, path_of(path, member.key));
    }
    if (node.kind != Node::Kind::kString || has_jq(node.text)) return;
    const std::string_view text = trimmed(node.text);
    const bool is_path = text.size() > 1 && text[0] == '.' &&
                         (text[1] == '_' || text[1] == '[' || text[1] == '"' ||
                          (std::isalpha(static_cast<unsigned char>(text[1])) != 0));
    if (!is_path) return;
    findings_.warning(
        "lint.literal_jq", path, node.at,
        fmt::format("this is the text {} and no jq; write jq(…) around a query", in_quotes(text)));
  }

  void check_pattern(const Member& member, const std::string& path) {
    const Node& value = member.value;
    const std::string name = to_lower(member.key);
    const bool is_text = value.kind == Node::Kind::kString;
    if (is_text && has_jq(value.text)) return;
    const std::string why =
        is_text ? why_never(name, value.text) : why_never_equal(name, dump_json(to_json(value)));
    if (!why.empty()) {
      findings_.warning("lint.event_never", path, value.at, "no event matches: " + why);
      return;
    }
    if (!is_text || name == "time") return;
    const auto pattern = Pattern::compile(value.text);
    const bool is_plain = pattern && (*pattern)->kind() == Pattern::Kind::kContains &&
                          (*pattern)->literal() == value.text;
    if (!is_plain) return;
    findings_.note(
        "lint.unanchored", path, value.at,
        fmt::format("{} matches longer texts that contain it, too; write ^…$ around it for itself "
                    "alone",
                    in_quotes(value.text)));
  }

  const Node& document_;
  Findings& findings_;
  std::optional<TimePoint> now_;
};

}  // namespace

void lint(const Node& document, Findings& findings, std::optional<TimePoint> now) {
  Linter(document, findings, now).run();
}

Loaded load_and_lint(std::string_view text, const ProgramCheck& check,
                     const SchemaCheck& check_schemas, std::optional<TimePoint> now) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (!document) return {.workflow = nullptr, .findings = std::move(findings)};
  Loaded loaded = load_workflow(*document, std::move(findings), check, check_schemas);
  if (loaded.workflow) lint(*document, loaded.findings, now);
  return loaded;
}

}  // namespace millrace
