#include "cli/verbs.h"

namespace millrace {

Ended list_listeners(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"listeners"})}, page,
      {field("KIND", "kind"), field("WORKFLOW", "workflow"), field("INSTANCE", "instance"),
       field("STATE", "state"), field("TYPE", "type"), field("CONTEXT", "context")},
      "type");
}

}  // namespace millrace
