// Messages of NATS and requests of HTTP that a mapping makes events of: the first line is the
// mapping as JSON, or a text that is its type, subject and data; the second one the subject; then
// headers, an empty line, and the data (headed_input.h). What the fast lane cannot evaluate has
// fixed results. Each event that is made is valid, and a message that is an event already stays
// what it is. The data is also read as a form, whose fields are the same when they are encoded
// again.
// Covers: orchestrator/mapping/mapping_input.cc orchestrator/mapping/mapped_event.cc
// Covers: orchestrator/mapping/form_body.cc
// Covers: orchestrator/mapping/carried_event.cc orchestrator/definition/event_mapping.cc
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "cloudevents/percent.h"
#include "orchestrator/mapping/carried_event.h"
#include "orchestrator/mapping/form_body.h"
#include "orchestrator/mapping/mapped_event.h"
#include "orchestrator/mapping/mapping_input.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostMappedBytes = 32'768;
/// The place in `data` that a message names may be as long as the mapping, with escapes.
constexpr size_t kMostMappingMessage = 16 * kMostMappedBytes;
constexpr TimePoint kMessageTime{std::chrono::seconds(1'700'000'000)};

/// The mapping of the line; nullopt: it is not valid.
std::optional<EventMapping> mapping_of_line(std::string_view line) {
  Result<Json> settings = parse_json(line);
  if (!settings && is_utf8(line)) {
    const std::string text(line);
    settings = Json{{"type", text}, {"subject", text}, {"data", text}};
  }
  if (!settings) return std::nullopt;
  Result<EventMapping> mapping = parse_mapping("mapping", *settings);
  if (mapping) return *std::move(mapping);
  check_shown_error(mapping.error(), kMostMappingMessage);
  return std::nullopt;
}

/// What the jq programs of a mapping read is a JSON object, and the data of the event is data.
void check_mapping_input(const MappingInput& input) {
  CHECK(input.json.is_object() && is_own_json(input.json.text()), "the input is not JSON: {}",
        excerpt(input.json.text()));
  CHECK(input.data.has_value() == input.content_type.has_value(), "data without a content type");
  CHECK(input.data.has_value() == !input.json.value().at("data").is_null(),
        "the programs do not read the data");
  for (const auto& [name, value] : input.json.value().at("headers").items()) {
    CHECK(name == to_lower(name) && value.is_string(), "the header {}", excerpt(name));
  }
}

/// The tokens are the parts of the subject.
void check_tokens(const MappingInput& input, std::string_view subject) {
  if (!is_utf8(subject)) return;
  const Json& tokens = input.json.value().at("tokens");
  std::string joined;
  for (size_t i = 0; i < tokens.size(); ++i) {
    joined += (i == 0 ? "" : ".") + tokens[i].get<std::string>();
  }
  CHECK(joined == subject, "the tokens are those of {}", excerpt(joined));
}

void check_mapped(const Result<Event>& event) {
  if (!event) {
    check_shown_error(event.error(), kMostMappingMessage);
    return;
  }
  check_decoded(*event);
  const Result<Event> again = decode_json_event(encode_json_event(*event));
  CHECK(again, "the event that was made is refused: {}", again.error().message);
}

/// The results of a jq worker, each of which the mapping may or may not be able to use.
void check_runs(const EventMapping& mapping, const MappingInput& input,
                const MappingDefaults& defaults) {
  const auto shared = std::make_shared<const EventMapping>(mapping);
  const auto run = [&] { return MappingRun(shared, input, defaults); };
  const size_t queries = run().queries().size();
  if (queries == 0) return check_mapped(run().finish({}));
  const Result<Event> early = run().finish({});
  CHECK(!early && early.error().code == "mapping.failed", "an event is made without its results");
  const std::array<QueryResult, 6> results = {
      LazyJson(),         LazyJson(Json("x")),     LazyJson(Json(1.5)),
      LazyJson(Json(-7)), LazyJson(Json::array()), fail(std::string(kJqBadCommand), "it failed")};
  for (const QueryResult& result : results) {
    check_mapped(run().finish(EvaluationResult(queries, result)));
  }
}

/// What the mapping does not read of a message does not change what it makes of the message.
void check_projection(const EventMapping& mapping, const MappingInput& whole,
                      const NatsMessage& message, const MappingDefaults& defaults) {
  const MappingInput read = message_input(message, "ORDERS", 17, kMessageTime, mapping.reads);
  CHECK(read.data == whole.data && read.content_type == whole.content_type,
        "the data of the event depends on what the mapping reads");
  const auto shared = std::make_shared<const EventMapping>(mapping);
  MappingRun of_whole(shared, whole, defaults);
  MappingRun of_read(shared, read, defaults);
  if (!of_whole.queries().empty() || !of_read.queries().empty()) return;
  const Result<Event> expected = std::move(of_whole).finish({});
  const Result<Event> event = std::move(of_read).finish({});
  CHECK(event.has_value() == expected.has_value(), "one of both is refused");
  if (event) {
    CHECK(*event == *expected, "the events differ");
  } else {
    CHECK(event.error() == expected.error(), "the errors differ: {}", event.error().message);
  }
}

void append_field(const std::string& name, const Json& value, std::string& form) {
  constexpr std::string_view kEncoded = "&=+";
  form += percent_encode(name, kEncoded) + "=" +
          percent_encode(value.get_ref<const std::string&>(), kEncoded) + "&";
}

/// The fields of a form that is read are the same when they are encoded and read again.
void check_form(std::string_view body) {
  const Result<Json> fields = form_fields(body);
  if (!fields) return check_shown_error(fields.error());
  std::string again;
  for (auto field = fields->begin(); field != fields->end(); ++field) {
    if (!field->is_array()) {
      append_field(field.key(), *field, again);
      continue;
    }
    CHECK(field->size() > 1, "a list of one text for {}", excerpt(field.key()));
    for (const Json& one : *field) append_field(field.key(), one, again);
  }
  const Result<Json> read = form_fields(again);
  CHECK(read && *read == *fields, "the fields are not those of {}", excerpt(again));
}

}  // namespace

FUZZ_TARGET(event_mappings) {
  if (bytes.size() > kMostMappedBytes) return;
  const std::optional<EventMapping> mapping = mapping_of_line(take_line(bytes));
  const std::string_view subject = take_line(bytes);
  HeadedInput headed = read_headed_input(bytes);
  if (const auto carried = carried_event(headed.headers, headed.body)) {
    if (*carried) {
      check_decoded(**carried);
    } else {
      check_shown_error(carried->error());
    }
  }
  const NatsMessage message{.subject = std::string(subject),
                            .headers = std::move(headed.headers),
                            .data = std::string(headed.body)};
  const MappingInput of_message = message_input(message, "ORDERS", 17, kMessageTime, kWholeValue);
  const Result<MappingInput> of_request = request_input(
      message.headers, {{message.subject, message.data}}, message.data, "git", kMessageTime);
  check_form(message.data);
  check_mapping_input(of_message);
  if (of_request) {
    check_mapping_input(*of_request);
  } else {
    check_shown_error(of_request.error());
  }
  check_tokens(of_message, subject);
  if (!mapping) return;
  const std::string time = format_rfc3339(kMessageTime);
  const MappingDefaults of_source{.source = "/v1/ns/a/sources/b", .id = "ORDERS-17", .time = time};
  check_runs(*mapping, of_message, of_source);
  check_projection(*mapping, of_message, message, of_source);
  if (!of_request) return;
  check_runs(*mapping, *of_request, {.source = "/v1/ns/a/hooks/git", .id = "msg_1", .time = time});
}

}  // namespace millrace::fuzz
