// Schemas of events, their replays, listeners, groups and dead letters.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

/// An error as a stored record has it.
Json stored_error() {
  using namespace schema;
  return object({{"code", text("An error code.")}, {"msg", text("The message.")}});
}

/// The headers of a message: [[name, value]…].
Json message_headers() {
  using namespace schema;
  return list(list(text()), "The names and values of the headers of the message.");
}

/// What a list shows of a stored event. A message that is not an event has `error` in place of its
/// attributes.
Json stored_event_head() {
  using namespace schema;
  return object({
      {"sequence", whole("The sequence of the event in the event stream.", 1)},
      {"time", instant("When the broker stored the event.")},
      {"id?", text()},
      {"type?", text()},
      {"source?", text()},
      {"subject?", text()},
      {"attributes?", map(either({text(), number(), flag()}), "The other context attributes.")},
      {"error?", stored_error()},
      {"size", whole("The bytes of the message.")},
      {"applied", flag("Whether the engine has applied the event.")},
      {"effects", list(ref("EventEffect"), "What became of the event; the first 20.")},
      {"effectCount", whole("How many effects the event had.")},
      {"to?",
       object({{"workflow?", text("The id of the only workflow that may take the event; its number "
                                  "if it was deleted.")},
               {"instance?", instance_id("The only instance that may take the event.")},
               {"deleted?", exactly(true, "The workflow does not exist any more.")}})},
  });
}

void add_stored_event_schemas(ApiSchemas& all) {
  using namespace schema;
  all["EventEffect"].schema = object({
      {"what", word({"started", "woke", "grouped", "duplicate", "skipped", "uncorrelated", "kept",
                     "refused", "expired", "closed", "rateLimited", "debounced", "batched"},
                    "`started` or `woke` an instance; `grouped`: waits in a group; `duplicate`: an "
                    "event with its source and id had an effect before; `skipped`: the workflow is "
                    "singular and had a live instance, or had no free slot; `uncorrelated`: lacks "
                    "an attribute of "
                    "`correlate`; `kept`: is stored for instances and listeners that get it later; "
                    "`refused`: became a dead letter; `expired`: its lifespan in a group ended; "
                    "`closed`: its group was closed, and it became a dead letter; "
                    "`rateLimited`: the `rateLimit` of the workflow was used up; `debounced`: the "
                    "`debounce` of the workflow has put off the start; `batched`: its data is in a "
                    "batch of starts of the workflow.")},
      {"instance?", instance_id("The instance that the event started or woke.")},
      {"workflow?", text("The id of the workflow; its number if it was deleted.")},
  });
  all["StoredEventHead"].schema = stored_event_head();
  const Json in_other_case = object({
      {"sequence", whole("The sequence of the first event that fits in other case.", 1)},
      {"attributes", map(text(), "Its values that differ in upper and lower case only.")},
  });
  all["StoredEvents"].schema =
      extended(page(ref("StoredEventHead")),
               {
                   {"complete", complete()},
                   {"looked", whole("How many messages of the stream were read.")},
                   {"newest", whole("The newest sequence of the event stream.")},
                   {"inOtherCase?", in_other_case},
               });
  all["StoredEvent"].schema = extended(
      stored_event_head(), {
                               {"event?", ref("CloudEvent")},
                               {"position", object({{"stream", whole("The number of the stream.")},
                                                    {"sequence", whole("", 1)}})},
                               {"replayof?", any("The id of the event that this one replays.")},
                               {"headers?", message_headers()},
                               {"data?", text("The data of a message that is not an event.")},
                               {"encoding?", word({"utf-8", "base64"}, "The encoding of `data`.")},
                           });
  all["EventReplay"].schema = object({
      {"dryRun?", flag("Whether the answer only says what the replay would do.")},
      {"attributes?", map(either({text(), number(), flag()}),
                          "Context attributes that are set or replaced: extension attributes, "
                          "`type`, `source` and `subject`; 16 at most.")},
      {"namespace?", text("The namespace to which the event is sent; missing: the same one.")},
  });
  all["EventReplayed"].schema = object({{"sequence", whole("The sequence of the new message.", 1)},
                                        {"id", text("The id of the replayed event.")}});
}

void add_replay_schemas(ApiSchemas& all) {
  using namespace schema;
  all["ReplayRange"].schema = object({
      {"first?", whole("The sequence of the first message; either `first` or `since` is needed.")},
      {"last?", whole("The sequence of the last message; missing or 0: the newest.")},
      {"since?", instant("Only events that the stream got at this time or later.")},
      {"until?", instant("Only events that the stream got before this time.")},
      {"type?", text("A glob for the type of the events.")},
      {"source?", text("A glob for the source of the events.")},
      {"to?", object({{"workflow?", text("The id of the only workflow that may take the events.")},
                      {"instance?", instance_id("The only instance that may take the events.")}})},
      {"rate?", whole("How many events are sent in a second, at most 100000; missing: 1000.", 1)},
      {"dryRun?", flag("Whether the events are only counted.")},
  });
  all["ReplayStarted"].schema = object({{"id", text("The id of the replay.")}});
  all["Replay"].schema = object({
      {"id", text()},
      {"state", word({"running", "done", "stopped", "failed"})},
      {"createdAt", instant()},
      {"dryRun", flag("Whether the events are only counted.")},
      {"rate", whole("How many events are sent in a second, at most.", 1)},
      {"since?", instant()},
      {"until?", instant()},
      {"first", whole("The sequence of the first message of the range.")},
      {"last", whole("The sequence of the last message of the range.")},
      {"type?", text()},
      {"source?", text()},
      {"to?", object({{"workflow?", text("The id of the only workflow that may take the events; "
                                         "its number if it was deleted.")},
                      {"instance?", instance_id("The only instance that may take the events.")}})},
      {"matched", whole("How many events of the range matched.")},
      {"sent", whole("How many events were sent.")},
      {"refused", whole("How many events would be too large with the attributes of a replay.")},
      {"lost", whole("How many sequences the stream dropped before they were read.")},
      {"position", whole("The next sequence.")},
      {"waits?", object({{"code", text("An error code.")},
                         {"msg", text("Why a running replay sends nothing now.")}})},
      {"error?", stored_error()},
  });
  all["Replays"].schema = page(ref("Replay"));
  all["ReplayStopped"].schema = object({{"id", text()}, {"stopped", exactly(true)}});
}

/// What a list shows of a dead letter.
Json dead_letter() {
  using namespace schema;
  return object({
      {"id", text("The sequence of the dead letter in its stream.")},
      {"reason", text("An error code.")},
      {"detail", text("What was wrong, for people.")},
      {"time", instant("When the broker stored the dead letter.")},
      {"subject", text("The subject of the message.")},
      {"size", whole("The bytes of the whole message.")},
      {"source?", text("The name of the source that read the message.")},
      {"truncated?", exactly(true, "The queue has only the beginning of the data.")},
      {"data", text("The message; in a list its beginning.")},
      {"encoding", word({"utf-8", "base64"}, "The encoding of `data`.")},
  });
}

void add_dead_letter_schemas(ApiSchemas& all) {
  using namespace schema;
  all["DeadLetter"].schema = dead_letter();
  const Json reason = object({{"reason", text("An error code.")}, {"count", whole()}});
  all["DeadLetters"].schema =
      extended(page(ref("DeadLetter")),
               {
                   {"reasons", list(reason, "How many dead letters there are of each reason.")},
                   {"complete", complete()},
               });
  all["WholeDeadLetter"].schema = extended(dead_letter(), {{"headers", message_headers()}});
  all["CorrectedEvent"].media = {
      {"application/cloudevents+json", {{"schema", ref("CloudEvent")}}},
      {"*/*",
       {{"schema", any("The data of the event, whose attributes are headers `ce-…`; an empty body: "
                       "the dead letter is replayed as it is.")}}}};
  all["DeadLetterReplayed"].schema = object({
      {"id", text("The id of the dead letter, which no longer exists.")},
      {"event", text("The id of the event.")},
      {"sequence", whole("The sequence of the event in the event stream.", 1)},
  });
  all["DeadLetterDeleted"].schema = object({{"id", text()}, {"deleted", exactly(true)}});
  all["DeadLettersDone"].schema = object({
      {"done", whole("How many dead letters were replayed or deleted.")},
      {"refused", list(object({{"id", text()},
                               {"code", text("An error code.")},
                               {"msg", text("Why the dead letter was not replayed.")}}))},
      {"left", whole("How many dead letters of the reason there are now.")},
      {"next", or_null(text("The `cursor` of the next call; null: this was the last."))},
  });
}

}  // namespace

void add_event_schemas(ApiSchemas& all) {
  using namespace schema;
  all["CloudEvent"].schema = open_object({
      {"specversion", exactly("1.0")},
      {"id", text("With `source`, it identifies the event.")},
      {"source", text("A URI reference.")},
      {"type", text()},
      {"subject?", text()},
      {"time?", instant()},
      {"datacontenttype?", text()},
      {"dataschema?", text()},
      {"data?", any("The data of the event.")},
      {"data_base64?", text("The data of the event, in Base64; instead of `data`.")},
  });
  all["Events"].media = {
      {"application/cloudevents+json", {{"schema", ref("CloudEvent")}}},
      {"application/cloudevents-batch+json", {{"schema", list(ref("CloudEvent"))}}},
      {"*/*", {{"schema", any("The data of one event, whose attributes are headers `ce-…`.")}}}};
  all["EventsAccepted"].schema = object({
      {"accepted", whole("How many events the stream has now, those included that it had before.")},
      {"duplicates",
       whole("How many of them the stream had before, so that nothing was stored for them.")},
  });
  all["InboundBody"].media = {
      {"*/*", {{"schema", any("What the other service sends; the signature covers its bytes.")}}}};
  all["InboundAccepted"].schema = object({{"id", text("The id of the event.")}});
  all["Challenge"].media = {
      {"text/plain", {{"schema", text("The challenge that the other service has sent.")}}}};
  all["EventContext"].schema =
      map(either({object({{"equals", text()}}), object({{"pattern", text()}})}),
          "What the context attributes of an event must be, by the name of the attribute.");
  all["Listener"].schema = object({
      {"kind", word({"start", "instance"})},
      {"workflow", text("The id of the workflow.")},
      {"type", text("The type of the events.")},
      {"context", ref("EventContext")},
      {"instance?", instance_id("The instance that waits.")},
      {"state?", text("The state in which the instance waits.")},
      {"deadline?", instant("When the wait ends without an event.")},
  });
  all["Listeners"].schema = bounded_page(ref("Listener"));
  all["EventGroup"].schema = object({
      {"id", text("The id of the group.")},
      {"workflow", text("The id of the workflow.")},
      {"correlate", map(any(), "The attributes that the events of the group share.")},
      {"entries", list(object({{"type", text("The type of the events.")},
                               {"waiting", whole("How many events wait.")},
                               {"first?", object({{"sequence?", whole("Its sequence.")},
                                                  {"id?", text("Its id.")}})}}))},
      {"expiresAt?", instant("When the next event of the group expires.")},
  });
  all["EventGroups"].schema = page(ref("EventGroup"));
  all["EventGroupDropped"].schema = object({
      {"id", text("The id of the group.")},
      {"dropped", whole("How many events became dead letters.", 1)},
  });
  add_stored_event_schemas(all);
  add_replay_schemas(all);
  add_dead_letter_schemas(all);
}

}  // namespace millrace
