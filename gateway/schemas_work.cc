// Schemas of the work of a namespace as a whole, of the series of the server, and of live messages.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"
#include "orchestrator/service/next_filter.h"

namespace millrace {
namespace {

Json service_item() {
  using namespace schema;
  const Json target = object({
      {"kind", word({"workers", "request", "http", "container"})},
      {"at", text("The subject, URL or image.")},
  });
  const Json start = object({{"p50", number("Seconds.")}, {"p99", number("Seconds.")}});
  const Json error = object({
      {"code", text("An error code.")},
      {"at", instant()},
      {"message?", text("The message; missing: it may contain a secret.")},
  });
  return object({
      {"service", text("The name of the service.")},
      {"target", target},
      {"paused", flag()},
      {"waiting", whole("How many tasks wait for a worker or the service.")},
      {"queued?", whole("How many others wait for a slot or the throttle of the service.", 1)},
      {"running", whole("How many tasks run.")},
      {"asking?", whole("How many requests of workers for tasks are open.")},
      {"global?", exactly(true, "It is a service of the namespace `default`.")},
      {"oldest?", instant("Since when the oldest of the tasks in `waiting` waits.")},
      {"scheduleToStart?", start},
      {"lastError?", error},
  });
}

Json server_levels() {
  using namespace schema;
  return object({
      {"readsEvents", flag("Whether events are read.")},
      {"sendsEvents", flag("Whether events can be sent.")},
      {"runsTasks", flag("Whether tasks are sent and reports read.")},
      {"tasksUnsent", whole()},
      {"httpRunning", whole()},
      {"httpWaiting", whole()},
      {"evaluationsWaiting", whole()},
      {"evaluationsRunning", whole()},
      {"jqWorkers", whole()},
  });
}

Json overview() {
  using namespace schema;
  const Json attention = with_consequence(
      object({
          {"kind",
           word({"failed", "timedout", "compensationStopped", "incompleteGroups", "pausedWorkflow",
                 "pausedService", "pausedSource", "sourceWaits", "settings", "retrying", "deadline",
                 "noWorkers", "deadLetters", "unknownNamespace", "server"})},
          {"namespace?", text("The name to which events were sent, and which no namespace has.")},
          {"workflow?", text("The id of the workflow.")},
          {"service?", text("The name of the service.")},
          {"source?", text("The name of the source.")},
          {"global?", exactly(true, "It is a service of the namespace `default`.")},
          {"instance?", instance_id()},
          {"state?", text("The id of the state.")},
          {"at?", instant("When the next attempt or the timeout is due.")},
          {"since?", instant("Since when the instance is in the state, or the oldest task waits.")},
          {"count?", whole("How many instances, groups, dead letters or waiting tasks.")},
          {"running?", whole("How many tasks of the service run.")},
          {"detail?", text("What is wrong, for people.")},
      }),
      false);
  const Json cut = object({
      {"kind", word({"counts", "failed", "timedout", "compensationStopped", "incompleteGroups",
                     "pausedWorkflow", "pausedService", "pausedSource", "sourceWaits", "retrying",
                     "deadline", "noWorkers", "unknownNamespace"})},
      {"exactUntil?", instant("Nothing that is due before is missing.")},
      {"detail?", text("Why items may be missing, for people; missing: there are more.")},
  });
  const Json broker = object({
      {"reading", flag("Whether events are read.")},
      {"waitingFor?", text("Why no events are read.")},
      {"losses", whole("How many losses of the broker are known.")},
  });
  const Json store = object({
      {"dataBytes", whole("The size of data.mdb.")},
      {"usedBytes", whole("How much of it has rows.")},
  });
  return object({
      {"counts", list(list(either({text(), whole()})),
                      "The id of a workflow, a status, and how many instances there are.")},
      {"attention", list(attention, "What asks for attention, 20 items of each kind at most.")},
      {"cut", list(cut, "The kinds of which items may be missing.")},
      {"levels", server_levels()},
      {"broker", broker},
      {"store?", store},
      {"asOf", instant()},
  });
}

}  // namespace

void add_work_schemas(ApiSchemas& all) {
  using namespace schema;
  all["Queue"].schema = object({
      {"kind", word({"starts", "calls"})},
      {"workflow?", text("Of starts: the id of the workflow.")},
      {"service?", text("Of calls: the name of the service.")},
      {"global?", exactly(true, "It is a service of the namespace `default`.")},
      {"image?", text("Of calls: the image of the container.")},
      {"reason", word({"concurrency", "throttle", "debounce", "batch"},
                      "For what the starts or calls wait; `debounce` and `batch` have put off one "
                      "start, which is a pending start.")},
      {"key?", any("The value of the `key` of what is the `reason`; none: it has none.")},
      {"limit?", whole("How many slots the key has, or how many instances may start, or calls be "
                       "handed out, in the period of the throttle; of calls: for the call that is "
                       "next.",
                       1)},
      {"held?", whole("How many instances or calls hold a slot; not of a throttle.")},
      {"queued", whole("How many starts or calls wait, without those in `paused`.")},
      {"paused?", whole("How many calls wait until their instance is resumed, or how many starts "
                        "have no turn of the throttle until they are resumed.",
                        1)},
      {"holdersPaused?", exactly(true, "Of starts: all instances that hold a slot are paused.")},
      {"workflowPaused?", exactly(true,
                                  "Of starts: the workflow is paused, and no start that waits "
                                  "begins before it is resumed.")},
      {"servicePaused?", exactly(true,
                                 "Of calls: the service is paused, and no call that waits is "
                                 "made before it is resumed.")},
      {"period?", text("The length of the period of the throttle, as the definition has it.")},
      {"inputs?", whole("Of a batch: how many inputs it has.", 1)},
      {"maxSize?", whole("Of a batch: with how many inputs it starts.", 1)},
      {"instance?", instance_id("Of a pending start: the instance that will start.")},
      {"since?", instant("Of a pending start: the time of its first request.")},
      {"startsAt?", instant("When the pending start begins, unless a newer request moves that; a "
                            "batch begins at the latest then.")},
      {"latestAt?", instant("Until when newer requests may move that; missing: for ever, or it is "
                            "a batch.")},
      {"refusal?", object({{"code", text("An error code.")},
                           {"msg", text("Of a pending start: why it would not be permitted now, by "
                                        "`rateLimit`, `singular` or a quota. One that is due and "
                                        "not permitted is tried again when the `rateLimit` permits "
                                        "it, else every 10 seconds.")}})},
      {"nextAt?", instant("When the throttle permits the next start or call; it may have passed. "
                          "Missing while all that wait are paused, by themselves or with their "
                          "workflow or service.")},
      {"next?", object({{"instance?",
                         instance_id("The start, or the instance of the call, that has the next "
                                     "turn.")},
                        {"task?", instance_id("The action id of the call.")},
                        {"since", instant("Since when it waits.")},
                        {"priority", number("Its priority.")}})},
      {"holder?", object({{"instance?", instance_id("The instance that has held a slot longest, or "
                                                    "that of the oldest call with a slot; of a "
                                                    "pending start that is refused because its "
                                                    "workflow is singular: the active instance.")},
                          {"task?", instance_id("The action id of the call.")},
                          {"since", instant("Since when it holds the slot, or is active.")}})},
  });
  all["Queues"].schema = page(ref("Queue"));
  all["SlotHolder"].schema = object({
      {"key?", any("The value of the `key` of the `concurrency`; none: it has none.")},
      {"global?", exactly(true, "The service is one of the namespace `default`.")},
      {"instance?", instance_id("The instance that holds the slot, or that of the call.")},
      {"task?", instance_id("The action id of the call that holds the slot.")},
      {"since", instant("Since when it holds the slot.")},
      {"paused?", exactly(true, "The instance, or that of the call, is paused.")},
      {"waitsFor?", word({"throttle"},
                         "It waits itself: for the throttle of the workflow, or of "
                         "the service of the call.")},
  });
  all["SlotHolders"].schema = page(ref("SlotHolder"));
  const Json firing = with_consequence(
      object({
          {"at", instant()},
          {"kind", word({kFiringKinds.begin(), kFiringKinds.end()})},
          {"instance?", instance_id("The instance; of a `pendingStart`, the id "
                                    "that it will have; of a `throttle`, the "
                                    "start that is next, or that of the call.")},
          {"workflow?", text("The id of the workflow.")},
          {"state?", text("The id of the state.")},
          {"paused?", exactly(true, "The instance, the workflow or the service is paused.")},
          {"caller?", caller()},
          {"reason?", word({"debounce", "batch"}, "Of a `pendingStart`.")},
          {"since?", instant("Of a `pendingStart`: as in the list of queues, like "
                             "the next members.")},
          {"startsAt?", instant()},
          {"latestAt?", instant()},
          {"inputs?", whole("", 1)},
          {"maxSize?", whole("", 1)},
          {"refusal?", object({{"code", text("An error code.")},
                               {"msg", text("Of a `pendingStart`: why its `rateLimit` would not "
                                            "permit it now.")}})},
          {"key?", any("Of a `pendingStart` or a `throttle`: the value of its "
                       "`key`; none: it has none.")},
          {"queued?", whole("Of a `throttle`: how many starts or calls wait.")},
          {"service?", text("Of a `throttle` of calls: the service.")},
          {"global?", exactly(true, "It is one of the namespace `default`.")},
          {"image?", text("Of a `throttle` of calls: the image.")},
          {"task?", instance_id("Of a `throttle` of calls: the action id of the "
                                "call that is next.")},
      }),
      true, {"event", "expiry", "start", "handOut"},
      "; a delayed `event` is published; an event leaves its group (`expiry`); an "
      "instance starts (`start`); or a call that has waited for its throttle is "
      "made (`handOut`)");
  all["Firings"].schema = extended(
      page(firing),
      {
          {"complete",
           flag("false: something that fires at `exactUntil` or later may be missing.")},
          {"cutBy?",
           word({"limit", "look"},
                "What has cut the list: its `limit`, or how much the server looks at in one "
                "call; missing: complete.")},
          {"exactUntil?", instant("Nothing that fires before is missing; missing: complete.")},
          {"looked", whole("At how many instances, events and timers the server has looked.")},
      });
  all["Services"].schema = bounded_page(service_item(), "How many tasks were read.");
  all["Overview"].schema = overview();
  all["Series"].schema = object({
      {"step", whole("The length of a step, in seconds.", 1)},
      {"from", or_null(instant("When the first step began; null: there is no step."))},
      {"series", map(list(number()), "The numbers of each step, by the name of the series.")},
  });
  all["LiveMessages"].media = {
      {"text/event-stream",
       {{"schema", text("Server-sent events with JSON; docs/http.md describes them.")}}}};
}

}  // namespace millrace
