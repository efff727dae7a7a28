// `millrace dlq`: dead letters.
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
  CommandLine dlq = commands.noun("dlq", "What could not be used");
  auto [list, page] = dlq.asking<PageOptions>("list", "Lists what was set aside, and why",
                                              "millrace dlq list", list_dead_letters);
  add_page(list, page);
}

}  // namespace millrace
