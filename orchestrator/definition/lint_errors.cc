#include "orchestrator/definition/lint_errors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/ids.h"
#include "language/code_advice.h"
#include "language/grammar.h"
#include "language/walk.h"
#include "matchers/glob.h"
#include "matchers/pattern.h"
#include "orchestrator/definition/lint_graph.h"
#include "orchestrator/definition/lint_nodes.h"
#include "policies/evaluated_time.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

constexpr std::string_view kInterrupted = "direktiv.cancels.timeout";
constexpr std::string_view kTaskTimeout = "millrace.timeout.task";
/// Each state with a transition can raise these: lists of what a state can raise leave them out.
constexpr std::string_view kHistoryQuota = "millrace.quota.historyBytes";
constexpr std::string_view kBytesQuota = "millrace.quota.storeBytes";

/// Whether `wide` matches every code that `narrow` matches. Only a `*` of `wide` covers a `*` of
/// `narrow`.
bool covers(std::string_view wide, std::string_view narrow) {
  // row[i]: whether the characters of `wide` so far cover the first i characters of `narrow`.
  std::vector<bool> row(narrow.size() + 1, false);
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

/// Whether each character of the text is valid in an error code or is in `more`.
bool has_characters_of_codes(std::string_view text, std::string_view more = "") {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_identifier({&c, 1}) || more.find(c) != std::string_view::npos;
  });
}

/// A set of error codes that can be raised.
struct Raised {
  bool any = false;  ///< also any other code, because functions and subflows choose their codes
  std::set<std::string, std::less<>> codes;

  void add(std::initializer_list<std::string_view> more) {
    for (const std::string_view code : more) codes.emplace(code);
  }
  void remove(std::initializer_list<std::string_view> some) {
    for (const std::string_view code : some) codes.erase(std::string(code));
  }
};

/// The codes of the set as text: `direktiv.stateTimeout and millrace.limits.data`; an empty set is
/// `no error`.
std::string list_of(const Raised& raised) {
  if (raised.codes.empty()) return "no error";
  std::string names;
  size_t i = 0;
  for (const std::string& code : raised.codes) {
    names += i == 0 ? "" : i + 1 == raised.codes.size() ? " and " : ", ";
    names += code;
    ++i;
  }
  return names;
}

/// The codes that can be retried, as a clause for messages.
std::string triable_of(const Raised& raised) {
  return "the errors that can be retried here are " + list_of(raised);
}

/// Adds the errors that jq can raise.
void add_jq(Raised& raised) {
  raised.add({"direktiv.jq.badCommand", kTaskTimeout, "millrace.jq.memory"});
}

/// Adds the errors that a state of the type `type` can raise, except for errors of its jq programs.
void add_work(std::string_view type, Raised& raised) {
  if (type == "consumeEvent" || type == "eventAnd" || type == "eventXor" || type == "getter") {
    raised.add({"direktiv.jq.notObject", "millrace.limits.data"});
  } else if (type == "generateEvent") {
    raised.add({"millrace.event.invalid", "millrace.event.tooLarge"});
  } else if (type == "setter") {
    raised.add({"millrace.limits.variable", kBytesQuota});
  } else if (type == "validate") {
    raised.add({"direktiv.schema.failed"});
    add_jq(raised);
  } else if (type == "action") {  // async
    raised.add({"direktiv.jq.notObject", "direktiv.secrets.notFound", "direktiv.limits.depth"});
  } else if (type == "parallel") {  // mode: or
    raised.add({"direktiv.parallel.allFailed", "direktiv.jq.notObject", "direktiv.secrets.notFound",
                "direktiv.limits.depth", "millrace.limits.data"});
  }
}

/// Whether errors of a state's calls become errors of the state.
bool passes_on_errors(std::string_view type, const Node& state) {
  if (type == "parallel") return text_of(state, "mode") != "or";
  if (type == "action") return text_of(state, "async") != "true";
  return type == "foreach" || type.empty();
}

/// The errors that a state can raise, except for `direktiv.retries.exceeded`.
Raised raised_by_state(const Node& state, bool is_interrupted) {
  const std::string_view type = type_of_state(state);
  Raised raised{.any = passes_on_errors(type, state)};
  if (is_interrupted) raised.add({kInterrupted});
  const bool has_until = type != "delay" && value_of(state, "until") != nullptr;
  if (has_until || value_of(state, "timeout") != nullptr) raised.add({"direktiv.stateTimeout"});
  if (value_of(state, "log") != nullptr) raised.add({"millrace.limits.log"});
  walk(state, state_grammar(), "", [&](const Place& place) {
    if (place.rule.kind == Kind::kPatterns) {
      if (has_jq(place.member.value)) raised.add({"direktiv.event.jq"});
    } else if (place.rule.kind == Kind::kQuery ||
               ((place.rule.object == nullptr || is_evaluated_time(place)) &&
                has_jq(place.member.value))) {
      add_jq(raised);
    }
    if (is_evaluated_time(place)) raised.add({kDurationInvalid});
    if (place.rule.is("lookback")) raised.add({"millrace.limits.lookback"});
    const bool notes = place.rule.is("compensate") && place.rule.object != nullptr;
    if (notes) raised.add({"millrace.limits.compensations"});
    const bool replaces_data = place.rule.is("transform") || place.rule.is("defaultTransform");
    if (replaces_data || is_next_run_key(place.rule)) raised.add({"millrace.limits.data"});
    if (is_next_run_key(place.rule)) raised.add({"millrace.continueAsNew.notExist", kBytesQuota});
  });
  add_work(type, raised);
  if (type == "generateEvent" && value_of(state, "delay") != nullptr) raised.add({kBytesQuota});
  return raised;
}

class ErrorLinter {
 public:
  ErrorLinter(const Node& document, bool loads, Findings& findings)
      : document_(document), loads_(loads), findings_(findings) {
    const Node* const timeouts = value_of(document, "timeouts");
    is_interrupted_ = timeouts != nullptr && value_of(*timeouts, "interrupt") != nullptr;
  }

  void run() {
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) check_state(states[i], path_of("states", i));
    for (const ActionSite& site : actions_of(document_)) check_action(site);
    for (const auto& [path, one] : policies_) {
      if (loads_ || !path.starts_with("functions")) check_policy(*one.member, path, one.asked);
    }
    if (const Member* const retries = find_retries(document_)) {
      check_policy(*retries, retries->key, {.raised = raised_by_workflow()});
    }
    if (loads_) check_on_failure();
  }

 private:
  // Entries of `catch`.

  void check_state(const Node& state, const std::string& path) {
    const Raised raised = raised_by_state(state, is_interrupted_);
    Raised caught = raised;
    const Member* const retries = find_retries(state);
    const std::string_view type = type_of_state(state);
    const bool calls = type == "action" || type == "foreach" || type == "parallel" || type.empty();
    if (!calls && retries != nullptr) caught.add({"direktiv.retries.exceeded"});
    check_catches(state, path, caught);
    if (calls || retries == nullptr) return;
    Raised tried = raised;
    tried.remove({kInterrupted, kTaskTimeout});
    check_policy(*retries, path_of(path, retries->key),
                 {.raised = std::move(tried), .catches = {&items_of(state, "catch")}});
  }

  void check_catches(const Node& state, const std::string& path, const Raised& raised) {
    const std::vector<Node>& entries = items_of(state, "catch");
    std::vector<std::string> before;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Node* const error = value_of(entries[i], "error");
      if (error == nullptr || error->kind != Node::Kind::kString) continue;
      const std::string place = path_of(path_of(path_of(path, "catch"), i), "error");
      const auto wider = std::find_if(before.begin(), before.end(), [&](const std::string& one) {
        return covers(one, error->text);
      });
      if (wider != before.end()) {
        findings_.warning(
            "lint.catch_hidden", place, error->at,
            fmt::format(
                "this entry catches nothing: the entry {} before this one catches the same errors",
                in_quotes(*wider)),
            *wider == error->text
                ? "remove it"
                : fmt::format("move it before the entry of {}", in_quotes(*wider)));
      } else if (!report_code(*error, place, advice_on_code_glob(error->text))) {
        check_caught(state, *error, place, raised);
      }
      if (before.size() < kComparedEntries) before.push_back(error->text);
    }
  }

  void check_caught(const Node& state, const Node& error, const std::string& path,
                    const Raised& raised) {
    if (!has_characters_of_codes(error.text, "*?")) {
      findings_.warning("lint.catch_never", path, error.at,
                        fmt::format("this entry catches nothing: an error code has letters, "
                                    "digits, `.`, `-` and `_` only, and {} has other characters",
                                    in_quotes(error.text)),
                        "write a code; `*` in it stands for any run of such characters, `?` for "
                        "one");
      return;
    }
    const auto catches = [&](std::string_view code) { return glob_matches(error.text, code); };
    const bool is_raised = raised.any ||
                           std::any_of(raised.codes.begin(), raised.codes.end(), catches) ||
                           (error.text.starts_with("millrace.quota") &&
                            (catches(kHistoryQuota) || catches(kBytesQuota)));
    if (is_raised) return;
    findings_.warning(
        "lint.catch_never", path, error.at,
        fmt::format("this entry catches nothing: this state can raise {}", list_of(raised)),
        mend_of_catch(state, error.text, raised));
  }

  /// The correction for an entry with a code that the state cannot raise.
  static std::string mend_of_catch(const Node& state, std::string_view code, const Raised& raised) {
    const bool takes_timeout = kind_of(state, state_grammar()).find("timeout") != nullptr;
    if (code == "direktiv.stateTimeout" && takes_timeout) {
      return "give the state a `timeout`, or remove this entry";
    }
    if (code == kInterrupted) {
      return "give the workflow an `interrupt` in `timeouts`, or remove this entry";
    }
    return raised.codes.empty() ? "remove this entry"
                                : "write one of these codes, or remove this entry";
  }

  // The clean-up after a failure.

  /// Warns about an `on_failure` without `when`: as in Zart it runs only after the timeout, and not
  /// after other failures as its name suggests. There is no warning if `when` is written, because
  /// then the author has chosen, or if no other failure is possible.
  void check_on_failure() {
    const Node* const node = value_of(document_, "on_failure");
    if (node == nullptr || value_of(*node, "when") != nullptr) return;
    const std::string other = other_failure();
    if (other.empty()) return;
    const std::string state =
        node->kind == Node::Kind::kString ? node->text : text_of(*node, "state");
    findings_.warning(
        "lint.on_failure", "on_failure", node->at,
        fmt::format(
            "this state runs when `timeout` expires, but not after other failures, such as {}",
            other),
        fmt::format("write on_failure: {{state: {}, when: any}} to run it after every failure, "
                    "or {{state: {}, when: timeout}} to keep it as it is",
                    state, state));
  }

  /// Describes a failure other than the timeout, in a state that `on_failure` does not lead to: `an
  /// error of a call in "charge"`. Empty: `catch` catches every error that such states raise,
  /// except for limits.
  std::string other_failure() const {
    const std::vector<Node>& states = items_of(document_, "states");
    const std::vector<bool> reached = reachable_from_start(document_, state_graph(document_));
    if (reached.size() != states.size()) return "";
    for (size_t i = 0; i < states.size(); ++i) {
      if (!reached[i]) continue;
      const std::string id = in_quotes(text_of(states[i], "id"));
      if (type_of_state(states[i]) == "error") return fmt::format("the Error state {}", id);
      const std::vector<Node>& catches = items_of(states[i], "catch");
      const auto is_caught = [&](std::string_view code) {
        return std::any_of(catches.begin(), catches.end(), [&](const Node& entry) {
          return covers(text_of(entry, "error"), code);
        });
      };
      const Raised raised = raised_by_state(states[i], is_interrupted_);
      if (raised.any && !is_caught("*")) return fmt::format("an error of a call in {}", id);
      for (const std::string& code : raised.codes) {
        const bool is_limit = code.starts_with("millrace.") || code == "direktiv.jq.notObject";
        if (!is_limit && !is_caught(code)) return fmt::format("{} in {}", code, id);
      }
    }
    return "";
  }

  // Retry policies.

  /// What a retry policy applies to: errors, and the calls and states that raise them.
  struct Asked {
    Raised raised;
    std::vector<const std::vector<Node>*> catches = {};  ///< of each state that uses the policy
    bool is_uncaught = false;  ///< in some state that uses the policy, no `catch` applies
    bool has_outside = false;  ///< the policy applies to a call
    bool has_subflow = false;  ///< the policy applies to a call of a subflow or an unknown function
  };

  struct Shared {
    const Member* member = nullptr;
    Asked asked;
  };

  void check_action(const ActionSite& site) {
    if (site.is_async) return;
    const Member* const own = find_retries(*site.action);
    const Member* const state = find_retries(*site.state);
    const Member* const function =
        site.function == nullptr ? nullptr : find_retries(*site.function);
    const Member* const nearest = own != nullptr ? own : state != nullptr ? state : function;
    if (nearest == nullptr) return;
    const std::string path = own != nullptr     ? site.path
                             : state != nullptr ? path_of("states", site.state_index)
                                                : site.function_path;
    Shared& one = policies_[path_of(path, nearest->key)];
    one.member = nearest;
    one.asked.raised.any = true;
    one.asked.is_uncaught = one.asked.is_uncaught || site.is_any;
    if (!site.is_any) one.asked.catches.push_back(&items_of(*site.state, "catch"));
    one.asked.has_subflow = one.asked.has_subflow || site.function == nullptr || site.is_subflow();
    one.asked.has_outside = true;
  }

  /// The errors with which an instance can fail and after which its run can be retried.
  Raised raised_by_workflow() const {
    Raised all;
    for (const Node& state : items_of(document_, "states")) {
      const Raised one = raised_by_state(state, false);
      all.any = all.any || one.any;
      all.codes.insert(one.codes.begin(), one.codes.end());
      if (type_of_state(state) == "error") all.codes.insert(text_of(state, "error"));
      if (find_retries(state) != nullptr) all.add({"direktiv.retries.exceeded"});
    }
    all.add({"millrace.limits.transitions", "millrace.poison"});
    all.remove({kTaskTimeout});
    return all;
  }

  void check_policy(const Member& member, const std::string& path, const Asked& asked) {
    const Node& policy = member.value;
    if (!asked.raised.any && asked.raised.codes.empty()) {
      findings_.warning(
          "lint.retry_never", path, member.at,
          "this policy never causes a retry: the state cannot raise an error that can be retried",
          "remove the policy");
      return;
    }
    const std::vector<Node>& codes = items_of(policy, "codes");
    for (size_t i = 0; i < codes.size(); ++i) {
      check_pattern(codes[i], path_of(path_of(path, "codes"), i), asked);
    }
    for (const std::string_view key : {"nonRetryableErrors", "nonRetryableErrorTypes"}) {
      const std::vector<Node>& never = items_of(policy, key);
      for (size_t i = 0; i < never.size(); ++i) {
        check_never(never[i], path_of(path_of(path, key), i), asked);
      }
    }
  }

  /// Checks a pattern of `codes` (Direktiv's vocabulary). In Direktiv's vocabulary `catch` is tried
  /// before the policy: an error that `catch` matches is not retried.
  void check_pattern(const Node& node, const std::string& path, const Asked& asked) {
    if (node.kind != Node::Kind::kString) return;
    if (report_code(node, path, advice_on_code_pattern(node.text))) return;
    const auto pattern = Pattern::compile(node.text);
    if (node.text != "*" && !pattern) return;
    if (pattern && node.text != "*" && !has_characters_of_codes((*pattern)->literal())) {
      findings_.warning("lint.retry_never", path, node.at,
                        "this entry never causes a retry: an error code has letters, digits, `.`, "
                        "`-` and `_` only",
                        "write a pattern of these characters, or remove this entry");
      return;
    }
    const auto matches = [&](const std::string& code) {
      return node.text == "*" || (*pattern)->matches(code);
    };
    const auto& raised = asked.raised.codes;
    if (!asked.raised.any && std::none_of(raised.begin(), raised.end(), matches)) {
      findings_.warning(
          "lint.retry_never", path, node.at,
          fmt::format("this entry never causes a retry: {}", triable_of(asked.raised)),
          "write one of these, or remove this entry");
      return;
    }
    check_caught_before(node, path, asked);
  }

  /// Finds a pattern whose errors a `catch` matches first in every state that uses the policy.
  void check_caught_before(const Node& node, const std::string& path, const Asked& asked) {
    const size_t states = asked.catches.size();
    if (states == 0 || states > kComparedEntries || asked.is_uncaught) return;
    const std::string all = glob_of(node.text);
    const std::vector<std::string_view> spelt = codes_spelt_by(node.text);
    std::string first;
    for (const std::vector<Node>* entries : asked.catches) {
      const auto end = entries->begin() +
                       static_cast<std::ptrdiff_t>(std::min(entries->size(), kComparedEntries));
      const auto takes = [&](std::string_view code) {
        return std::find_if(entries->begin(), end, [&](const Node& entry) {
          return covers(text_of(entry, "error"), code);
        });
      };
      auto taken = takes(all);
      if (taken == end && !spelt.empty() &&
          std::all_of(spelt.begin(), spelt.end(),
                      [&](std::string_view code) { return takes(code) != end; })) {
        taken = takes(spelt.front());
      }
      if (taken == end) return;
      if (first.empty()) first = text_of(*taken, "error");
    }
    findings_.warning(
        "lint.retry_hidden", path, node.at,
        fmt::format("errors of this entry are never retried: {} in `catch` catches them first",
                    in_quotes(first)),
        "remove this entry, write narrower codes in `catch`, or catch direktiv.retries.exceeded, "
        "which is raised when no attempt is left");
  }

  /// A glob that matches every error code which the pattern (of a retry policy) matches.
  static std::string glob_of(const std::string& pattern) {
    if (pattern == "*") return "*";
    const auto compiled = Pattern::compile(pattern);
    if (!compiled) return "*";
    const std::string& literal = (*compiled)->literal();
    switch ((*compiled)->kind()) {
      case Pattern::Kind::kEquals:
        return literal;
      case Pattern::Kind::kPrefix:
        return literal + "*";
      case Pattern::Kind::kSuffix:
        return "*" + literal;
      case Pattern::Kind::kContains:
        return "*" + literal + "*";
      default:
        return "*";
    }
  }

  /// Checks an entry of `nonRetryableErrors` or `nonRetryableErrorTypes`, which is a code and not a
  /// pattern.
  void check_never(const Node& node, const std::string& path, const Asked& asked) {
    if (node.kind != Node::Kind::kString) return;
    const std::string& code = node.text;
    if (report_code(node, path, advice_on_whole_code(code))) return;
    if (!asked.raised.any && asked.raised.codes.count(code) == 0) {
      findings_.warning("lint.retry_never", path, node.at,
                        fmt::format("this entry has no effect: {}", triable_of(asked.raised)),
                        "write one of these, or remove this entry");
      return;
    }
    // A call of a subflow is excepted: the subflow may end with this error of a call that it made
    // itself.
    const bool is_final =
        asked.has_outside && !asked.has_subflow &&
        (code == "millrace.timeout.scheduleToStart" || code == "millrace.timeout.scheduleToClose");
    if (is_final) {
      findings_.note("lint.retry_never", path, node.at,
                     "this timeout is never retried, with or without this entry",
                     "remove this entry");
    }
  }

  /// Reports the advice on an entry, if there is one; returns whether there is one.
  bool report_code(const Node& entry, const std::string& path,
                   const std::optional<CodeAdvice>& advice) {
    if (!advice) return false;
    findings_.warning("lint.unknown_code", path, entry.at, advice->doubt, advice->mend);
    return true;
  }

  const Node& document_;
  const bool loads_;
  Findings& findings_;
  bool is_interrupted_ = false;
  std::map<std::string, Shared> policies_;  ///< the policies of actions, by path
};

}  // namespace

void lint_errors(const Node& document, bool loads, Findings& findings) {
  ErrorLinter(document, loads, findings).run();
}

}  // namespace millrace
