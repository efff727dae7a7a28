#include "orchestrator/definition/start_data.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "expressions/program_facts.h"
#include "orchestrator/definition/limit_values.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

/// The types of the events that start the workflow.
std::vector<std::string> types_of_start(const Node& start) {
  std::vector<std::string> types;
  const auto add = [&types](const Node& entry) {
    const Node* const event = value_of(entry, "event");
    types.push_back(text_of(event == nullptr ? entry : *event, "type"));
  };
  if (value_of(start, "event") != nullptr) add(start);
  for (const Node& entry : items_of(start, "events")) add(entry);
  return types;
}

/// The data of an instance that starts with a batch of such data.
StartData data_of_batches(const std::optional<StartData>& one) {
  return {{"events"}, "an instance with `batch`", ".events[0]" + (one ? one->path : "")};
}

/// Whether a member has a name by which some take the event itself.
bool is_name_of_event(std::string_view member) { return member == "event" || member == "data"; }

}  // namespace

std::optional<StartData> data_of_starts(const Node& document) {
  const Node* const start = value_of(document, "start");
  if (start == nullptr) return std::nullopt;
  if (text_of(*start, "type") == "scheduled") return StartData{{}, "a start by the schedule", ""};
  const std::vector<std::string> types = types_of_start(*start);
  if (types.empty()) return std::nullopt;
  return StartData{{types.begin(), types.end()}, "a start by an event", path_to(types.front())};
}

std::optional<std::string> missing_member(const Result<Template>& value, const StartData& data) {
  const std::optional<std::set<std::string>> members = members_of_input(value);
  if (!members) return std::nullopt;
  const auto is_there = [&data](const std::string& member) {
    return std::any_of(data.members.begin(), data.members.end(), [&](const std::string& one) {
      return one == member || one.starts_with(member + ".");
    });
  };
  if (std::any_of(members->begin(), members->end(), is_there)) return std::nullopt;
  return *members->begin();
}

std::string corrected(const Result<Template>& value, const std::string& member,
                      const StartData& data) {
  const Program* const program = value ? value->whole() : nullptr;
  const std::string_view text = program == nullptr ? "" : trimmed(program->text);
  const auto paths = key_paths_of(text);
  if (!text.starts_with('.') || paths.size() != 1) return data.path + step_to(member);
  std::string rest(text.starts_with(".[") ? text.substr(1) : text);
  const std::vector<std::string>& path = paths.front();
  const std::string wrong = "." + path.front();
  if (path.size() > 1 && is_name_of_event(path.front()) && rest.starts_with(wrong)) {
    rest.erase(0, wrong.size());
  }
  return data.path + rest;
}

std::optional<StartData> data_of_instances(const Node& document) {
  const std::optional<StartData> asked = data_of_starts(document);
  const bool has_batch = value_of(document, "batch") != nullptr;
  return has_batch ? std::optional(data_of_batches(asked)) : asked;
}

}  // namespace millrace
