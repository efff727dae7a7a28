#include "cli/incomplete_groups.h"

#include <fmt/format.h>

namespace millrace {

std::string incomplete_groups_text(Session& session, const std::string& workflow) {
  if (workflow.empty()) return "";
  const auto reply = session.client.send(
      {.path = session.path({"groups"}), .query = {{"workflow", workflow}, {"limit", "1"}}});
  if (!reply || reply->body.value("items", Json::array()).empty()) return "";
  return fmt::format(
      "events wait in incomplete groups of {}, which start no instance before the events of the "
      "other types come: `millrace -n {} group list --workflow {}` lists them",
      workflow, shell_word(session.ns), shell_word(workflow));
}

}  // namespace millrace
