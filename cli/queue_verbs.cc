// `millrace queue`: lists the starts that wait for slots or throttles of their workflows, and the
// calls that wait for those of their services.
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/pages.h"

namespace millrace {
namespace {

struct QueueListOptions {
  std::string workflow;
  PageOptions page;
};

/// How many slots of the key are taken: `1 of 3`. Of a throttle: what it permits, `10 in PT1M`.
std::string limit_text(const Json& queue) {
  if (queue.value("reason", "") == "throttle") {
    if (!queue.contains("limit")) return "-";
    return fmt::format("{} in {}", queue.value("limit", uint64_t{0}),
                       harmless(queue.value("period", "")));
  }
  const uint64_t held = queue.value("held", uint64_t{0});
  if (!queue.contains("limit")) return std::to_string(held);
  return fmt::format("{} of {}", held, queue.value("limit", uint64_t{0}));
}

/// A member of an object in the item; `-`: it has none.
std::string inner_text(const Json& queue, const char* object, const char* member) {
  const Json inner = queue.value(object, Json::object());
  return harmless(inner.value(member, "-"));
}

/// What the slots are for: the workflow, the service or the image.
std::string of_text(const Json& queue) {
  for (const char* const member : {"workflow", "service", "image"}) {
    if (queue.contains(member)) return harmless(queue.value(member, ""));
  }
  return "-";
}

Ended list_queues(Session& session, const QueueListOptions& options) {
  return show_pages(
      session, {.path = session.path({"queues"}), .query = {{"workflow", options.workflow}}},
      options.page,
      {field("KIND", "kind"), Column{"WORKFLOW OR SERVICE", of_text}, field("KEY", "key"),
       field("WAITS FOR", "reason"), field("WAITING", "queued"), Column{"LIMIT", limit_text},
       Column{"NEXT", [](const Json& one) { return inner_text(one, "next", "instance"); }},
       Column{"SINCE", [](const Json& one) { return inner_text(one, "next", "since"); }},
       field("NEXT AT", "nextAt"),
       Column{"HELD BY", [](const Json& one) { return inner_text(one, "holder", "instance"); }}},
      "kind");
}

}  // namespace

void add_queue_verbs(CommandLine& commands) {
  CommandLine queue =
      commands.noun("queue", "Starts that wait for their workflow, and calls for their service");
  auto [list, listed] = queue.asking<QueueListOptions>(
      "list",
      "Lists the keys of workflows and of services with `concurrency` or `throttle` for which "
      "starts or calls wait: which is next, when the throttle permits it, and which instance has "
      "held a slot longest",
      "millrace queue list --workflow ship", list_queues);
  list.option("--workflow", listed.workflow, "Only keys of this workflow, and no calls", "ID");
  add_page(list, listed.page);
}

}  // namespace millrace
