#include <fmt/format.h>

#include "cli/verbs.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"

namespace millrace {
namespace {

Fallible<Event> event_of(Console& console, const SendOptions& options) {
  Event event;
  event.type = options.type;
  event.source = options.source;
  event.id = options.id.empty() ? fresh_id(console) : options.id;
  if (!options.subject.empty()) event.subject = options.subject;
  if (options.data) event.data = TRY(read_value(console, *options.data));
  for (const std::string& attribute : options.attributes) {
    const size_t equals = attribute.find('=');
    if (equals == std::string::npos) {
      return wrong_usage(fmt::format("--attr {}: write name=value", attribute));
    }
    const std::string name = attribute.substr(0, equals);
    std::string value = attribute.substr(equals + 1);
    if (name == "time") {
      event.time = std::move(value);
    } else if (name == "datacontenttype") {
      event.datacontenttype = std::move(value);
    } else if (name == "dataschema") {
      event.dataschema = std::move(value);
    } else if (is_core_attribute(name)) {
      return wrong_usage(fmt::format("--attr {}: there is --{} for it", attribute, name));
    } else {
      event.extensions[name] = std::move(value);
    }
  }
  if (event.type.empty() || event.source.empty()) {
    return wrong_usage("an event needs --type and --source (or comes whole with -f)");
  }
  if (const Status valid = check_event(event); !valid) return wrong_usage(valid.error().message);
  return event;
}

/// A whole event, or the array of a batch; the server says whether it is one.
ApiCall whole(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool batch = first != std::string::npos && text[first] == '[';
  return {.headers = {{"Content-Type", batch ? "application/cloudevents-batch+json"
                                             : "application/cloudevents+json"}},
          .body = std::move(text)};
}

}  // namespace

Ended send_event(Session& session, const SendOptions& options) {
  ApiCall call;
  std::string id;
  if (!options.file.empty()) {
    const bool parts = !options.type.empty() || !options.source.empty() || !options.id.empty() ||
                       !options.subject.empty() || options.data || !options.attributes.empty();
    if (parts) return wrong_usage("-f gives the event whole; no other flag goes with it");
    std::string text = TRY(read_file(session.console, options.file));
    call = whole(std::move(text));
  } else {
    const Event event = TRY(event_of(session.console, options));
    id = event.id;
    call = whole(encode_json_event(event));
  }
  call.method = "POST";
  call.path = session.path({"events"});
  const Reply reply = TRY(session.client.send(call));
  Json shown = reply.body;
  if (!id.empty()) shown["id"] = id;
  session.output.item(shown, "id");
  return ExitCode::kOk;
}

}  // namespace millrace
