// `millrace dlq`: the dead-letter queue.
#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

Ended list_dead_letters(Session& session, const PageOptions& page) {
  return show_pages(
      session, {.path = session.path({"dlq"})}, page,
      {field("ID", "id"), age("AGE", "time", session.console.now()), field("REASON", "reason"),
       field("SUBJECT", "subject"), field("SIZE", "size"), field("DETAIL", "detail")},
      "id");
}

}  // namespace

void add_dlq_verbs(CommandLine& commands) {
  CommandLine dlq =
      commands.noun("dlq", "The dead-letter queue: messages that could not be processed");
  auto [list, page] = dlq.asking<PageOptions>("list", "Lists the dead letters with their reasons",
                                              "millrace dlq list", list_dead_letters);
  add_page(list, page);
}

}  // namespace millrace
