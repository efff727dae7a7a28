// Schemas of instances: lists, one instance, its history, and the answers to commands.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"
#include "model/history.h"

namespace millrace {
namespace {

/// What lists and a single instance show.
Json instance_head() {
  using namespace schema;
  return object({
      {"id", instance_id()},
      {"workflow", text("The id of the workflow; empty: the instance is damaged.")},
      {"revision", whole("The revision of the workflow.")},
      {"status", word({"pending", "running", "waiting", "paused", "complete", "failed", "timedout",
                       "cancelled", "damaged"})},
      {"state", text("The id of the state in which the instance is.")},
      {"startedAt", instant()},
      {"endedAt?", instant()},
      {"error?", object({{"code", text("The error code.")}, {"msg", text("The message.")}})},
      {"sealed?", exactly(true, "The data may contain a secret, and is masked or hidden.")},
      {"failedState?", text("The id of the state that failed.")},
      {"nextRetryAt?", instant("When the next attempt begins.")},
      {"deadline?", instant("The earliest deadline.")},
      {"run?", whole("The number of the run, from 1; missing: the instance is damaged.", 1)},
      {"compensation?", compensation()},
      {"historyTrimmed?", whole("How many records of the history were erased.", 1)},
      {"parent?", instance_id("The instance that started this one.")},
      {"damage?", text("What is wrong with the rows of the instance.")},
  });
}

/// The members of a call of an instance.
Json instance_call() {
  using namespace schema;
  const Json deadlines = map(instant(), "The deadlines of the call, by the name of the timeout.");
  const Json last_error =
      object({{"code", text()}, {"message", text()}, {"at", instant("When it happened.")}});
  return object({
      {"status", word({"queued", "scheduled", "running", "retrying", "complete", "failed"})},
      {"attempt", whole("The number of the latest attempt; 0: none yet.")},
      {"task?", instance_id("The action id of the latest attempt of a function.")},
      {"instance?", instance_id("The instance of the latest attempt of a subflow.")},
      {"nextRetryAt?", instant("When the next attempt begins.")},
      {"lastError?", last_error},
      {"progress?", any("The newest progress in a heartbeat of the call.")},
      {"progressAt?", instant("When that heartbeat came.")},
      {"deadlines?", deadlines},
  });
}

/// What the slot of a call and the throttle for which a call waits have in common.
Json limit_of_call() {
  using namespace schema;
  return object({
      {"service?", text("The name of the service.")},
      {"global?", exactly(true, "It is a service of the namespace `default`.")},
      {"image?", text("The image of the container.")},
      {"keySealed?", exactly(true,
                             "The key may contain data of a secret: it may be masked, and "
                             "`queues/holders` does not find it by `key`.")},
      {"paused?", exactly(true, "It waits until its instance is resumed.")},
      {"servicePaused?", exactly(true,
                                 "The service is paused: no call gets a slot or passes the "
                                 "throttle before it is resumed.")},
  });
}

/// The slot that a call needs.
Json call_slot() {
  using namespace schema;
  return extended(
      limit_of_call(),
      {{"key?", either({text(), number(), flag()},
                       "The value of `concurrency.key`; none: the call has no key.")},
       {"limit", whole("How many calls may hold a slot when this one gets its slot.", 1)},
       {"priority", number("A call with a higher one gets a slot first.")},
       {"queued", flag("Whether the call waits for the slot.")},
       {"until?", instant("When its wait ends with `millrace.concurrency.timeout`; missing: it has "
                          "no timeout, or a pause holds it.")},
       {"held", whole("How many calls hold a slot of the service and key.")},
       {"waiting", whole("How many calls wait for one.")},
       {"holders?", list(ref("SlotHolder"),
                         "Of one that waits: the calls that have held theirs "
                         "longest; at most three.")}});
}

/// The throttle for which a call waits.
Json call_throttle() {
  using namespace schema;
  return extended(limit_of_call(),
                  {{"key?", either({text(), number(), flag()},
                                   "The value of `throttle.key`; none: the call has no key.")},
                   {"limit", whole("How many calls may be handed out in the period.", 1)},
                   {"period", text("The length of the period, as the definition has it.")},
                   {"priority", number("A call with a higher one is handed out first.")},
                   {"waiting", whole("How many calls of the service and key wait.")},
                   {"until?", instant("When its wait ends with `millrace.throttle.timeout`; "
                                      "missing: it has no timeout, or a pause holds it.")},
                   {"nextAt?", instant("When the throttle permits the next call of the key; it may "
                                       "have passed. Missing while the service is paused.")}});
}

/// A task that a service has accepted.
Json accepted_task() {
  using namespace schema;
  return object({
      {"task", instance_id("The action id of the attempt.")},
      {"namespace", text("The name of the namespace.")},
      {"instance", instance_id()},
      {"state", text("The id of the state that made the call.")},
      {"function", text("The id of the function in the workflow.")},
      {"attempt", whole("The number of the attempt, from 1.", 1)},
      {"since", instant("When the attempt was made.")},
      {"deadline?", instant("When a timeout ends the attempt at the latest.")},
      {"progress?", any("The newest progress in a heartbeat of the call.")},
      {"progressAt?", instant("When that heartbeat came.")},
      {"detached?", exactly(true, "No call waits for the answer.")},
  });
}

Json history_record() {
  using namespace schema;
  return object({
      {"number", whole("The number of the record, from 1.", 1)},
      {"time", instant()},
      {"kind", word(history_kind_names())},
      {"state?", text("The id of the state.")},
      {"detail?",
       any("What is known of this kind of record. Of `returned`, `by` says that the answer did "
           "not come from the runner of the call: `httpCallback`, `natsCallback` or "
           "`operator`.")},
      {"data?", any("The data of the instance after the record.")},
  });
}

/// An instance with its data, its calls and what it waits for.
Json whole_instance() {
  using namespace schema;
  const Json wait = object({
      {"type", text("The type of the events.")},
      {"context", ref("EventContext")},
      {"since", instant("When the instance entered its state.")},
  });
  const Json timer = with_consequence(object({
      {"kind", word({"stateTimeout", "delay", "retry", "interrupt", "kill", "runTimeout",
                     "executionTimeout", "call", "queueTimeout", "throttleTimeout"})},
      {"at", instant()},
      {"held?", exactly(true,
                        "The instance is paused, and the timer does not fire before its "
                        "resume; of a `call` also: the service is paused, and no time of the "
                        "calls counts.")},
      {"caller?", caller()},
  }));
  const Json noted = object({
      {"number", whole("The number of the compensation, from 1.", 1)},
      {"state?", text("The id of the state that it undoes.")},
      {"function?", text("The id of the function that it calls.")},
      {"input?", any("The input of the call, or what it is evaluated over.")},
      {"damage?",
       text("What is wrong with the row of the compensation; then the row is not shown.")},
  });
  const Json children = object({
      {"counts", map(whole(), "How many of the children have each status.")},
      {"complete", flag("false: there are more children than were counted.")},
  });
  return extended(instance_head(),
                  {
                      {"input", any("The input.")},
                      {"data", any("The data.")},
                      {"calls?", list(ref("InstanceCall"))},
                      {"callCounts?", map(whole(), "How many calls have each status.")},
                      {"attempt", whole("The number of the current attempt.")},
                      {"cancelling?", cancelling()},
                      {"passedCompensations?", passed_compensations()},
                      {"compensations?", list(noted,
                                              "Those that are left, newest first; at most "
                                              "100.")},
                      {"output?", any("The data at the end of an ended instance.")},
                      {"transitions", whole("How many states the instance has entered.")},
                      {"key?", text("The idempotency key of the start.")},
                      {"correlation?", text("The correlation of the start.")},
                      {"waits?", list(either({wait, ref("TimeWait"), ref("CallWait")}),
                                      "What the instance waits for: events, the end of a delay, "
                                      "the next attempt, or calls; at most 20 calls.")},
                      {"moreWaits?", whole("How many other calls have not ended.", 1)},
                      {"slot?", ref("Slot")},
                      {"throttled?", ref("Throttled")},
                      {"timers?", list(timer, "What time will cause, soonest first.")},
                      {"startedBy?", any("The detail of the first record of the history.")},
                      {"children?", children},
                  });
}

/// An instance in a list.
Json listed_instance() {
  using namespace schema;
  const Json wait = object({
      {"type", text("The type of the events.")},
      {"context?", ref("EventContext")},
  });
  const Json counted = object({
      {"calls", whole("How many calls the state has made.", 1)},
      {"function?", text("The id of the function, if it is the same for the first and the last.")},
  });
  return extended(
      instance_head(),
      {
          {"waits?",
           list(either({wait, ref("TimeWait"), ref("CallWait"), ref("StartWait"), counted}),
                "What the instance waits for: events, the end of a delay, the next attempt, "
                "calls, or its start. Four at most; without a `context` whose texts are too long. "
                "Of more than "
                "eight calls only how many there are.")},
          {"moreWaits?", whole("How many other events or calls it waits for.", 1)},
      });
}

}  // namespace

void add_instance_schemas(ApiSchemas& all) {
  using namespace schema;
  const Json holder = object({
      {"instance", instance_id("An instance that holds a slot.")},
      {"since", instant("Since when it holds the slot.")},
      {"paused?", exactly(true, "The instance is paused.")},
      {"waitsFor?", word({"throttle"}, "It waits itself: for the throttle of the workflow.")},
  });
  all["Slot"].schema = object({
      {"queued", flag("Whether the instance waits for the slot.")},
      {"key?", any("The value of `concurrency.key`; none: the workflow has no key.")},
      {"priority", number("A start with a higher one gets a slot first.")},
      {"limit?", whole("How many slots the newest revision of the workflow gives each key.", 1)},
      {"held", whole("How many instances hold a slot of the key.")},
      {"waiting", whole("How many starts wait for one.")},
      {"holders", list(holder, "Those that have held theirs longest; at most three.")},
      {"holdersPaused?", exactly(true,
                                 "Of one that waits: all that hold a slot are paused, and "
                                 "none gets free before one of them is resumed.")},
      {"workflowPaused?", exactly(true,
                                  "Of one that waits: the workflow is paused, and no start "
                                  "that waits begins before it is resumed.")},
      {"until?", instant("When its wait ends with the `error`; missing: the wait has no timeout.")},
      {"error?", text("The error code.")},
      {"paused?", exactly(true,
                          "The instance is paused, and its wait begins again, with its whole "
                          "timeout, when it is resumed.")},
  });
  all["Throttled"].schema = object({
      {"key?", any("The value of `throttle.key`; none: the throttle has no key.")},
      {"priority", number("A start with a higher one begins first.")},
      {"waiting", whole("How many starts of the key wait that are not paused.")},
      {"limit?", whole("How many instances may start in the period.", 1)},
      {"period?", text("The length of the period, as the definition has it.")},
      {"nextAt?",
       instant("When the throttle permits the next start of the key; it may have passed. "
               "Missing while the workflow is paused.")},
      {"workflowPaused?", exactly(true,
                                  "The workflow is paused, and no start that waits begins "
                                  "before it is resumed.")},
      {"until?", instant("When its wait ends with the `error`; missing: the wait has no timeout.")},
      {"error?", text("The error code.")},
      {"paused?", exactly(true,
                          "The instance is paused, and its wait begins again, with its whole "
                          "timeout, when it is resumed.")},
  });
  all["CallWait"].schema = call_wait();
  all["TimeWait"].schema = with_consequence(object({
      {"until", instant("When it ends.")},
      {"what", word({"delay", "attempt", "run"},
                    "`delay`: the end of a delay; `attempt`: the next attempt of the state; `run`: "
                    "the next run of the workflow.")},
      {"held?", exactly(true,
                        "The instance is paused: what follows comes at its resume if the "
                        "time has passed by then.")},
  }));
  all["StartWait"].schema = object({
      {"for", word({"slot", "throttle"}, "Of one that waits to start: for what it waits.")},
      {"key?", any("The value of the key; none: the limit has no key.")},
  });
  all["InstanceHead"].schema = listed_instance();
  all["Instances"].schema = bounded_page(ref("InstanceHead"));
  all["InstanceCall"].schema =
      extended(instance_call(), {{"function?", text("The id of the function in the workflow.")}});
  all["Instance"].schema = whole_instance();
  all["InstanceCalls"].schema = page(extended(
      instance_call(),
      {{"index", whole("The place of the call.")},
       {"function?", text("The id of the function in the workflow; missing: the definition is "
                          "damaged.")},
       {"slot?", ref("CallSlot")},
       {"throttled?", ref("CallThrottled")}}));
  all["CallSlot"].schema = call_slot();
  all["CallThrottled"].schema = call_throttle();
  all["AcceptedTasks"].schema =
      bounded_page(accepted_task(), "How many tasks were read for the page.");
  const Json count = object({
      {"workflow?", text("The id of the workflow.")},
      {"revision?", whole()},
      {"state?", or_null(text("The id of the state; null: the definition is damaged."))},
      {"status?", text()},
      {"count", whole("How many instances there are.")},
  });
  all["InstanceCounts"].schema = extended(page(count), {{"asOf", instant()}});
  const Json found = object({
      {"kind", word({"instance", "workflow", "key", "group", "task", "replay", "source", "webhook",
                     "service", "event", "deadLetter", "pendingStart"})},
      {"id", text("The id of the instance (of a `pendingStart` the one that will start), workflow, "
                  "group, task, replay or dead letter, the name "
                  "of the source, inbound webhook or service, or the sequence of the event.")},
      {"label", text("What it is, for people.")},
      {"instance?", instance_id("The instance whose call made the task.")},
      {"workflow?", text("The id of the workflow of the `pendingStart`.")},
  });
  all["Found"].schema = extended(
      page(found), {
                       {"complete", complete()},
                       {"notRead?", object({{"code", text("The error code.")},
                                            {"msg", text("Why the broker did not answer.")}})},
                   });
  all["HistoryRecord"].schema = history_record();
  all["History"].schema = page(ref("HistoryRecord"));
  all["Scenario"].media = {
      {"application/yaml", {{"schema", text("A scenario file, which `millrace test` runs.")}}}};
  all["StartInput"].media = {{"application/json", {{"schema", any("The input of the instance.")}}},
                             {"*/*", {{"schema", any("Bytes, which become a text in Base64.")}}}};
  all["InstanceStarted"].schema =
      object({{"id", instance_id()},
              {"startsAt?", instant("Of a start that `debounce` has put off: when the instance "
                                    "starts, unless a newer request comes. With `batch`: when it "
                                    "starts at the latest.")}});
  all["StartedOrEnded"].schema = either({ref("InstanceStarted"), ref("Instance")});
  all["InstanceCancelled"].schema = object(
      {{"id", instance_id()},
       {"cancelled", flag("Whether this call cancelled it.")},
       {"pendingStart?", exactly(true,
                                 "`debounce` or `batch` had put off the start of the instance: the "
                                 "start was dropped, and no instance will have the id.")}});
  all["InstancePaused"].schema =
      object({{"id", instance_id()}, {"paused", flag("Whether this call paused it.")}});
  all["InstanceResumed"].schema =
      object({{"id", instance_id()}, {"resumed", flag("Whether this call resumed it.")}});
  all["InstanceRun"].schema =
      object({{"id", instance_id()}, {"run", whole("The number of the run.", 1)}});
  all["InstanceCompensating"].schema =
      object({{"id", instance_id()}, {"left", whole("How many compensations are left.")}});
  all["InstanceDeleted"].schema = object({{"id", instance_id()}, {"deleted", exactly(true)}});
  all["InstanceSelection"].schema = object({
      {"workflow?", text("The id of the workflow; missing: of all workflows.")},
      {"status", list(word({"complete", "failed", "timedout", "cancelled"}))},
      {"before?", instant("The instances ended before this time.")},
  });
  all["InstancesDeleting"].schema =
      object({{"deleting", flag("false: no ended instance is selected.")}});
  all["InstancesChanged"].schema = object({
      {"done", whole("How many instances the command changed.")},
      {"refused", list(object({{"id", instance_id()},
                               {"code", text("An error code.")},
                               {"detail", text("Why the command was refused.")}}))},
      {"next", or_null(text("The cursor of the next call; null: this was the last."))},
      {"pendingStarts?",
       whole("Of `cancel`, with the last page: how many starts that `debounce` or "
             "`batch` had put off were dropped; missing: none.",
             1)},
  });
}

}  // namespace millrace
