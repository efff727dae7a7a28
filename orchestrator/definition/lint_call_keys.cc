#include "orchestrator/definition/lint_call_keys.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "language/grammar.h"
#include "language/walk.h"
#include "orchestrator/definition/limit_values.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/start_data.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 2> kLimits = {"concurrency", "throttle"};

/// What a definition says of the input of a call.
struct CallInput {
  std::set<std::string> members;
  std::set<std::string> constants;  ///< those of the members that are never missing and never null
};

/// The members of the input; nullopt: they depend on the data.
std::optional<CallInput> known_input(const Node& call) {
  const Node* const input = value_of(call, "input");
  if (input == nullptr) return std::nullopt;
  CallInput known;
  if (input->kind == Node::Kind::kMapping) {
    for (const Member& member : input->members) {
      known.members.insert(member.key);
      if (member.value.kind != Node::Kind::kNull && !has_jq(member.value)) {
        known.constants.insert(member.key);
      }
    }
    return known;
  }
  if (input->kind != Node::Kind::kString) return std::nullopt;
  const auto query = Template::literal_or_jq(to_json(*input), Template::Dot::kIdentity);
  const Program* const program = query ? query->whole() : nullptr;
  if (program == nullptr) return std::nullopt;
  auto keys = object_keys_of(program->text);
  if (!keys) return std::nullopt;
  known.members = *std::move(keys);
  return known;
}

/// A call of a function: an action or a compensation, which has the limits of its function.
struct Site {
  const Node* call = nullptr;
  std::string path;
  bool has_own_limits = false;
  std::optional<StartData> started;  ///< the input, if it is the data with which instances start
};

/// The data with which instances start, if the first state has no other: no state leads to it, and
/// no run follows another one.
std::optional<StartData> data_of_first_state(const Node& document) {
  std::optional<StartData> data = data_of_instances(document);
  const std::vector<Node>& states = items_of(document, "states");
  if (!data || states.empty()) return std::nullopt;
  const std::string id = text_of(states[first_state(document)], "id");
  bool has_other = false;
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    const bool names_state =
        place.rule.kind == KeyRule::Kind::kState || place.rule.instead == KeyRule::Kind::kState;
    const bool leads_there = names_state && place.member.value.text == id;
    has_other |= is_next_run_key(place.rule);
    has_other |= leads_there && !place.path.starts_with("start.");
  });
  return has_other ? std::nullopt : data;
}

/// The action as a call with its own limits.
Site site_of(const ActionSite& action, size_t first, const std::optional<StartData>& data) {
  Site site{action.action, action.path, true, std::nullopt};
  const bool has_data = action.state_index == first && type_of_state(*action.state) != "foreach";
  if (!has_data || !data || action.action->find("input") != nullptr) return site;
  site.started = data;
  if (action.action->find("secrets") != nullptr) site.started->members.insert("secrets");
  return site;
}

using SitesOfFunctions = std::map<const Node*, std::vector<Site>>;

/// The calls of each function, in the order of the text. `calls` are those of `actions`.
SitesOfFunctions sites_of(const Node& document, const std::vector<ActionSite>& actions,
                          const std::vector<Site>& calls) {
  SitesOfFunctions sites;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].function != nullptr) sites[actions[i].function].push_back(calls[i]);
  }
  for (const CompensationSite& one : compensations_of(document)) {
    sites[one.function].push_back({one.call, one.path, false, std::nullopt});
  }
  return sites;
}

/// A `key` or a `priority`.
struct LimitValue {
  std::string what;  ///< its name
  std::string path;
  Position at;
  Result<Template> query;
  std::optional<std::set<std::string>> members;  ///< that it reads; nullopt: it may read others

  LimitValue(std::string name, const Node& value, std::string place)
      : what(std::move(name)),
        path(std::move(place)),
        at(value.at),
        query(limit_query(value)),
        members(members_of_input(query)) {}
};

/// The member of the input that is probably meant: a similar one, or the only one that begins so.
std::optional<std::string> meant_member(const std::string& member, const CallInput& input) {
  constexpr size_t kShortest = 3;  // of a name that others may continue
  const std::vector<std::string_view> members(input.members.begin(), input.members.end());
  if (auto near = likely(member, members)) return near;
  if (member.size() < kShortest) return std::nullopt;
  const auto begins_so = [&](std::string_view one) { return one.starts_with(member); };
  const auto first = std::find_if(members.begin(), members.end(), begins_so);
  if (first == members.end()) return std::nullopt;
  const bool is_only = std::find_if(first + 1, members.end(), begins_so) == members.end();
  return is_only ? std::optional(std::string(*first)) : std::nullopt;
}

/// The members of the input, in words.
std::string named_members(const CallInput& input) {
  constexpr size_t kMostNamed = 5;
  if (input.members.empty()) return "is empty";
  std::string text = "has ";
  size_t number = 0;
  for (const std::string& member : input.members) {
    if (number == kMostNamed)
      return text + fmt::format(" and {} more", input.members.size() - number);
    text += fmt::format("{}{}", number++ == 0 ? "" : ", ", in_quotes(member));
  }
  return text;
}

/// What to write in place of a value that reads a member which the input does not have.
std::string mend_of_member(const LimitValue& value, const std::string& member,
                           const CallInput& input) {
  const std::optional<std::string> meant = meant_member(member, input);
  if (!meant) {
    return fmt::format("add {} to the `input`, which {}, or read another member", in_quotes(member),
                       named_members(input));
  }
  const Program* const program = value.query ? value.query->whole() : nullptr;
  const std::string_view text = program == nullptr ? "" : trimmed(program->text);
  const std::string read = "." + member;
  if (!text.starts_with(read)) return fmt::format("did you mean {}?", in_quotes(*meant));
  return fmt::format("did you mean {}?",
                     as_value(path_to(*meant) + std::string(text.substr(read.size()))));
}

/// What follows if the value reads only members that the input of a call does not have.
std::string outcome_of(const LimitValue& value) {
  const bool fails = value.what == "priority" && needs_members(value.query);
  return fails ? "each of these calls fails with millrace.concurrency.priority"
               : fmt::format("the {} is the same for all of these calls", value.what);
}

/// Warns of a value of a call that reads only members which the data with which instances start
/// does not have. `is_only`: no other call has the value. Returns whether it does.
bool warn_missing_of_start(const LimitValue& value, const Site& site, bool is_only,
                           Findings& findings) {
  const StartData& data = *site.started;
  const std::optional<std::string> member = missing_member(value.query, data);
  if (!member) return false;
  std::string mend = fmt::format("give the action an `input` with {}, or remove the {}",
                                 in_quotes(*member), value.what);
  if (!data.path.empty()) {
    std::string program = corrected(value.query, *member, data);
    const bool may_fail = value.what == "priority" && needs_members(value.query);
    if (may_fail && is_path_to_member(program)) program += " // 0";
    mend = is_only ? fmt::format("write {}", as_value(program))
                   : fmt::format("write `input: {}` in the action", as_value(data.path));
  }
  findings.warning("lint.call_key", value.path, value.at,
                   fmt::format("the input of {} is the data of {}, which has no member {}, so {}",
                               site.path, data.by, in_quotes(*member), outcome_of(value)),
                   std::move(mend));
  return true;
}

/// Warns of a value of a call that reads only members which its input does not have. Returns
/// whether it does.
bool warn_missing(const LimitValue& value, const Site& site, bool is_only, Findings& findings) {
  if (site.started) return warn_missing_of_start(value, site, is_only, findings);
  if (!value.members) return false;
  const std::optional<CallInput> input = known_input(*site.call);
  if (!input) return false;
  const auto is_there = [&](const std::string& one) { return input->members.contains(one); };
  if (std::any_of(value.members->begin(), value.members->end(), is_there)) return false;
  const std::string& member = *value.members->begin();
  findings.warning("lint.call_key", value.path, value.at,
                   fmt::format("the input of {} has no member {}, so {}", site.path,
                               in_quotes(member), outcome_of(value)),
                   mend_of_member(value, member, *input));
  return true;
}

/// Warns of a `key` of calls that reads nothing of their input.
void warn_same_key(const Node& owner, const std::string& path, Findings& findings) {
  for (const std::string_view limit : {"concurrency", "throttle"}) {
    const Node* const written = value_of(owner, limit);
    const Member* const key = written == nullptr ? nullptr : written->find("key");
    if (key == nullptr || may_read_input(limit_query(key->value))) continue;
    findings.warning("lint.call_key", path_of(path_of(path, limit), "key"), key->value.at,
                     "the key reads nothing of the input, so it is the same for all calls",
                     "write a path such as jq(.customer), or remove the key");
  }
}

/// A priority orders calls that wait, and without `concurrency` and `throttle` none does.
void warn_priority_of_calls(const Node& owner, const std::string& path, bool has_limit,
                            Findings& findings) {
  const Member* const priority = owner.find("priority");
  if (priority == nullptr || has_limit) return;
  findings.warning("lint.concurrency_never", path_of(path, "priority"), priority->at,
                   "`priority` has no effect: without `concurrency` and `throttle` no call waits",
                   "remove it, or write `concurrency` or `throttle` beside it");
}

/// Whether the path that the priority is leads to a member that the input always has.
bool is_always_there(const LimitValue& priority, const Site& site) {
  const std::optional<CallInput> input = known_input(*site.call);
  return input && priority.members && input->constants.contains(*priority.members->begin());
}

/// Whether a call of the function has another value of its own for the key.
bool has_own(const Site& site, const Node& owner, std::string_view key) {
  return site.has_own_limits && site.call != &owner && site.call->find(key) != nullptr;
}

/// Compares the keys and the priority of a function or an action with the input of each call.
void warn_of_inputs(const Node& owner, const std::string& path, const std::vector<Site>& sites,
                    Findings& findings) {
  const bool is_only = sites.size() == 1;
  for (const std::string_view limit : kLimits) {
    const Node* const written = value_of(owner, limit);
    const Node* const key = written == nullptr ? nullptr : value_of(*written, "key");
    if (key == nullptr) continue;
    const LimitValue value("key", *key, path_of(path_of(path, limit), "key"));
    for (const Site& site : sites) {
      if (!has_own(site, owner, limit)) warn_missing(value, site, is_only, findings);
    }
  }
  const Node* const priority = value_of(owner, "priority");
  if (priority == nullptr) return;
  const LimitValue value("priority", *priority, path_of(path, "priority"));
  bool may_lack = sites.empty();
  for (const Site& site : sites) {
    if (has_own(site, owner, "priority")) continue;
    const bool is_missing = warn_missing(value, site, is_only, findings);
    may_lack = may_lack || (!is_missing && !is_always_there(value, site));
  }
  if (may_lack) warn_no_alternative(owner, path, "the call fails", findings);
}

/// Warns of the limits of a function or an action. `has_limit`: whether its calls may wait.
void lint_owner(const Node& owner, const std::string& path, bool has_limit,
                const std::vector<Site>& sites, Findings& findings) {
  warn_same_key(owner, path, findings);
  warn_no_integer(owner, path, "each call fails", findings);
  warn_priority_of_calls(owner, path, has_limit, findings);
  if (has_limit) warn_of_inputs(owner, path, sites, findings);
}

}  // namespace

void lint_call_keys(const Node& document, Findings& findings) {
  const auto has_limit = [](const Node& owner) {
    return std::any_of(kLimits.begin(), kLimits.end(),
                       [&](std::string_view limit) { return owner.find(limit) != nullptr; });
  };
  const std::vector<ActionSite> actions = actions_of(document);
  const std::optional<StartData> started = data_of_first_state(document);
  const size_t first = first_state(document);
  std::vector<Site> calls;
  for (const ActionSite& one : actions) calls.push_back(site_of(one, first, started));
  SitesOfFunctions all_sites = sites_of(document, actions, calls);
  const std::vector<Node>& functions = items_of(document, "functions");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Node& function = functions[i];
    std::vector<Site>& sites = all_sites[&function];
    const bool is_limited = has_limit(function);
    if (!is_limited) {  // the priority of a call without a limit is never evaluated
      std::erase_if(sites, [&](const Site& one) { return !has_limit(*one.call); });
    }
    lint_owner(function, path_of("functions", i), is_limited || !sites.empty(), sites, findings);
  }
  for (size_t i = 0; i < actions.size(); ++i) {
    const ActionSite& one = actions[i];
    const bool is_limited = one.function != nullptr && has_limit(*one.function);
    lint_owner(*one.action, one.path, has_limit(*one.action) || is_limited, {calls[i]}, findings);
  }
}

}  // namespace millrace
