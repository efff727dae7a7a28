#include "orchestrator/definition/call_limits.h"

#include <algorithm>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/lazy_json.h"
#include "expressions/template.h"
#include "orchestrator/definition/lint_nodes.h"
#include "policies/duration.h"
#include "states/calling_state.h"
#include "states/compensation.h"

namespace millrace {
namespace {

using Kind = CallLimits::Kind;

std::string described_service(std::string_view name, bool is_global) {
  return fmt::format("the {}service {}", is_global ? "global " : "", in_quotes(name));
}

std::string described_image(std::string_view image) {
  return fmt::format("the image {}", in_quotes(image));
}

/// What the function calls, as messages name it; empty: a subflow.
std::string described_target(const Function& function) {
  if (const auto* const service = std::get_if<NamedService>(&function.runs)) {
    return described_service(service->name, service->global);
  }
  const auto* const container = std::get_if<Container>(&function.runs);
  return container == nullptr ? "" : described_image(container->image);
}

/// What a function of a document calls, and where that is written.
struct Target {
  std::string described;
  std::string_view key;  ///< `service` or `image`
  const Node* name = nullptr;
};

std::optional<Target> target_of(const Node& function) {
  if (const Node* const service = value_of(function, "service")) {
    const bool is_global =
        text_of(function, "type") == "knative-global" || text_of(function, "global") == "true";
    return Target{described_service(service->text, is_global), "service", service};
  }
  const Node* const image = value_of(function, "image");
  if (image == nullptr) return std::nullopt;
  return Target{described_image(image->text), "image", image};
}

/// The key as a text by which keys are compared.
std::string text_of_key(const Template& key) {
  const auto quoted = [](const Program& one) { return fmt::format("jq({})", trimmed(one.text)); };
  if (const Program* const whole = key.whole()) return quoted(*whole);
  std::vector<LazyJson> programs;
  for (const Program& one : key.programs()) programs.emplace_back(Json(quoted(one)));
  return key.assemble(programs).text();
}

std::string text_of_key(const std::optional<Template>& key) {
  return key ? text_of_key(*key) : std::string();
}

/// A limit of a document, without the name of its workflow.
CallLimit limit_of(const Node& written) {
  CallLimit limit{.period = text_of(written, "period")};
  const Node* const most = value_of(written, "limit");
  if (most != nullptr && most->kind == Node::Kind::kInt) limit.limit = most->scalar.get<uint32_t>();
  if (const Node* const key = value_of(written, "key")) {
    const auto query = Template::query(to_json(*key));
    limit.key = query ? text_of_key(*query) : "?";  // the loader reports it
  }
  return limit;
}

constexpr std::string_view name_of(Kind kind) {
  return kind == Kind::kConcurrency ? "concurrency" : "throttle";
}

/// `lets 3 calls of the service "bank" run at once`
std::string what_it_lets(const CallLimit& limit, std::string_view target) {
  const char* const calls = limit.limit == 1 ? "call" : "calls";
  if (limit.period.empty()) {
    return fmt::format("lets {} {} of {} run at once", limit.limit, calls, target);
  }
  return fmt::format("lets {} {} of {} be handed out in {}", limit.limit, calls, target,
                     limit.period);
}

/// How to write the limit in a definition: `concurrency: {limit: 3, key: jq(.customer)}`.
std::string as_written(const CallLimit& limit, Kind kind) {
  const std::string period = limit.period.empty() ? "" : ", period: " + limit.period;
  const std::string key = limit.key.empty() ? "" : ", key: " + limit.key;
  return fmt::format("{}: {{limit: {}{}{}}}", name_of(kind), limit.limit, period, key);
}

/// How many other workflows findings about one limit name.
constexpr size_t kNamedWorkflows = 5;

/// By what calls with the limit `own` exceed another limit of the same key: `go by their own limit
/// of 5`. Empty: they keep it, or the keys differ.
std::string excess_over(const CallLimit& limit, const CallLimit& own, Kind kind) {
  if (limit.key != own.key) return "";
  if (kind == Kind::kThrottle) {
    const Result<Span> period = Span::parse(limit.period);
    const Result<Span> own_period = Span::parse(own.period);
    if (!period || !own_period) return "";  // the loader reports it
    if (own_period->after(TimePoint()) < period->after(TimePoint())) {
      return fmt::format("end the count of those that are older than {}", own.period);
    }
  }
  return own.limit > limit.limit ? fmt::format("go by their own limit of {}", own.limit) : "";
}

/// Compares the limits of a document with those of other workflows.
class LimitLinter {
 public:
  LimitLinter(const Node& document, const CallLimits& limits, Findings& findings)
      : document_(document), limits_(limits), findings_(findings), id_(text_of(document, "id")) {}

  /// Compares the limits and calls of the document with the limits of other workflows.
  void run(Kind kind) {
    const std::vector<Node>& functions = items_of(document_, "functions");
    const std::vector<ActionSite> actions = actions_of(document_);
    for (size_t i = 0; i < functions.size(); ++i) {
      const auto target = target_of(functions[i]);
      if (!target) continue;
      const std::string path = path_of("functions", i);
      check_function(kind, functions[i], path, *target, actions);
      for (const ActionSite& one : actions) {
        if (one.function == &functions[i]) check_limit(kind, *one.action, one.path, *target);
      }
    }
  }

  /// Compares the limits of the document with the calls of other workflows.
  void run_on_others(Kind kind) {
    const std::vector<Node>& functions = items_of(document_, "functions");
    const std::vector<ActionSite> actions = actions_of(document_);
    std::set<std::string> reported;
    const auto check = [&](const Node& owner, const std::string& path, const Target& target) {
      const Node* const written = value_of(owner, name_of(kind));
      if (written == nullptr) return;
      const std::string place = path_of(path, name_of(kind));
      report_exceeding(kind, *written, place, target);
      if (reported.insert(target.described).second) report_others(kind, *written, place, target);
    };
    for (size_t i = 0; i < functions.size(); ++i) {
      const auto target = target_of(functions[i]);
      if (!target) continue;
      check(functions[i], path_of("functions", i), *target);
      for (const ActionSite& one : actions) {
        if (one.function == &functions[i]) check(*one.action, one.path, *target);
      }
    }
  }

 private:
  void report_others(Kind kind, const Node& written, const std::string& place,
                     const Target& target) {
    std::vector<std::string> others = limits_.without(kind, target.described);
    std::erase(others, id_);
    const std::string what = fmt::format("of {} have no `{}`, so they neither count nor wait",
                                         target.described, name_of(kind));
    const char* const mend = "write the same limit there, unless these calls may exceed it";
    for (size_t i = 0; i < std::min(others.size(), kNamedWorkflows); ++i) {
      findings_.warning("lint.limit_not_kept", place, written.at,
                        fmt::format("{} {}", beginning_on_calls_of(others[i]), what), mend);
    }
    if (others.size() <= kNamedWorkflows) return;
    findings_.warning(
        "lint.limit_not_kept", place, written.at,
        fmt::format("calls of {} further workflows {}", others.size() - kNamedWorkflows, what),
        mend);
  }

  /// Whether a call of the function has no limit of its own: of an action, or a compensation, which
  /// has that of its function.
  bool is_called_without(Kind kind, const Node& function,
                         const std::vector<ActionSite>& actions) const {
    const std::string id = text_of(function, "id");
    const auto is_plain_call = [&](const ActionSite& one) {
      return one.function == &function && value_of(*one.action, name_of(kind)) == nullptr;
    };
    const std::vector<Node>& states = items_of(document_, "states");
    return std::any_of(actions.begin(), actions.end(), is_plain_call) ||
           std::any_of(states.begin(), states.end(), [&](const Node& state) {
             const Node* const undo = value_of(state, "compensate");
             return undo != nullptr && text_of(*undo, "function") == id;
           });
  }

  /// A limit of another workflow that `differs` accepts; null: there is none.
  template <class Differs>
  const CallLimit* other(Kind kind, const Target& target, const Differs& differs) const {
    for (const CallLimit& one : limits_.of(kind, target.described)) {
      if (one.workflow != id_ && differs(one)) return &one;
    }
    return nullptr;
  }

  /// How many further workflows than that of `named` have a limit that `differs` accepts, in
  /// parentheses; empty: none has.
  template <class Differs>
  std::string further(Kind kind, const Target& target, const CallLimit& named,
                      const Differs& differs) const {
    std::set<std::string_view> workflows;
    for (const CallLimit& one : limits_.of(kind, target.described)) {
      if (one.workflow != id_ && one.workflow != named.workflow && differs(one)) {
        workflows.insert(one.workflow);
      }
    }
    if (workflows.empty()) return "";
    return workflows.size() == 1 ? " (and 1 more has such a limit)"
                                 : fmt::format(" (and {} more have such limits)", workflows.size());
  }

  void check_function(Kind kind, const Node& function, const std::string& path,
                      const Target& target, const std::vector<ActionSite>& actions) {
    if (value_of(function, name_of(kind)) != nullptr) {
      check_limit(kind, function, path, target);
      return;
    }
    const auto is_any = [](const CallLimit&) { return true; };
    const CallLimit* const limit = other(kind, target, is_any);
    if (limit == nullptr || !is_called_without(kind, function, actions)) return;
    findings_.warning(
        "lint.limit_not_kept", path_of(path, target.key), target.name->at,
        fmt::format("workflow {} {}{}, and calls of this function have no `{}`, so they neither "
                    "count nor wait",
                    in_quotes(limit->workflow), what_it_lets(*limit, target.described),
                    further(kind, target, *limit, is_any), name_of(kind)),
        fmt::format("write `{}` in the function, unless its calls may exceed the limit",
                    as_written(*limit, kind)));
  }

  /// Checks the limit that a function or an action has, if it has one.
  void check_limit(Kind kind, const Node& owner, const std::string& path, const Target& target) {
    const Node* const written = value_of(owner, name_of(kind));
    if (written == nullptr) return;
    const std::string place = path_of(path, name_of(kind));
    const CallLimit own = limit_of(*written);
    if (const CallLimit* const unlike = other(kind, target, [&](const CallLimit& one) {
          return one.key.empty() != own.key.empty();
        })) {
      findings_.warning("lint.limit_not_kept", place, written->at,
                        fmt::format("these calls do not count together with those of workflow {}, "
                                    "whose `{}` for {} has {}",
                                    in_quotes(unlike->workflow), name_of(kind), target.described,
                                    unlike->key.empty() ? "no key" : "the key " + unlike->key),
                        "write the same `key` in both, or none");
      return;
    }
    const auto is_exceeded = [&](const CallLimit& one) {
      return !excess_over(one, own, kind).empty();
    };
    if (const CallLimit* const exceeded = other(kind, target, is_exceeded)) {
      findings_.warning(
          "lint.limit_not_kept", place, written->at,
          fmt::format("workflow {} {}{}, and these calls {}, so there may be more",
                      in_quotes(exceeded->workflow), what_it_lets(*exceeded, target.described),
                      further(kind, target, *exceeded, is_exceeded),
                      excess_over(*exceeded, own, kind)),
          fmt::format("write `{}`, unless these calls may go beyond it",
                      as_written(*exceeded, kind)));
      return;
    }
    if (const CallLimit* const unlike =
            other(kind, target, [&](const CallLimit& one) { return one.key != own.key; })) {
      findings_.note("lint.limit_not_kept", path_of(place, "key"), value_of(*written, "key")->at,
                     fmt::format("these calls count together with those of workflow {} for {} only "
                                 "if this key and its key {} have equal values",
                                 in_quotes(unlike->workflow), target.described, unlike->key),
                     "write the same `key`, unless the inputs of the calls differ");
    }
  }

  /// Reports other workflows whose calls exceed a limit of the document.
  void report_exceeding(Kind kind, const Node& written, const std::string& place,
                        const Target& target) {
    const CallLimit own = limit_of(written);
    std::set<std::string_view> reported;
    for (const CallLimit& one : limits_.of(kind, target.described)) {
      if (reported.size() == kNamedWorkflows) return;
      const std::string excess = one.workflow == id_ ? "" : excess_over(own, one, kind);
      if (excess.empty() || !reported.insert(one.workflow).second) continue;
      findings_.warning("lint.limit_not_kept", place, written.at,
                        fmt::format("{} of {} {}, so there may be more than this limit permits",
                                    beginning_on_calls_of(one.workflow), target.described, excess),
                        fmt::format("write `{}` there, unless these calls may go beyond it",
                                    as_written(own, kind)));
    }
  }

  const Node& document_;
  const CallLimits& limits_;
  Findings& findings_;
  const std::string id_;
};

/// null: the definition calls no service and no image, or the limits are not known.
std::shared_ptr<const CallLimits> limits_beside(const Node& document, const LimitsBeside& beside) {
  const std::vector<Node>& functions = items_of(document, "functions");
  const bool calls_others = std::any_of(functions.begin(), functions.end(),
                                        [](const Node& one) { return target_of(one).has_value(); });
  return beside && calls_others ? beside() : nullptr;
}

}  // namespace

void CallLimits::note(Kind kind, const Function& function, CallLimit limit) {
  std::vector<CallLimit>& all = limits_[{kind, described_target(function)}];
  if (std::find(all.begin(), all.end(), limit) == all.end()) all.push_back(std::move(limit));
}

void CallLimits::note_without(Kind kind, const Function& function, const std::string& workflow) {
  if (function.subflow() != nullptr) return;
  without_[{kind, described_target(function)}].insert(workflow);
}

void CallLimits::add(const Workflow& workflow) {
  const auto add_actions = [&](std::span<const Action> actions) {
    for (const Action& action : actions) {
      const Function& function = *action.function;
      if (!action.flow.concurrency) note_without(Kind::kConcurrency, function, workflow.id);
      if (!action.flow.throttle) note_without(Kind::kThrottle, function, workflow.id);
      if (const auto& limit = action.flow.concurrency) {
        note(Kind::kConcurrency, function,
             {.workflow = workflow.id, .limit = limit->limit, .key = text_of_key(limit->key)});
      }
      if (const auto& limit = action.flow.throttle) {
        note(Kind::kThrottle, function,
             {.workflow = workflow.id,
              .limit = limit->rate.limit,
              .period = limit->rate.period.text,
              .key = text_of_key(limit->rate.key)});
      }
    }
  };
  for (const auto& state : workflow.states) add_actions(state->actions());
  for (const auto& undo : workflow.compensations) {
    if (undo != nullptr) add_actions(undo->actions());
  }
}

std::span<const CallLimit> CallLimits::of(Kind kind, std::string_view target) const {
  const auto found = limits_.find({kind, std::string(target)});
  return found == limits_.end() ? std::span<const CallLimit>() : found->second;
}

std::vector<std::string> CallLimits::without(Kind kind, std::string_view target) const {
  const auto found = without_.find({kind, std::string(target)});
  if (found == without_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::string beginning_on_calls_of(std::string_view workflow) {
  return fmt::format("calls of workflow {}", in_quotes(workflow));
}

void lint_limits(const Node& document, const LimitsBeside& beside, Findings& findings) {
  const std::shared_ptr<const CallLimits> limits = limits_beside(document, beside);
  if (limits == nullptr) return;
  LimitLinter linter(document, *limits, findings);
  linter.run(Kind::kConcurrency);
  linter.run(Kind::kThrottle);
}

void lint_calls_beside(const Node& document, const LimitsBeside& beside, Findings& findings) {
  const std::shared_ptr<const CallLimits> limits = limits_beside(document, beside);
  if (limits == nullptr) return;
  LimitLinter linter(document, *limits, findings);
  linter.run_on_others(Kind::kConcurrency);
  linter.run_on_others(Kind::kThrottle);
}

}  // namespace millrace
