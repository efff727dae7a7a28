// POST /v1/ns/{ns}/events accepts CloudEvents; OPTIONS answers the webhook handshake (CloudEvents
// HTTP webhook specification 1.0.2, section 4); GET lists the stored events or shows one.
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "cloudevents/http_binding.h"
#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr size_t kMaxEventReplayBytes = size_t{64} << 10;

void answer_accepted(Exchange& exchange, const Accepted& accepted) {
  exchange.answer(
      json_response(202, {{"accepted", accepted.accepted}, {"duplicates", accepted.duplicates}}));
}

Status take_events(Service& service, const EventLimits& limits,
                   const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  std::string ns = TRY(namespace_of(request));
  std::vector<Event> events = TRY(decode_http(request.headers, request.body, limits));
  if (events.empty()) {
    answer_accepted(*exchange, Accepted{});
    return {};
  }
  service.publish_events(std::move(ns), std::move(events),
                         exchange->back<Result<Accepted>>([exchange](Result<Accepted> accepted) {
                           if (!accepted) return exchange->answer(problem(accepted.error()));
                           answer_accepted(*exchange, *accepted);
                         }));
  return {};
}

/// Answers the handshake. Every origin is allowed, since the token decides who may send, not a
/// header. Every rate is allowed, since a sender that is too fast gets 503 with Retry-After.
Status shake_hands(const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  TRY(namespace_of(request));
  Response response{200, {{"Allow", "POST, OPTIONS"}}, ""};
  if (const std::string* origin = find_header(request.headers, "WebHook-Request-Origin")) {
    response.headers.emplace_back("WebHook-Allowed-Origin", *origin);
    response.headers.emplace_back("WebHook-Allowed-Rate", "*");
  }
  exchange->answer(std::move(response));
  return {};
}

/// How many attributes a list of events compares, and a replay corrects.
constexpr size_t kMostAttributesAsked = 16;

Status add_asked_attribute(std::string_view parameter, const std::string& name,
                           const std::string& value, EventListFilter& filter) {
  if (filter.attributes.size() == kMostAttributesAsked) {
    return fail("request.parameter",
                fmt::format("{}: expected at most {} attributes", parameter, kMostAttributesAsked));
  }
  if (!is_attribute_name(name)) {
    const std::string lower = to_lower(name);
    return fail("request.parameter",
                fmt::format("{}: {} is not the name of a context attribute; expected lower-case "
                            "letters and digits{}",
                            parameter, in_quotes(name),
                            is_attribute_name(lower) ? ": write " + lower : ""));
  }
  filter.attributes.emplace_back(name, value);
  return {};
}

/// Reads `attribute` and `value`, and the JSON object `attributes`.
Status read_asked_attributes(const Request& request, EventListFilter& filter) {
  const bool has_name = request.query.contains("attribute");
  if (has_name != request.query.contains("value")) {
    return fail("request.parameter",
                "attribute and value: give both, the attribute and the value that it must have, or "
                "neither");
  }
  if (has_name) {
    TRY(add_asked_attribute("attribute", text_parameter(request, "attribute"),
                            text_parameter(request, "value"), filter));
  }
  const std::string several = text_parameter(request, "attributes");
  if (several.empty()) return {};
  const Result<Json> wanted = parse_json(several);
  if (!wanted || !wanted->is_object()) {
    return fail("request.parameter",
                fmt::format("attributes: {} is not a JSON object; expected the values by the names "
                            "of the attributes, such as {{\"orderid\": \"o-1742\"}}",
                            in_quotes(several)));
  }
  for (const auto& [name, value] : wanted->items()) {
    if (!value.is_string()) {
      return fail("request.parameter",
                  fmt::format("attributes: write the value of {} as a text", in_quotes(name)));
    }
    TRY(add_asked_attribute("attributes", name, value.get<std::string>(), filter));
  }
  return {};
}

Result<EventListFilter> event_filter_of(const Request& request) {
  EventListFilter filter{.limit = TRY(limit_parameter(request)),
                         .before = TRY(number_parameter(request, "before")).value_or(0),
                         .after = TRY(number_parameter(request, "after")),
                         .type = text_parameter(request, "type"),
                         .source = text_parameter(request, "source"),
                         .id = text_parameter(request, "id"),
                         .since = TRY(time_parameter(request, "since")),
                         .until = TRY(time_parameter(request, "until"))};
  if (const auto cursor = TRY(number_parameter(request, "cursor"))) {
    (filter.after ? *filter.after : filter.before) = *cursor;
  }
  const std::string effect = text_parameter(request, "effect");
  if (!effect.empty() && effect != "with" && effect != "without") {
    return fail(
        "request.parameter",
        fmt::format("effect: {} is not valid; expected with (events that had an effect) or without "
                    "(those that had none); leave the parameter out for all events",
                    in_quotes(effect)));
  }
  if (!effect.empty()) filter.effect = effect == "with";
  if (request.query.contains("generated")) {
    filter.generated = TRY(flag_parameter(request, "generated"));
  }
  TRY(read_asked_attributes(request, filter));
  return filter;
}

/// A replay, and whether it is only tried.
struct AskedReplay {
  EventReplay replay;
  bool is_dry = false;
};

/// The namespace to which an event is sent.
Result<std::string> other_namespace(const Json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  if (is_identifier(name) && name.find('.') == std::string::npos) return name;
  return fail("request.parameter", "namespace: write the name of a namespace");
}

/// Whether the value is a whole number of 32 bits.
bool has_32_bits(const Json& value) {
  using Limits = std::numeric_limits<int32_t>;
  if (value.is_number_unsigned())
    return value.get<uint64_t>() <= static_cast<uint64_t>(Limits::max());
  if (!value.is_number_integer()) return false;
  return value.get<int64_t>() >= Limits::min() && value.get<int64_t>() <= Limits::max();
}

/// {name: value} of context attributes: texts, whole numbers of 32 bits, true and false.
Result<std::map<std::string, AttributeValue>> corrections_in(const Json& object) {
  if (!object.is_object() || object.size() > kMostAttributesAsked) {
    return fail("request.parameter",
                fmt::format("attributes: write an object of at most {} values by the names of "
                            "the attributes",
                            kMostAttributesAsked));
  }
  std::map<std::string, AttributeValue> corrections;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string()) {
      corrections[name] = value.get<std::string>();
    } else if (value.is_boolean()) {
      corrections[name] = value.get<bool>();
    } else if (has_32_bits(value)) {
      corrections[name] = value.get<int32_t>();
    } else {
      return fail("request.parameter",
                  fmt::format("attributes: {} has a value that no attribute can have; expected a "
                              "text, a whole number of 32 bits, true or false",
                              in_quotes(name)));
    }
  }
  return corrections;
}

/// Reads the body, which may be empty.
Status read_replay_body(const std::string& text, AskedReplay& asked) {
  if (text.empty()) return {};
  const Json body = TRY(parse_json(text));
  if (!body.is_object()) {
    return fail("request.parameter", "write a JSON object, such as {\"dryRun\": true}");
  }
  for (const auto& [name, value] : body.items()) {
    if (name == "dryRun") {
      if (!value.is_boolean()) return fail("request.parameter", "dryRun: write true or false");
      asked.is_dry = value.get<bool>();
    } else if (name == "namespace") {
      asked.replay.to_ns = TRY(other_namespace(value));
    } else if (name == "attributes") {
      asked.replay.attributes = TRY(corrections_in(value));
    } else {
      return fail(
          "request.parameter",
          fmt::format("{}: unknown member; valid: dryRun, attributes, namespace", in_quotes(name)));
    }
  }
  if (!asked.replay.same_id || !asked.replay.is_corrected()) return {};
  return fail("request.parameter",
              "id: a corrected event has a new id; leave out id=same, or the attributes and the "
              "namespace");
}

Result<EventReplay> replay_in(const Request& request) {
  EventReplay replay{.sequence = TRY(sequence_of(request))};
  const std::string id = text_parameter(request, "id");
  if (!id.empty() && id != "new" && id != "same") {
    return fail("request.parameter",
                fmt::format("id: {} is not valid; expected new or same", in_quotes(id)));
  }
  replay.same_id = id == "same";
  replay.target.workflow = text_parameter(request, "workflow");
  if (const std::string instance = text_parameter(request, "instance"); !instance.empty()) {
    const Result<InstanceId> parsed = parse_instance_id(instance);
    if (!parsed) {
      return fail(
          "request.parameter",
          fmt::format("instance: {} is not an instance id; expected a UUID", in_quotes(instance)));
    }
    replay.target.instance = *parsed;
  }
  return replay;
}

Status replay_event(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  AskedReplay asked{.replay = TRY(replay_in(exchange->request()))};
  TRY(read_replay_body(exchange->request().body, asked));
  const EventReplay& replay = asked.replay;
  if (!asked.is_dry) {
    exchange->reply(service.event_desk().replay(ns, replay), 202);
    return {};
  }
  const std::string& to = replay.to_ns.empty() ? ns : replay.to_ns;
  Event event = TRY(service.event_desk().planned_replay(ns, replay));
  exchange->reply(
      service.why_desk().of_test_event(to, std::move(event), {.instance = replay.target.instance}));
  return {};
}

}  // namespace

void add_event_routes(Router& router, Service& service, const RequestLimits& limits) {
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/events",
       .operation = "publishEvents",
       .summary = "Publishes one event or a batch of events.",
       .body = "Events",
       .answer = "EventsAccepted",
       .answer_status = 202,
       .errors = {"namespace.not_found", "event.", "broker.", "millrace.quota.eventsPerSecond"},
       .max_body = limits.batch_bytes,
       .lane = Lane::kEvent,
       .handler = [&service, events = limits.events](const std::shared_ptr<Exchange>& exchange) {
         return take_events(service, events, exchange);
       }});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/events",
              .operation = "listEvents",
              .summary = "Lists the stored events and what became of each, newest first.",
              .query = {"limit", "cursor", "before", "after", "type", "source", "id", "since",
                        "until", "effect", "generated", "attribute", "value", "attributes"},
              .answer = "StoredEvents",
              .errors = {"namespace.not_found", "time.malformed", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.event_desk().list(ns, TRY(event_filter_of(request)));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/events/{sequence}",
              .operation = "getEvent",
              .summary = "Shows a stored event and what became of it.",
              .answer = "StoredEvent",
              .errors = {"namespace.not_found", "event.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.event_desk().get(ns, TRY(sequence_of(request)));
              })});
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/events/{sequence}/replay",
       .operation = "replayEvent",
       .summary =
           "Publishes a stored event again, as it is or corrected, or says what that would do.",
       .query = {"id", "workflow", "instance"},
       .body = "EventReplay",
       .may_lack_body = true,
       .answer = "EventReplayed",
       .answer_status = 202,
       .further_answers = {{200, "EventTried"}},
       .errors = {"namespace.not_found", "event.", "workflow.not_found", "instance.not_found",
                  "instance.ended", "millrace.quota.eventsPerSecond", "json.", "broker."},
       .max_body = kMaxEventReplayBytes,
       .lane = Lane::kBroker,
       .handler = [&service](const auto& exchange) { return replay_event(service, exchange); }});
  router.add({.method = "OPTIONS",
              .path = "/v1/ns/{ns}/events",
              .operation = "greetWebhookSender",
              .summary = "Answers the handshake of a sender of webhooks.",
              .headers = {"WebHook-Request-Origin"},
              .lane = Lane::kInPlace,
              .open = true,
              .handler = shake_hands});
}

}  // namespace millrace
