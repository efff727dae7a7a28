// `millrace queue`: lists the starts that wait for slots or throttles of their workflows, those
// that `debounce` or `batch` has put off, and the calls that wait for slots or throttles of their
// services; and what holds the slots.
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

struct HolderListOptions {
  std::string workflow;
  std::string service;
  std::string image;
  std::string key;  ///< JSON; empty: of all keys
  PageOptions page;
};

/// Whether the item is a start that `debounce` or `batch` has put off.
bool is_pending(const Json& queue) { return queue.contains("startsAt"); }

/// How many slots of the key are held: `1 of 3 held`. Of a throttle: what it permits, `10 in PT1M`.
/// Of a batch: with how many inputs it starts, `9 inputs`.
std::string limit_text(const Json& queue) {
  if (queue.contains("maxSize")) return field("", "maxSize").cell(queue) + " inputs";
  if (is_pending(queue)) return "-";
  if (queue.value("reason", "") == "throttle") {
    if (!queue.contains("limit")) return "-";
    if (!queue.contains("period")) return field("", "limit").cell(queue);
    return fmt::format("{} in {}", queue.value("limit", uint64_t{0}),
                       harmless(queue.value("period", "")));
  }
  const uint64_t held = queue.value("held", uint64_t{0});
  if (!queue.contains("limit")) return fmt::format("{} held", held);
  return fmt::format("{} of {} held", held, queue.value("limit", uint64_t{0}));
}

/// A member of an object in the item; `-`: it has none.
std::string inner_text(const Json& queue, const char* object, const char* member) {
  const Json inner = queue.value(object, Json::object());
  return harmless(inner.value(member, "-"));
}

/// Which instance has held a slot longest, and how many others hold one: `0190… and 2 more`.
std::string holders_text(const Json& queue) {
  const std::string oldest = inner_text(queue, "holder", "instance");
  const uint64_t held = queue.value("held", uint64_t{0});
  return held < 2 || oldest == "-" ? oldest : fmt::format("{} and {} more", oldest, held - 1);
}

/// How many starts or calls wait; of a batch, how many inputs it has.
std::string waiting_text(const Json& queue) {
  return field("", queue.contains("inputs") ? "inputs" : "queued").cell(queue);
}

/// Which start or call is next, of a pending start the instance that will start; since when it
/// waits, and when it may begin.
std::string next_text(const Json& queue) {
  return is_pending(queue) ? field("", "instance").cell(queue)
                           : inner_text(queue, "next", "instance");
}
std::string since_text(const Json& queue) {
  return is_pending(queue) ? field("", "since").cell(queue) : inner_text(queue, "next", "since");
}
std::string next_at_text(const Json& queue) {
  return field("", is_pending(queue) ? "startsAt" : "nextAt").cell(queue);
}

/// What is paused, so that nothing that waits gets its turn: the workflow, the service, or all that
/// hold a slot; and how many wait for the resume of their instances. `-`: nothing.
std::string paused_text(const Json& queue) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (queue.contains("workflowPaused")) add("workflow");
  if (queue.contains("servicePaused")) add("service");
  if (queue.contains("holdersPaused")) add("holders");
  if (queue.contains("paused")) {
    add(field("", "paused").cell(queue) + " " + field("", "kind").cell(queue));
  }
  return text.empty() ? "-" : text;
}

/// The priority of the start or call that is next.
std::string priority_text(const Json& queue) {
  return field("", "priority").cell(queue.value("next", Json::object()));
}

/// For what the starts or calls wait; of a pending start that would be refused now also the error.
std::string awaited_text(const Json& queue) {
  const std::string reason = field("", "reason").cell(queue);
  const std::string refused = inner_text(queue, "refusal", "code");
  return refused == "-" ? reason : fmt::format("{} ({})", reason, refused);
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
      {field("KIND", "kind"), Column{"WORKFLOW OR SERVICE", of_text}, json_value("KEY", "key"),
       Column{"WAITS FOR", awaited_text}, Column{"WAITING", waiting_text},
       Column{"LIMIT", limit_text}, Column{"PAUSED", paused_text}, Column{"NEXT", next_text},
       Column{"PRIORITY", priority_text}, Column{"SINCE", since_text},
       Column{"NEXT AT", next_at_text}, Column{"HELD BY", holders_text}},
      "kind");
}

Ended list_holders(Session& session, const HolderListOptions& options) {
  const int given = (options.workflow.empty() ? 0 : 1) + (options.service.empty() ? 0 : 1) +
                    (options.image.empty() ? 0 : 1);
  if (given != 1) {
    return wrong_usage(
        "give one of --workflow, --service and --image: whose slots are meant; `queue list` lists "
        "those for which something waits");
  }
  return show_pages(
      session,
      {.path = session.path({"queues", "holders"}),
       .query = {{"workflow", options.workflow},
                 {"service", options.service},
                 {"image", options.image},
                 {"key", options.key}}},
      options.page,
      {json_value("KEY", "key"), field("INSTANCE", "instance"), field("TASK", "task"),
       field("SINCE", "since"), flag("PAUSED", "paused"), field("WAITS FOR", "waitsFor")},
      "instance");
}

void add_holders_verb(CommandLine& queue) {
  auto [holders, held] = queue.asking<HolderListOptions>(
      "holders",
      "Lists the instances that hold slots of a workflow with `concurrency`, or the calls that "
      "hold slots of a service or an image, by key, and those of a key from the oldest on: which "
      "are paused, and which wait for a throttle themselves",
      "millrace queue holders --workflow ship --key '\"c-1\"'", list_holders);
  holders.option("--workflow", held.workflow, "The workflow whose slots are meant", "ID");
  holders.option("--service", held.service, "The service whose slots are meant", "NAME");
  holders.option("--image", held.image, "The image of the containers whose slots are meant",
                 "IMAGE");
  holders.option("--key", held.key, "Only slots of this key", "JSON");
  add_page(holders, held.page);
}

}  // namespace

void add_queue_verbs(CommandLine& commands) {
  CommandLine queue =
      commands.noun("queue", "Starts that wait for their workflow, and calls for their service");
  auto [list, listed] = queue.asking<QueueListOptions>(
      "list",
      "Lists the keys of workflows and of services with `concurrency` or `throttle` for which "
      "starts or calls wait: which is next and its priority, when the throttle permits it, what is "
      "paused, and which instance has held a slot longest; and the starts that `debounce` or "
      "`batch` has put off: how many inputs "
      "a batch has, which instance will start, when, and which error would refuse it now",
      "millrace queue list --workflow ship", list_queues);
  list.option("--workflow", listed.workflow,
              "Only keys and pending starts of this workflow, and no calls", "ID");
  add_page(list, listed.page);
  add_holders_verb(queue);
}

}  // namespace millrace
