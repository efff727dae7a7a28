// Schemas of sources and of inbound webhooks.
#include <string_view>

#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

Json begin_schema() {
  using namespace schema;
  return either(
      {word({"new", "all"}), object({{"sequence", whole("", 1)}}), object({{"time", instant()}})},
      "Where reading begins; missing: \"new\".");
}

Json code_and_text(std::string_view description) {
  using namespace schema;
  return object({{"code", text("An error code.")}, {"msg", text(description)}});
}

/// The effects of an event that is tried.
Json would_schema() {
  using namespace schema;
  return list(object({{"verdict", word({"woke", "started", "filled", "grouped", "paused"})},
                      {"workflow", text()},
                      {"instance?", instance_id()}}),
              "What the event would start or wake.");
}

Json similar_types_schema() {
  using namespace schema;
  return list(text(), "Types for which a workflow listens; it does not for the type of the event.");
}

Json failed_request(std::string_view description) {
  using namespace schema;
  return object({{"code", text("An error code.")}, {"msg", text(description)}, {"at", instant()}});
}

void add_inbound_schemas(ApiSchemas& all) {
  using namespace schema;
  all["InboundWebhook"].schema = object({
      {"name", text()},
      {"path", text("The path of the URL to which the other service posts.")},
      {"form", text("How the service writes its signature into its requests.")},
      {"secrets", list(text(), "The names of the secrets, each of which is valid.")},
      {"type", text("The type of the events, of the mapping.")},
      {"paused", flag()},
      {"countedSince", instant("Since when this process counts requests.")},
      {"accepted", whole("How many requests became events.")},
      {"repeated", whole("How many requests were duplicates.")},
      {"refused", whole("How many requests had no valid signature.")},
      {"unmapped", whole("How many requests with a valid signature became no event.")},
      {"deferred", whole("How many of them were answered 429 or 503.")},
      {"lastAcceptedAt?", instant("Of an event or a duplicate.")},
      {"lastRefusal?", failed_request("Why the signature was refused.")},
      {"lastError?", failed_request("Why a request with a valid signature was not accepted.")},
      {"settings?", object({{"verify", open_object({{"form", text()}})},
                            {"mapping", open_object({{"type", text()}})},
                            {"paused?", flag()}})},
  });
  all["InboundWebhooks"].schema = page(ref("InboundWebhook"));
  all["InboundWebhookPaused"].schema = object(
      {{"name", text()}, {"paused", flag()}, {"changed", flag("Whether it was not so before.")}});
  all["InboundWebhookDeleted"].schema = object({{"name", text()}, {"deleted", exactly(true)}});
}

void add_inbound_trial_schemas(ApiSchemas& all) {
  using namespace schema;
  all["InboundTrial"].schema = object({
      {"headers?", map(either({text(), list(text())}), "The headers by name.")},
      {"query?", map(text(), "The parameters of the URL.")},
      {"body?", text("The body of the request; missing: it is empty.")},
      {"base64?", text("The body in Base64, if it is not UTF-8.")},
  });
  all["InboundTried"].schema = object({
      {"name", text()},
      {"signature", object({{"fits", flag()},
                            {"code?", text("An error code.")},
                            {"msg?", text("Why the request would be refused.")}})},
      {"paused?", exactly(true, "Requests are answered 503.")},
      {"challenge?", text("The answer to the request, of which no event is made.")},
      {"event?", open_object({})},
      {"cut?", exactly(true, "The data of a large event is left out.")},
      {"error?", code_and_text("Why the request would become no event.")},
      {"would?", would_schema()},
      {"duplicate?", exactly(true, "The source and id are known.")},
      {"similarTypes?", similar_types_schema()},
  });
}

}  // namespace

void add_source_schemas(ApiSchemas& all) {
  using namespace schema;
  all["SourceSettings"].schema = object({
      {"stream?", text("The name of the stream that is read; missing: millrace makes one.")},
      {"subjects?", list(text(), "Only messages of these subjects, with wildcards.")},
      {"begin?", begin_schema()},
      {"rate?", whole("How many messages are read in a second, at most 100000.", 1)},
      {"paused?", flag("Missing: as it is.")},
      {"mapping?", open_object({{"type", text("The type of the events.")}})},
      {"maxBytes?",
       either({whole("", 1), text()}, "Of the stream that millrace makes, such as \"256MiB\".")},
      {"maxAge?", text("Of the stream that millrace makes, such as \"7d\".")},
      {"consume?", flag("Whether millrace acknowledges the messages of the stream.")},
  });
  all["SourceApplied"].schema =
      object({{"name", text()},
              {"created", flag("Whether the source is new.")},
              {"continues", flag("Whether reading continues where it was.")},
              {"warnings?", list(object({{"path", text("The place in the settings.")},
                                         {"message", text("What is doubtful, and how to correct "
                                                          "it.")}}))}});
  all["Source"].schema = object({
      {"name", text()},
      {"stream", text("The name of the stream that is read.")},
      {"ownStream", flag("Whether millrace made the stream for this source.")},
      {"subjects", list(text(), "Only messages of these subjects; empty: all.")},
      {"rate", whole("How many messages are read in a second, at most.", 1)},
      {"paused", flag()},
      {"begin", begin_schema()},
      {"createdAt", instant()},
      {"appliedAt", instant("When the settings were applied last.")},
      {"position", whole("All messages of the stream up to this sequence are applied.")},
      {"highest", whole("The highest sequence that is applied.")},
      {"events", whole("How many messages were applied as events.")},
      {"repeated", whole("How many repetitions of events were dropped.")},
      {"refused", whole("How many messages became dead letters.")},
      {"lastRefusal?", object({{"code", text("An error code.")},
                               {"msg", text("Why the message became a dead letter.")},
                               {"sequence", whole("Of the message in its stream.")},
                               {"at", instant()}})},
      {"reading", flag("Whether the stream is read now.")},
      {"read?", whole("The sequence that was read last.")},
      {"lag?", whole("How many messages are not applied yet, as far as is known.")},
      {"consumers?", whole("How many consumers this process has created.")},
      {"interrupted?", whole("How often the consumer, or messages to this process, were lost.")},
      {"recreated?", whole("How often the stream had been created again.")},
      {"rolledBack?", whole("How often the stream had lost messages that were applied.")},
      {"gone?", whole("How many sequences the stream removed before they were read.")},
      {"lostEvents?", whole("How often the event stream had lost events of the source.")},
      {"waits?", code_and_text("Why nothing is read now.")},
      {"notice?", code_and_text("What happened last to one of the streams.")},
      {"settings?", open_object({})},
  });
  all["SourceTried"].schema = object(
      {{"stream", text()},
       {"items",
        list(object({{"sequence", whole("Of the message in its stream.", 1)},
                     {"time", instant("When the broker stored the message.")},
                     {"subject", text()},
                     {"event?", open_object({})},
                     {"cut?", exactly(true, "The data of a large event is left out.")},
                     {"error?", code_and_text("Why the message would become a dead letter.")},
                     {"would?", would_schema()},
                     {"duplicate?", exactly(true, "The source and id are known.")},
                     {"similarTypes?", similar_types_schema()}}),
             "The newest first.")}});
  all["Sources"].schema = page(ref("Source"));
  add_inbound_schemas(all);
  add_inbound_trial_schemas(all);
  all["SourcePaused"].schema = object({{"name", text()}, {"paused", flag()}});
  all["SourceDeleted"].schema = object({{"name", text()}, {"deleted", exactly(true)}});
}

}  // namespace millrace
