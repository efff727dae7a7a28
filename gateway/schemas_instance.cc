// Schemas of instances: lists, one instance, its history, and the answers to commands.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

/// What a list shows of an instance.
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
      {"run?", whole("The number of the run, if it is not the first.", 2)},
      {"historyTrimmed?", whole("How many records of the history were erased.", 1)},
      {"parent?", instance_id("The instance that started this one.")},
      {"damage?", text("What is wrong with the rows of the instance.")},
  });
}

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
      {"deadlines?", deadlines},
  });
}

Json history_record() {
  using namespace schema;
  return object({
      {"number", whole("The number of the record, from 1.", 1)},
      {"time", instant()},
      {"kind",
       word({"started",  "entered", "woken",     "elapsed", "published", "log",      "raised",
             "caught",   "fixed",   "cancelled", "ended",   "called",    "returned", "retrying",
             "timedout", "skipped", "run",       "output",  "paused",    "resumed",  "revived"})},
      {"state?", text("The id of the state.")},
      {"detail?", any("What is known of this kind of record.")},
      {"data?", any("The data of the instance after the record.")},
  });
}

}  // namespace

void add_instance_schemas(ApiSchemas& all) {
  using namespace schema;
  all["InstanceHead"].schema = instance_head();
  all["Instances"].schema = page(ref("InstanceHead"));
  all["InstanceCall"].schema = instance_call();
  all["Instance"].schema =
      extended(instance_head(), {
                                    {"input", any("The input.")},
                                    {"data", any("The data.")},
                                    {"calls?", list(ref("InstanceCall"))},
                                    {"attempt", whole("The number of the current attempt.")},
                                    {"output?", any("The data at the end of an ended instance.")},
                                });
  all["HistoryRecord"].schema = history_record();
  all["History"].schema = page(ref("HistoryRecord"));
  all["StartInput"].media = {{"application/json", {{"schema", any("The input of the instance.")}}},
                             {"*/*", {{"schema", any("Bytes, which become a text in Base64.")}}}};
  all["InstanceStarted"].schema = object({{"id", instance_id()}});
  all["StartedOrEnded"].schema = either({ref("InstanceStarted"), ref("Instance")});
  all["InstanceCancelled"].schema =
      object({{"id", instance_id()}, {"cancelled", flag("Whether this call cancelled it.")}});
  all["InstancePaused"].schema =
      object({{"id", instance_id()}, {"paused", flag("Whether this call paused it.")}});
  all["InstanceResumed"].schema =
      object({{"id", instance_id()}, {"resumed", flag("Whether this call resumed it.")}});
  all["InstanceRun"].schema =
      object({{"id", instance_id()}, {"run", whole("The number of the run.", 1)}});
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
  });
}

}  // namespace millrace
