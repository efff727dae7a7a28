// Answers questions about what this program reads and writes, so that scripts can compare the
// answers with those of other libraries (tests/differential/README.md). Each line of the standard
// input is a JSON object with `kind`; each line of the standard output is the answer to one of
// them, in the same order: {"ok": …} or {"error": code}. Bytes are in Base64. One thread.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <yaml.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/time.h"
#include "cloudevents/event_check.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "gateway/http_server.h"
#include "gateway/request_buffer.h"
#include "gateway/request_head.h"
#include "language/document.h"
#include "policies/cron.h"
#include "policies/duration.h"

namespace millrace {
namespace {

namespace http = boost::beast::http;

constexpr size_t kMostHttpBytes = size_t{64} << 10;

Json answer(Json value) { return Json{{"ok", std::move(value)}}; }
Json refusal(std::string_view code) { return Json{{"error", code}}; }

std::string bytes_of(const Json& request, const char* name) {
  return base64_decode(request.at(name).get_ref<const std::string&>()).value_or("");
}

/// {"text", "start": milliseconds} → {"months", "fixed": milliseconds, "after": milliseconds}
Json duration(const Json& request) {
  const Result<Span> span = Span::parse(request.at("text").get_ref<const std::string&>());
  if (!span) return refusal(span.error().code);
  const TimePoint after = span->after(from_millis(request.at("start").get<int64_t>()));
  return answer(
      {{"months", span->months}, {"fixed", span->fixed.count()}, {"after", to_millis(after)}});
}

/// {"text", "from": milliseconds, "count"} → the next ticks in milliseconds
Json cron(const Json& request) {
  const Result<Cron> schedule = Cron::parse(request.at("text").get_ref<const std::string&>());
  if (!schedule) return refusal(schedule.error().code);
  TimePoint at = from_millis(request.at("from").get<int64_t>());
  Json ticks = Json::array();
  for (size_t i = 0; i < request.at("count").get<size_t>(); ++i) {
    at = schedule->next(at);
    ticks.push_back(to_millis(at));
  }
  return answer(std::move(ticks));
}

Json text_or_null(const yaml_char_t* text) {
  if (text == nullptr) return nullptr;
  return std::string(reinterpret_cast<const char*>(text));
}

/// One event of libyaml; null for the events that are in every text.
Json event_of(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      return {{"event", "document"}};
    case YAML_ALIAS_EVENT:
      return {{"event", "alias"}, {"anchor", text_or_null(event.data.alias.anchor)}};
    case YAML_SCALAR_EVENT: {
      const auto& scalar = event.data.scalar;
      return {{"event", "scalar"},
              {"anchor", text_or_null(scalar.anchor)},
              {"tag", text_or_null(scalar.tag)},
              {"plain", scalar.style == YAML_PLAIN_SCALAR_STYLE},
              {"text", std::string(reinterpret_cast<const char*>(scalar.value), scalar.length)}};
    }
    case YAML_SEQUENCE_START_EVENT:
      return {{"event", "sequence"},
              {"anchor", text_or_null(event.data.sequence_start.anchor)},
              {"tag", text_or_null(event.data.sequence_start.tag)}};
    case YAML_MAPPING_START_EVENT:
      return {{"event", "mapping"},
              {"anchor", text_or_null(event.data.mapping_start.anchor)},
              {"tag", text_or_null(event.data.mapping_start.tag)}};
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return {{"event", "end"}};
    default:
      return nullptr;
  }
}

/// What libyaml alone reads: its events, or its complaint.
Json yaml_events(const std::string& text) {
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) != 1) return refusal("out of memory");
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size());
  Json events = Json::array();
  Json failure;
  for (bool has_ended = false; !has_ended;) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) != 1) {
      failure = refusal(parser.problem == nullptr ? "unknown" : parser.problem);
      break;
    }
    has_ended = event.type == YAML_STREAM_END_EVENT;
    if (Json one = event_of(event); !one.is_null()) events.push_back(std::move(one));
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return failure.is_null() ? answer(std::move(events)) : failure;
}

/// {"text"} → {"document": the answer of parse_document, "events": the answer of libyaml}. A
/// document with mistakes is an error with the codes of all of them, separated by spaces.
Json yaml(const Json& request) {
  const auto& text = request.at("text").get_ref<const std::string&>();
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  Json ours;
  if (document && !findings.has_errors()) {
    ours = answer(to_json(*document));
  } else {
    std::string codes;
    for (const Finding& finding : findings.sorted()) {
      codes += (codes.empty() ? "" : " ") + finding.code;
    }
    ours = refusal(codes);
  }
  return {{"document", std::move(ours)}, {"events", yaml_events(text)}};
}

enum class Reading { kDone, kClosed, kIncomplete, kRefused };

std::string_view name_of(Reading reading) {
  switch (reading) {
    case Reading::kDone:
      return "done";
    case Reading::kClosed:
      return "closed";
    case Reading::kIncomplete:
      return "incomplete";
    case Reading::kRefused:
      return "refused";
  }
  return "";
}

using Parser = http::request_parser<http::string_body>;

/// Gives the parser bytes of the buffer until `is_enough`. kDone: it is.
template <class IsEnough>
Reading feed(Parser& parser, RequestBuffer& buffer, IsEnough is_enough) {
  while (!is_enough()) {
    if (buffer.size() == 0) return Reading::kIncomplete;
    boost::system::error_code error;
    const size_t used = parser.put(buffer.data(), error);
    buffer.consume(used);
    if (error == http::error::need_more) return Reading::kIncomplete;
    if (error) return Reading::kRefused;
    if (used == 0 && !is_enough()) return Reading::kIncomplete;
  }
  return Reading::kDone;
}

/// Reads one request as HttpConnection does, and adds it to `requests`. kDone: another may follow.
Reading read_request(RequestBuffer& buffer, Json& requests) {
  Parser parser;
  parser.header_limit(static_cast<uint32_t>(TransportLimits{}.header_bytes));
  parser.body_limit(boost::none);
  buffer.begin_head();
  const Reading head = feed(parser, buffer, [&] { return parser.is_header_done(); });
  if (head != Reading::kDone) return head;

  const auto& message = parser.get();
  const bool has_folded_line = buffer.end_head();
  Headers headers;
  for (const auto& field : message) {
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  const std::string target(message.target());
  const Status checked = check_head({.version = message.version(),
                                     .target = target,
                                     .headers = headers,
                                     .has_folded_line = has_folded_line});
  if (!checked) return Reading::kRefused;

  parser.eager(true);
  const Reading body = feed(parser, buffer, [&] { return parser.is_done(); });
  if (body != Reading::kDone) return body;
  requests.push_back({{"method", std::string(message.method_string())},
                      {"target", base64_encode(target)},
                      {"body", base64_encode(message.body())}});
  return parser.keep_alive() ? Reading::kDone : Reading::kClosed;
}

/// {"bytes"} → {"requests": [{"method", "target", "body"}], "end": what ended the reading}
Json read_http(const Json& request) {
  const std::string bytes = bytes_of(request, "bytes");
  if (bytes.size() > kMostHttpBytes) return refusal("too many bytes");
  RequestBuffer buffer(kMostHttpBytes);
  std::memcpy(buffer.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  buffer.commit(bytes.size());
  Json requests = Json::array();
  Reading end = Reading::kDone;
  while (end == Reading::kDone && buffer.size() > 0) end = read_request(buffer, requests);
  return answer({{"requests", std::move(requests)}, {"end", name_of(end)}});
}

Json event_as_json(const Event& event) {
  Json out{{"id", event.id}, {"source", event.source}, {"type", event.type}};
  for (const auto& [name, value] :
       {std::pair("subject", &event.subject), std::pair("time", &event.time),
        std::pair("datacontenttype", &event.datacontenttype),
        std::pair("dataschema", &event.dataschema)}) {
    if (*value) out[name] = **value;
  }
  out["extensions"] = Json::object();
  for (const auto& [name, value] : event.extensions) {
    out["extensions"][name] = std::visit([](const auto& one) { return Json(one); }, value);
  }
  if (event.data) out["data"] = base64_encode(*event.data);
  return out;
}

Event event_from(const Json& from) {
  Event event;
  event.id = from.at("id").get<std::string>();
  event.source = from.at("source").get<std::string>();
  event.type = from.at("type").get<std::string>();
  for (const auto& [name, value] :
       {std::pair("subject", &event.subject), std::pair("time", &event.time),
        std::pair("datacontenttype", &event.datacontenttype),
        std::pair("dataschema", &event.dataschema)}) {
    if (from.contains(name)) *value = from.at(name).get<std::string>();
  }
  for (const auto& [name, value] : from.at("extensions").items()) {
    if (value.is_boolean()) {
      event.extensions[name] = value.get<bool>();
    } else if (value.is_number_integer()) {
      event.extensions[name] = value.get<int32_t>();
    } else {
      event.extensions[name] = value.get<std::string>();
    }
  }
  if (from.contains("data")) event.data = bytes_of(from, "data");
  return event;
}

/// {"headers": [[name, value]], "body"} → the events of an HTTP request
Json decode(const Json& request) {
  Headers headers;
  for (const Json& header : request.at("headers")) {
    headers.emplace_back(header.at(0).get<std::string>(), header.at(1).get<std::string>());
  }
  const Result<std::vector<Event>> events = decode_http(headers, bytes_of(request, "body"));
  if (!events) return refusal(events.error().code);
  Json out = Json::array();
  for (const Event& event : *events) out.push_back(event_as_json(event));
  return answer(std::move(out));
}

/// {"mode": "binary" or "structured", "event"} → {"headers", "body"}
Json encode(const Json& request) {
  const Event event = event_from(request.at("event"));
  if (const Status valid = check_event(event); !valid) return refusal(valid.error().code);
  HttpMessage message;
  if (request.at("mode") == "binary") {
    message = encode_http_binary(event);
  } else {
    message.headers.emplace_back("content-type", "application/cloudevents+json");
    message.body = encode_json_event(event);
  }
  Json headers = Json::array();
  for (const auto& [name, value] : message.headers) headers.push_back(Json::array({name, value}));
  return answer({{"headers", std::move(headers)}, {"body", base64_encode(message.body)}});
}

Json reply_to(const std::string& line) {
  using Reply = Json (*)(const Json&);
  static const std::map<std::string_view, Reply> kReplies = {
      {"duration", duration}, {"cron", cron},     {"yaml", yaml},
      {"http", read_http},    {"decode", decode}, {"encode", encode}};
  const Result<Json> request = parse_json(line);
  if (!request) return refusal("probe: " + request.error().message);
  try {
    const auto reply = kReplies.find(request->at("kind").get_ref<const std::string&>());
    if (reply == kReplies.end()) return refusal("probe: an unknown kind");
    return reply->second(*request);
  } catch (const Json::exception& error) {
    return refusal(std::string("probe: ") + error.what());
  }
}

}  // namespace
}  // namespace millrace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << millrace::dump_json(millrace::reply_to(line)) << std::endl;
  }
}
