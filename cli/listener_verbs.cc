// `millrace listener`: the starts and instances that wait for events.
#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

Ended list_listeners(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"listeners"})}, page,
      {field("KIND", "kind"), field("WORKFLOW", "workflow"), field("INSTANCE", "instance"),
       field("STATE", "state"), field("TYPE", "type"), field("CONTEXT", "context")},
      "type");
}

}  // namespace

void add_listener_verbs(CommandLine& commands) {
  CommandLine listener = commands.noun("listener", "Listeners for events");
  auto [list, page] =
      listener.asking<PageOptions>("list", "Lists the starts and instances that wait for events",
                                   "millrace listener list", list_listeners);
  add_page(list, page);
}

}  // namespace millrace
