// `millrace event`: publishes CloudEvents. event_desk_verbs.cc has the verbs for stored events.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/attribute_flag.h"
#include "cli/command_line.h"
#include "cli/source.h"
#include "cli/why_verbs.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"

namespace millrace {
namespace {

struct SendOptions {
  std::string file;  ///< a file with one or several events, or `-`; empty: the fields below
  std::string type;
  std::string source;
  std::string id;
  std::string subject;
  std::optional<std::string> data;
  std::vector<std::string> attributes;  ///< `name=value`
};

Fallible<Event> event_of(Console& console, const SendOptions& options) {
  Event event;
  event.type = options.type;
  event.source = options.source;
  event.id = options.id.empty() ? fresh_id(console) : options.id;
  if (!options.subject.empty()) event.subject = options.subject;
  if (options.data) event.data = TRY(read_value(console, *options.data));
  for (const std::string& attribute : options.attributes) {
    auto [name, value] = TRY(read_attribute(attribute));
    if (name == "time") {
      event.time = std::move(value);
    } else if (name == "datacontenttype") {
      event.datacontenttype = std::move(value);
    } else if (name == "dataschema") {
      event.dataschema = std::move(value);
    } else if (is_core_attribute(name)) {
      return wrong_usage(fmt::format("--attr {}: use --{} for this attribute", attribute, name));
    } else {
      event.extensions[name] = std::move(value);
    }
  }
  if (event.type.empty() || event.source.empty()) {
    return wrong_usage("an event needs --type and --source; or give a complete event with -f");
  }
  if (const Status valid = check_event(event); !valid) return wrong_usage(valid.error().message);
  return event;
}

/// The call that sends a complete event or, if the text is a JSON array, several events. The server
/// validates the text.
ApiCall whole(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool batch = first != std::string::npos && text[first] == '[';
  return {.headers = {{"Content-Type", batch ? "application/cloudevents-batch+json"
                                             : "application/cloudevents+json"}},
          .body = std::move(text)};
}

/// The call with the event or events of the options; its path and method are not set. `id` gets the
/// id of the event, if the options give its fields.
Fallible<ApiCall> call_with_event(Session& session, const SendOptions& options, std::string& id) {
  if (options.file.empty()) {
    const Event event = TRY(event_of(session.console, options));
    id = event.id;
    return whole(encode_json_event(event));
  }
  const bool parts = !options.type.empty() || !options.source.empty() || !options.id.empty() ||
                     !options.subject.empty() || options.data || !options.attributes.empty();
  if (parts) return wrong_usage("the file has the complete event; remove the other options");
  std::string text = TRY(read_file(session.console, options.file));
  return whole(std::move(text));
}

/// Shows the answer {"accepted","duplicates"}. `accepted` counts the duplicates, too, which a
/// person could misread: so the table has the number of new events instead, and a line says what
/// became of the others. The formats for programs have all numbers.
void show_accepted(Session& session, const Json& answer, const std::string& id) {
  const auto accepted = answer.value("accepted", int64_t{0});
  const auto duplicates = answer.value("duplicates", int64_t{0});
  Json shown = answer;
  if (session.output.format() == Format::kTable) shown.erase("accepted");
  shown["new"] = accepted - duplicates;
  if (!id.empty()) shown["id"] = id;
  session.output.item(shown, "id");
  if (duplicates == 0) return;
  session.console.err << fmt::format(
      "{} of {} dropped: the stream has {} with the same source and id already, and an event takes "
      "effect once\n",
      duplicates, accepted == 1 ? "1 event was" : fmt::format("{} events were", accepted),
      duplicates == 1 ? "an event" : "events");
}

Ended send_event(Session& session, const SendOptions& options) {
  std::string id;
  ApiCall call = TRY(call_with_event(session, options, id));
  call.method = "POST";
  call.path = session.path({"events"});
  const Reply reply = TRY(session.client.send(call));
  show_accepted(session, reply.body, id);
  return ExitCode::kOk;
}

struct TryOptions {
  SendOptions event;
  ExpectedListener expected;
};

Ended try_event(Session& session, const TryOptions& options) {
  std::string id;
  ApiCall call = TRY(call_with_event(session, options.event, id));
  call.method = "POST";
  call.path = session.path({"events", "try"});
  call.query = parameters_of(options.expected);
  const Reply reply = TRY(session.client.send(call));
  show_why_of_event(session, reply.body, options.expected.all);
  return ExitCode::kOk;
}

void add_event_options(Verb& verb, SendOptions& options) {
  verb.option("--type", options.type, "Context attribute type");
  verb.option("--source", options.source, "Context attribute source");
  verb.option("--id", options.id, "Context attribute id (default: a new UUID)");
  verb.option("--subject", options.subject, "Context attribute subject");
  verb.option("--data", options.data, "The data", "JSON|@FILE|-");
  verb.option("--attr", options.attributes, "Another context attribute; may be repeated",
              "NAME=VALUE")
      .one_value_each();
}

}  // namespace

void add_event_verbs(CommandLine& commands) {
  CommandLine event =
      commands.noun("event", "Publish CloudEvents; see what became of them, and why");
  auto [send, options] = event.asking<SendOptions>(
      "send", "Publishes a CloudEvent to the namespace",
      "millrace event send --type order.placed --source shop --data '{\"id\":7}'\n  "
      "millrace event send -f event.json",
      send_event);
  add_event_options(send, options);
  send.option(
      "-f,--file", options.file,
      "A complete CloudEvent in JSON, or an array of CloudEvents; excludes the other options",
      "FILE|-");
  auto [attempt, tried] = event.asking<TryOptions>(
      "try", "Shows what a CloudEvent would wake or start, and the nearest misses; sends nothing",
      "millrace event try --type order.placed --source shop --attr orderid=o-7\n  "
      "millrace event try event.json",
      try_event);
  add_event_options(attempt, tried.event);
  attempt.option("-f,--file,FILE", tried.event.file,
                 "A complete CloudEvent in JSON; excludes the other options of the event",
                 "FILE|-");
  add_expected_listener(attempt, tried.expected);
  add_event_desk_verbs(event);
  add_event_why_verb(event);
}

}  // namespace millrace
