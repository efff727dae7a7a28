#include "cli/empty_list.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/incomplete_groups.h"
#include "cli/other_namespaces.h"

namespace millrace {
namespace {

struct FirstItem {
  std::string_view items;
  std::string_view how;  ///< what makes the first item
};

constexpr std::array kFirstItems{
    FirstItem{"namespaces", "`millrace namespace create NAME` creates one"},
    FirstItem{"workflows", "`millrace workflow apply FILE` stores one"},
    FirstItem{"instances", "`millrace run WORKFLOW` starts one"},
    FirstItem{"events", "`millrace event send` publishes one"},
    FirstItem{"replays", "`millrace event replay --since WHEN` begins one"},
    FirstItem{"schedules", "a workflow whose start has the type scheduled has one"},
    FirstItem{"listeners", "workflows that an event starts, and instances that wait, have some"},
    FirstItem{"secrets", "`millrace secret set ID` sets one"},
    FirstItem{"variables", "`millrace variable set KEY VALUE` sets one"},
    FirstItem{"sources", "`millrace source apply ID --settings JSON` creates one"},
    FirstItem{"inbound webhooks", "the settings of a namespace or an inbound file have them"},
    FirstItem{"services",
              "the settings of a namespace name them: "
              "`millrace namespace create NAME --settings @FILE`"},
};

/// Whether the parameter says which page of a list is returned, and not what the list has.
bool is_of_page(const std::string& parameter) {
  return parameter == "limit" || parameter == "cursor" || parameter == "order";
}

bool has_condition(const ApiCall& call) {
  return std::any_of(call.query.begin(), call.query.end(), [](const auto& parameter) {
    return !parameter.second.empty() && !is_of_page(parameter.first);
  });
}

/// Whether the list has items without the conditions of the call.
bool has_some_without_conditions(Session& session, const ApiCall& call) {
  const auto reply = session.client.send({.path = call.path, .query = {{"limit", "1"}}});
  return reply && !reply->body.value("items", Json::array()).empty();
}

/// Of a list of the instances of a workflow: that events wait for others before it starts.
std::string groups_advice(Session& session, const ApiCall& call, std::string_view items) {
  if (items != "instances") return "";
  const auto workflow = std::find_if(call.query.begin(), call.query.end(),
                                     [](const auto& one) { return one.first == "workflow"; });
  if (workflow == call.query.end()) return "";
  const std::string text = incomplete_groups_text(session, workflow->second);
  return text.empty() ? "" : "; " + text;
}

std::string advice(Session& session, const ApiCall& call, std::string_view items) {
  if (has_condition(call)) {
    return has_some_without_conditions(session, call) ? "; without the conditions there are some"
                                                      : "";
  }
  const auto* const first =
      std::find_if(kFirstItems.begin(), kFirstItems.end(),
                   [items](const FirstItem& one) { return one.items == items; });
  return first == kFirstItems.end() ? "" : fmt::format("; {}", first->how);
}

/// `such`: which ones there are none of, followed by a space.
void explain(Session& session, const ApiCall& call, std::string_view such, std::string_view items,
             bool has_advice) {
  if (session.output.format() != Format::kTable) return;
  std::string text = fmt::format("no {}{}", such, items);
  const std::string own = session.path({});
  const bool is_of_namespace =
      call.path.starts_with(own + "/") && call.path.find('/', own.size() + 1) == std::string::npos;
  std::string others;
  if (is_of_namespace) {
    text += fmt::format(" in namespace {}", session.ns);
    if (has_advice) others = other_namespaces_text(find_in_other_namespaces(session, call));
  }
  if (has_advice) text += others.empty() ? advice(session, call, items) : others;
  if (has_advice) text += groups_advice(session, call, items);
  session.console.err << harmless(text) << "\n";
}

}  // namespace

void explain_empty_list(Session& session, const ApiCall& call, std::string_view items) {
  explain(session, call, has_condition(call) ? "such " : "", items, true);
}

void explain_empty_rest(Session& session, const ApiCall& call, std::string_view items) {
  explain(session, call, "further ", items, false);
}

void explain_other_case(Session& session, const Json& found) {
  const Json attributes = found.value("attributes", Json::object());
  std::string options;
  for (const auto& [name, value] : attributes.items()) {
    if (!value.is_string()) continue;
    options += " --attr " + shell_word(fmt::format("{}={}", name, value.get<std::string>()));
  }
  session.console.err << harmless(
                             fmt::format("event {} differs in upper and lower case only; write{}",
                                         dump_json(found.value("sequence", Json())), options))
                      << "\n";
}

}  // namespace millrace
