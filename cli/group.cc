#include <fmt/format.h>

#include "cli/verbs.h"

namespace millrace {
namespace {

/// `paid 1, packed 0`.
std::string waiting_text(const Json& group) {
  std::string text;
  for (const Json& entry : group.value("entries", Json::array())) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.value("type", ""),
                        entry.value("waiting", 0));
  }
  return text;
}

}  // namespace

Ended list_groups(Session& session, const PageOptions& page) {
  return show_pages(session, {.path = session.path({"groups"})}, page,
                    {field("WORKFLOW", "workflow"), field("CORRELATE", "correlate"),
                     Column{"WAITING", waiting_text}, field("EXPIRES", "expiresAt")},
                    "workflow");
}

}  // namespace millrace
