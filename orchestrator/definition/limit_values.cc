#include "orchestrator/definition/limit_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/excerpt.h"
#include "base/json.h"
#include "base/lazy_json.h"
#include "expressions/program_facts.h"
#include "language/fields.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"
#include "states/slot_values.h"

namespace millrace {
namespace {

/// Whether the result of the jq program may depend on its input. Programs of the fast lane reach
/// their input by a path, by the short form of a member (`{customer}`), `length` or `not` only.
bool program_may_read_input(const Program& program) {
  if (facts_of(program.text).value) return false;
  const std::string_view text = program.text;
  return !key_paths_of(text).empty() || text.find('.') != std::string_view::npos ||
         text.find("length") != std::string_view::npos ||
         text.find("not") != std::string_view::npos;
}

}  // namespace

Result<Template> limit_query(const Node& value) { return Template::query(to_json(value)); }

bool may_read_input(const Result<Template>& value) {
  if (!value) return true;
  const auto programs = value->programs();
  return std::any_of(programs.begin(), programs.end(), program_may_read_input);
}

std::optional<std::set<std::string>> members_of_input(const Result<Template>& value) {
  if (!value) return std::nullopt;
  std::optional<std::set<std::string>> members = members_read(*value);
  if (members && members->empty()) return std::nullopt;
  return members;
}

bool needs_members(const Result<Template>& priority) {
  const LazyJson nothing = LazyJson::of_text("{}");
  return priority && !evaluated_priority(*priority, nothing, "");
}

std::string step_to(std::string_view member) {
  const bool is_name = !member.empty() && begins_name(member.front()) &&
                       std::all_of(member.begin(), member.end(), is_in_name);
  return is_name ? fmt::format(".{}", member) : fmt::format("[{}]", dump_json(Json(member)));
}

std::string path_to(std::string_view member) {
  const std::string step = step_to(member);
  return step.starts_with('[') ? "." + step : step;
}

std::string as_value(std::string_view program) {
  const auto is_plain = [](char c) {
    return is_in_name(c) || c == '.' || c == '/' || c == ' ' || c == '(' || c == ')';
  };
  if (std::all_of(program.begin(), program.end(), is_plain)) return fmt::format("jq({})", program);
  std::string text;
  for (const char c : program) text += c == '\'' ? "''" : std::string(1, c);
  return fmt::format("'jq({})'", text);
}

void warn_no_integer(const Node& owner, const std::string& path, std::string_view outcome,
                     Findings& findings) {
  const Node* const priority = value_of(owner, "priority");
  if (priority == nullptr || priority->kind == Node::Kind::kNull) return;  // as if it were absent
  const Result<Template> query = limit_query(*priority);
  if (!query) return;
  const ProgramFacts facts = facts_of(*query);
  std::string yielded;
  if (facts.value) {
    const LazyJson no_input;
    if (evaluated_priority(*query, no_input, "")) return;
    yielded = excerpt(dump_json(*facts.value));
  } else if (!facts.type.empty() && facts.type != "number") {
    yielded = fmt::format("a value of the type {}", facts.type);
  }
  if (yielded.empty()) return;
  findings.warning("lint.wrong_type", path_of(path, "priority"), priority->at,
                   fmt::format("this query never yields an integer of 32 bits: it yields {}, and "
                               "{} with millrace.concurrency.priority",
                               yielded, outcome),
                   "write a query that yields an integer, such as jq(.rank // 0)");
}

void warn_no_alternative(const Node& owner, const std::string& path, std::string_view outcome,
                         Findings& findings) {
  const Node* const priority = value_of(owner, "priority");
  if (priority == nullptr) return;
  const Result<Template> query = limit_query(*priority);
  const Program* const program = query ? query->whole() : nullptr;
  if (program == nullptr) return;
  if (!is_path_to_member(program->text)) {
    const ProgramFacts facts = facts_of(*query);
    const bool is_never = facts.value || (!facts.type.empty() && facts.type != "number");
    if (is_never || !members_of_input(query) || !needs_members(query)) return;
    findings.warning("lint.priority_missing", path_of(path, "priority"), priority->at,
                     fmt::format("if the member is missing, the priority is no integer, and {} "
                                 "with millrace.concurrency.priority",
                                 outcome),
                     "write an integer as the alternative, such as jq(.rank // 0)");
    return;
  }
  findings.warning(
      "lint.priority_missing", path_of(path, "priority"), priority->at,
      fmt::format("if the member is missing, the priority is null, and {} with "
                  "millrace.concurrency.priority",
                  outcome),
      fmt::format("write {}", as_value(fmt::format("{} // 0", trimmed(program->text)))));
}

}  // namespace millrace
