#include "orchestrator/definition/lint_timeouts.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "language/policy_fields.h"
#include "matchers/glob.h"
#include "orchestrator/definition/lint_graph.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/span_bounds.h"
#include "policies/duration.h"
#include "policies/retry_policy.h"

namespace millrace {
namespace {

constexpr const char* kTimeoutNever = "lint.timeout_never";
constexpr const char* kWaitNever = "lint.wait_never";
constexpr const char* kRetryHidden = "lint.retry_hidden";

/// A timeout that can end a wait early, or expire before another timeout.
struct Bound {
  std::string name;  ///< the name of the timeout in messages
  Span span;
  bool comes_first = true;  ///< this timeout comes first if both expire at the same time
};

/// Whether a wait of the length `span` can never end before the bound expires, if the bound began
/// at the same time as the wait or earlier.
bool is_never(const Span& span, const Bound& bound) {
  const Duration least = at_least(span);
  const Duration most = at_most(bound.span);
  return bound.comes_first ? least >= most : least > most;
}

/// Whether a wait of the length `span` can never end before the bound expires, if both begin at the
/// same time. Since both begin at the same time, equal numbers of months have equal lengths.
bool is_never_from_one_moment(const Span& span, const Bound& bound) {
  if (span.months != bound.span.months) return is_never(span, bound);
  return bound.comes_first ? span.fixed >= bound.span.fixed : span.fixed > bound.span.fixed;
}

std::optional<Span> span_at(const Node* node) {
  if (node == nullptr) return std::nullopt;
  Result<Span> span = Span::parse(node->text);
  if (!span || span->is_zero()) return std::nullopt;
  return std::move(*span);
}

/// The text of a finding.
struct Doubt {
  std::string why;   ///< the reason; empty: there is no finding
  std::string mend;  ///< the correction
};

constexpr const char* kShorterOrLonger = "write a shorter time here or a longer one there";

Doubt expires_first(const Bound& bound) {
  return {.why = fmt::format("this timeout has no effect: {} ({}) expires first", bound.name,
                             bound.span.text),
          .mend = kShorterOrLonger};
}

const Mapping& mapping_of(const Mapping& parent, std::string_view key) {
  return *parent.find(key)->object;
}

const Mapping& action_grammar() { return mapping_of(*state_grammar().kind("action"), "action"); }
const Mapping& function_grammar() { return mapping_of(workflow_grammar(), "functions"); }

WrittenTimeouts timeouts_in(const Node& node, const Mapping& grammar) {
  Findings none;
  Fields fields(node, "", none, grammar);
  return read_timeouts(fields);
}

/// The workflow's timeouts that can end the wait of a state.
struct WorkflowBounds {
  std::optional<Bound> kill, run, execution, interrupt;
};

class TimeoutLinter {
 public:
  TimeoutLinter(const Node& document, bool loads, Findings& findings)
      : document_(document),
        loads_(loads),
        findings_(findings),
        states_(items_of(document, "states")) {
    read_bounds();
    read_ways();
  }

  void run() {
    check_workflow();
    for (size_t i = 0; i < states_.size(); ++i) check_state(i);
    for (const ActionSite& site : actions_of(document_)) check_action(site);
    for (const auto& [path, one] : shared_) {
      if (loads_ || !path.starts_with("functions")) report(path, one);
    }
  }

 private:
  void read_bounds() {
    const auto bound = [](std::string_view name, const Node* node, bool comes_first) {
      const std::optional<Span> span = span_at(node);
      return span ? std::optional(Bound{fmt::format("`{}`", name), *span, comes_first})
                  : std::nullopt;
    };
    if (const Node* const timeouts = value_of(document_, "timeouts")) {
      bounds_.kill = bound("timeouts.kill", value_of(*timeouts, "kill"), false);
      bounds_.interrupt = bound("timeouts.interrupt", value_of(*timeouts, "interrupt"), false);
    }
    bounds_.run = bound("workflowRunTimeout", value_of(document_, "workflowRunTimeout"), false);
    for (const char* key : {"workflowExecutionTimeout", "timeout"}) {
      if (!bounds_.execution) bounds_.execution = bound(key, value_of(document_, key), true);
    }
  }

  /// Determines which states an instance may enter after an interrupt, and which after a failure.
  void read_ways() {
    behind_interrupt_.assign(states_.size(), !loads_);
    behind_failure_.assign(states_.size(), !loads_);
    if (!loads_) return;  // a transition may be misspelt
    StateGraph graph = state_graph(document_);
    if (graph.states.size() != states_.size()) return;
    std::map<std::string_view, size_t> numbers;
    for (size_t i = 0; i < states_.size(); ++i) numbers.emplace(graph.states[i].id, i);
    const auto behind = [&](std::vector<size_t> entries) {
      graph.entries = std::move(entries);
      return reachable(graph);
    };
    std::vector<size_t> caught;
    for (const Node& state : states_) {
      for (const Node& entry : items_of(state, "catch")) {
        if (!glob_matches(text_of(entry, "error"), "direktiv.cancels.timeout")) continue;
        const auto to = numbers.find(text_of(entry, "transition"));
        if (to != numbers.end()) caught.push_back(to->second);
      }
    }
    behind_interrupt_ = behind(std::move(caught));
    if (const Node* const node = value_of(document_, "on_failure")) {
      const auto to =
          numbers.find(node->kind == Node::Kind::kString ? node->text : text_of(*node, "state"));
      if (to != numbers.end()) behind_failure_ = behind({to->second});
    }
  }

  /// Finds timeouts of the workflow that never expire, because a shorter one ends the instance.
  void check_workflow() {
    std::set<std::string_view> reported;
    const auto compare = [&](const char* path, const std::optional<Bound>& one,
                             const std::optional<Bound>& other, bool other_comes_first) {
      if (!one || !other || reported.count(path) > 0) return;
      const Bound bound{other->name, other->span, other_comes_first};
      if (!is_never_from_one_moment(one->span, bound)) return;
      reported.insert(path);
      const Node* node = &document_;
      std::string_view key = path;
      if (key.starts_with("timeouts.")) {
        node = value_of(document_, "timeouts");
        key.remove_prefix(std::string_view("timeouts.").size());
      }
      warn(kTimeoutNever, path, value_of(*node, key)->at, expires_first(bound));
    };
    const char* const whole = value_of(document_, "workflowExecutionTimeout") == nullptr
                                  ? "timeout"
                                  : "workflowExecutionTimeout";
    compare("timeouts.interrupt", bounds_.interrupt, bounds_.kill, true);
    compare("timeouts.interrupt", bounds_.interrupt, bounds_.run, false);
    compare("timeouts.interrupt", bounds_.interrupt, bounds_.execution, true);
    compare("workflowRunTimeout", bounds_.run, bounds_.execution, true);
    compare("workflowRunTimeout", bounds_.run, bounds_.kill, true);
    // The timeout `kill` starts again with each run.
    const Node* const start = value_of(document_, "start");
    const bool has_one_run = find_retries(document_) == nullptr &&
                             (start == nullptr || text_of(*start, "type") != "scheduled");
    if (has_one_run) compare(whole, bounds_.execution, bounds_.kill, false);
    // After a failure, while the state `on_failure` cleans up, only `kill` still applies.
    if (value_of(document_, "on_failure") == nullptr) {
      compare("timeouts.kill", bounds_.kill, bounds_.run, false);
      compare("timeouts.kill", bounds_.kill, bounds_.execution, true);
    }
    const Member* const retries = find_retries(document_);
    if (retries != nullptr && bounds_.execution) {
      check_wait(*retries, retries->key, {*bounds_.execution}, nullptr);
    }
  }

  /// The timeouts of the workflow that can end a wait in that state.
  std::vector<Bound> bounds_of(size_t state) const {
    std::vector<Bound> bounds;
    const auto add = [&](const std::optional<Bound>& bound) {
      if (bound) bounds.push_back(*bound);
    };
    add(bounds_.kill);
    if (behind_failure_[state]) return bounds;
    add(bounds_.run);
    add(bounds_.execution);
    if (!behind_interrupt_[state]) add(bounds_.interrupt);
    return bounds;
  }

  /// The timeouts of the workflow that can end a wait in the state, each set to come first if it
  /// expires at the same time as the wait ends.
  std::vector<Bound> first_bounds_of(size_t state) const {
    std::vector<Bound> bounds = bounds_of(state);
    for (Bound& bound : bounds) bound.comes_first = true;
    return bounds;
  }

  static const Bound* shorter(const Span& span, const std::vector<Bound>& bounds) {
    const auto found = std::find_if(bounds.begin(), bounds.end(),
                                    [&](const Bound& one) { return is_never(span, one); });
    return found == bounds.end() ? nullptr : &*found;
  }

  void check_state(size_t index) {
    const Node& state = states_[index];
    const std::string path = path_of("states", index);
    const std::vector<Bound> bounds = bounds_of(index);
    const std::string_view type = type_of_state(state);
    if (const auto timeout = span_at(value_of(state, "timeout"))) {
      if (const Bound* const bound = shorter(*timeout, bounds)) {
        warn(kTimeoutNever, path_of(path, "timeout"), value_of(state, "timeout")->at,
             expires_first(*bound));
      }
    }
    if (const Node* const node = type == "delay" ? value_of(state, "duration") : nullptr) {
      const auto duration = span_at(node);
      const Bound* const bound = duration ? shorter(*duration, bounds) : nullptr;
      if (bound != nullptr) {
        findings_.warning(kWaitNever, path_of(path, "duration"), node->at,
                          fmt::format("this delay never ends: {} ({}) expires first", bound->name,
                                      bound->span.text),
                          kShorterOrLonger);
      }
    }
    const bool calls = type == "action" || type == "foreach" || type == "parallel" || type.empty();
    const Member* const retries = find_retries(state);
    if (!calls && retries != nullptr) {
      check_wait(*retries, path_of(path, retries->key), first_bounds_of(index), nullptr);
    }
  }

  // What lint knows of a key of an action or a function when it has seen all calls to which the key
  // may apply.

  struct Shared {
    Position at;
    const char* code = nullptr;  ///< the code of the finding, if the key has no effect in any call
    size_t used = 0;             ///< the number of calls that use the key
    size_t never = 0;            ///< the number of calls that use the key without effect
    Doubt why;                   ///< why the key has no effect in the first such call
    const char* hidden_code = nullptr;
    Doubt hidden;  ///< why no call uses the key
  };

  void warn(const char* code, const std::string& path, Position at, const Doubt& doubt) {
    findings_.warning(code, path, at, doubt.why, doubt.mend);
  }

  void report(const std::string& path, const Shared& one) {
    if (one.used == 0) {
      warn(one.hidden_code, path, one.at, one.hidden);
    } else if (one.used == one.never) {
      warn(one.code, path, one.at, one.why);
    }
  }

  void check_action(const ActionSite& site) {
    const WrittenTimeouts own = timeouts_in(*site.action, action_grammar());
    WrittenTimeouts all = own;
    if (site.function != nullptr) {
      const WrittenTimeouts farther = timeouts_in(*site.function, function_grammar());
      all = own.over(farther);
      add_hidden(site, *site.function, site.function_path, farther, own);
    }
    if (site.is_async) add_hidden(site, *site.action, site.path, own, {});
    if (!site.is_async) {
      for (size_t i = 0; i < kTimeoutKinds; ++i) {
        if (all.keys[i] != nullptr) check_timeout(site, own, all, static_cast<TimeoutKind>(i));
      }
    }
    check_retries(site, all);
  }

  static Doubt why_hidden(const ActionSite& site) {
    if (site.is_async) {
      return {
          .why =
              "this timeout has no effect: an `async` call is made once, and nothing waits for it",
          .mend = "remove it, or remove `async`"};
    }
    return {.why = "this timeout has no effect: every action that calls the function has its own",
            .mend = "remove it here, or from an action"};
  }

  /// Records the timeouts `written` that the call does not use, because the timeouts `nearer`
  /// replace them or the call is `async`.
  void add_hidden(const ActionSite& site, const Node& node, const std::string& path,
                  const WrittenTimeouts& written, const WrittenTimeouts& nearer) {
    for (size_t i = 0; i < kTimeoutKinds; ++i) {
      const TimeoutKey* const key = written.keys[i];
      if (key == nullptr) continue;
      Shared& one = shared(path, *node.find(key->name), kTimeoutNever);
      if (site.is_async || nearer.keys[i] != nullptr) one.hidden = why_hidden(site);
      one.hidden_code = kTimeoutNever;
    }
  }

  Shared& shared(const std::string& path, const Member& member, const char* code) {
    Shared& one = shared_[path_of(path, member.key)];
    one.at = member.value.at;
    one.code = code;
    return one;
  }

  void check_timeout(const ActionSite& site, const WrittenTimeouts& own, const WrittenTimeouts& all,
                     TimeoutKind kind) {
    const auto place = static_cast<size_t>(kind);
    const TimeoutKey& key = *all.keys[place];
    const bool is_own = own.keys[place] != nullptr;
    const Node& node = is_own ? *site.action : *site.function;
    Shared& one =
        shared(is_own ? site.path : site.function_path, *node.find(key.name), kTimeoutNever);
    ++one.used;
    const Span& span = all.policy[kind]->span;
    if (span.is_zero()) return;  // its text could not be read
    Doubt doubt;
    if (kind == TimeoutKind::kScheduleToStart && site.is_subflow()) {
      doubt = {.why = "this timeout has no effect: a subflow starts at once", .mend = "remove it"};
    } else if (const auto bound = first_of(site, all, kind, span)) {
      doubt = expires_first(*bound);
    }
    if (doubt.why.empty()) return;
    ++one.never;
    if (one.never == 1) one.why = std::move(doubt);
  }

  /// The first timeout around the call that always expires before `span`; nullopt: there is none.
  std::optional<Bound> first_of(const ActionSite& site, const WrittenTimeouts& all,
                                TimeoutKind kind, const Span& span) const {
    std::vector<Bound> bounds;
    const auto add = [&](TimeoutKind other) {
      const auto place = static_cast<size_t>(other);
      if (all.keys[place] == nullptr || all.policy[other]->span.is_zero()) return;
      bounds.push_back({fmt::format("`{}`", all.keys[place]->name), all.policy[other]->span});
    };
    if (kind != TimeoutKind::kScheduleToClose) add(TimeoutKind::kScheduleToClose);
    if (kind == TimeoutKind::kHeartbeat) add(TimeoutKind::kStartToClose);
    add_around(site, bounds);
    const Bound* const found = shorter(span, bounds);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  /// Adds the timeouts of the call's state, of the run and of the instance, which may all end the
  /// call.
  void add_around(const ActionSite& site, std::vector<Bound>& bounds) const {
    if (const auto timeout = span_at(value_of(*site.state, "timeout"))) {
      bounds.push_back({"the state's `timeout`", *timeout});
    }
    const std::vector<Bound> whole = first_bounds_of(site.state_index);
    bounds.insert(bounds.end(), whole.begin(), whole.end());
  }

  // Waits.

  void check_retries(const ActionSite& site, const WrittenTimeouts& all) {
    const Member* const own = find_retries(*site.action);
    const Member* const state = find_retries(*site.state);
    const Member* const function =
        site.function == nullptr ? nullptr : find_retries(*site.function);
    std::vector<Bound> bounds;
    const auto whole = static_cast<size_t>(TimeoutKind::kScheduleToClose);
    if (all.keys[whole] != nullptr && !all.policy[TimeoutKind::kScheduleToClose]->span.is_zero()) {
      bounds.push_back({fmt::format("`{}`", all.keys[whole]->name),
                        all.policy[TimeoutKind::kScheduleToClose]->span});
    }
    add_around(site, bounds);
    const auto add = [&](const Member* member, const std::string& path, bool is_used) {
      if (member == nullptr) return;
      Shared& one = shared(path, *member, kWaitNever);
      one.at = member->at;
      one.hidden_code = kRetryHidden;
      if (site.is_async) {
        one.hidden = {.why =
                          "this policy never causes a retry: an `async` call is made once, and "
                          "nothing waits for it",
                      .mend = "remove it, or remove `async`"};
      } else if (!is_used) {
        one.hidden = {.why = "this policy never causes a retry: every action has its own policy",
                      .mend = "remove it here, or from an action"};
      } else {
        ++one.used;
        check_wait(*member, path, bounds, &one);
      }
    };
    add(own, site.path, true);
    add(state, path_of("states", site.state_index), own == nullptr);
    add(function, site.function_path, own == nullptr && state == nullptr);
  }

  /// Checks that the first wait of a policy can end before all bounds. Records the finding in
  /// `shared`; if `shared` is null, reports it at once.
  void check_wait(const Member& member, const std::string& path, const std::vector<Bound>& bounds,
                  Shared* shared) {
    Findings none;
    const auto written = read_retries(member, path, none);
    if (!written || none.has_errors() || !written->policy.allows_after(1)) return;
    const RetryPolicy& policy = written->policy;
    Span wait = policy.delay;
    if (policy.max_delay && at_least(*policy.max_delay) < at_least(wait)) wait = *policy.max_delay;
    const double shortest = static_cast<double>(at_least(wait).count()) * (1 - policy.jitter);
    wait.months = 0;
    wait.fixed = Duration(static_cast<int64_t>(shortest));
    if (wait.is_zero()) return;
    const Bound* const bound = shorter(wait, bounds);
    if (bound == nullptr) return;
    Doubt doubt = {
        .why = fmt::format(
            "this policy never causes a retry: {} ({}) expires before the first wait ends",
            bound->name, bound->span.text),
        .mend = "write a shorter wait here or a longer time there"};
    if (shared == nullptr) {
      warn(kWaitNever, path, member.at, doubt);
      return;
    }
    ++shared->never;
    if (shared->never == 1) shared->why = std::move(doubt);
  }

  const Node& document_;
  const bool loads_;
  Findings& findings_;
  const std::vector<Node>& states_;
  WorkflowBounds bounds_;
  std::vector<bool> behind_interrupt_;
  std::vector<bool> behind_failure_;
  std::map<std::string, Shared> shared_;  ///< by path
};

}  // namespace

void lint_timeouts(const Node& document, bool loads, Findings& findings) {
  TimeoutLinter(document, loads, findings).run();
}

}  // namespace millrace
