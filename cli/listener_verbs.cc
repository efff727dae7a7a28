// `millrace listener`: the starts and instances that wait for events.
#include <optional>
#include <string>
#include <utility>

#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

struct ListenerOptions {
  std::string kind;
  std::string type;
  std::string workflow;
  std::string attribute;
  std::optional<std::string> value;
  PageOptions page;
};

Ended list_listeners(Session& session, const ListenerOptions& options) {
  ApiCall call{.path = session.path({"listeners"}),
               .query = {{"kind", options.kind},
                         {"type", options.type},
                         {"workflow", options.workflow},
                         {"attribute", options.attribute}}};
  if (options.value && options.value->empty()) {
    return wrong_usage("--value: expected the value of the attribute, not an empty text");
  }
  if (options.value) call.query.emplace_back("value", *options.value);
  return show_pages(
      session, std::move(call), options.page,
      {field("KIND", "kind"), field("WORKFLOW", "workflow"), field("INSTANCE", "instance"),
       field("STATE", "state"), field("TYPE", "type"), field("CONTEXT", "context")},
      "type");
}

}  // namespace

void add_listener_verbs(CommandLine& commands) {
  CommandLine listener = commands.noun("listener", "Listeners for events");
  auto [list, listed] = listener.asking<ListenerOptions>(
      "list", "Lists the starts and instances that wait for events",
      "millrace listener list --type payment.received --attribute orderid --value o-1742",
      list_listeners);
  list.option("--kind", listed.kind, "Only those of starts, or only those of instances",
              "start|instance");
  list.option("--type", listed.type, "Only those for events of this type");
  list.option("--workflow", listed.workflow, "Only those of this workflow and its instances", "ID");
  list.option("--attribute", listed.attribute,
              "Only those with a condition on this context attribute", "NAME");
  list.option(
      "--value", listed.value,
      "Only those whose condition on the attribute holds for this value; without --attribute, "
      "those that ask for exactly this value of any attribute");
  add_page(list, listed.page);
}

}  // namespace millrace
