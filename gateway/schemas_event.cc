// Schemas of events, listeners, groups and dead letters.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

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
      {"accepted", whole("How many events the stream has.")},
      {"duplicates", whole("How many of them the stream had before.")},
  });
  const Json context =
      map(either({object({{"equals", text()}}), object({{"pattern", text()}})}),
          "What the context attributes of an event must be, by the name of the attribute.");
  all["Listener"].schema = object({
      {"kind", word({"start", "instance"})},
      {"workflow", text("The id of the workflow.")},
      {"type", text("The type of the events.")},
      {"context", context},
      {"instance?", instance_id("The instance that waits.")},
      {"state?", text("The state in which the instance waits.")},
      {"deadline?", instant("When the wait ends without an event.")},
  });
  all["Listeners"].schema = page(ref("Listener"));
  all["EventGroup"].schema = object({
      {"workflow", text("The id of the workflow.")},
      {"correlate", map(any(), "The attributes that the events of the group share.")},
      {"entries", list(object({{"type", text("The type of the events.")},
                               {"waiting", whole("How many events wait.")}}))},
      {"expiresAt?", instant("When the next event of the group expires.")},
  });
  all["EventGroups"].schema = page(ref("EventGroup"));
  all["DeadLetter"].schema = object({
      {"id", text("The sequence of the dead letter in its stream.")},
      {"reason", text("An error code.")},
      {"detail", text("What was wrong, for people.")},
      {"time", instant("When the broker stored the dead letter.")},
      {"subject", text("The subject of the message.")},
      {"size", whole("The bytes of the whole message.")},
      {"data", text("The beginning of the message.")},
      {"encoding", word({"utf-8", "base64"}, "The encoding of `data`.")},
  });
  all["DeadLetters"].schema = page(ref("DeadLetter"));
}

}  // namespace millrace
