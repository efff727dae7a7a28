#include "cli/verbs.h"

namespace millrace {

Ended list_dead_letters(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"dlq"})}, page,
      {field("ID", "id"), age("AGE", "time", session.console.now()), field("REASON", "reason"),
       field("SUBJECT", "subject"), field("SIZE", "size"), field("DETAIL", "detail")},
      "id");
}

}  // namespace millrace
