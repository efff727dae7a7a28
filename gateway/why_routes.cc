// Why an event had an effect or none: GET …/events/{sequence}/why, POST …/events/try for an event
// that is not sent, and GET …/instances/{instance}/why.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/http_binding.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// How many listeners, or events, an answer shows if the request does not say.
constexpr size_t kShownByDefault = 20;

Result<size_t> shown_of(const Request& request) {
  return limit_parameter(request, kShownByDefault, kMostShown);
}

/// The parameter `event`: the sequence of an event.
Result<std::optional<uint64_t>> event_of_query(const Request& request) {
  auto event = number_parameter(request, "event");
  if (event) return event;
  return fail("request.parameter",
              fmt::format("event: {} is not the sequence of an event; expected a number, which the "
                          "list of events with the parameter `id` shows for an id",
                          in_quotes(text_parameter(request, "event"))));
}

Result<WhyFilter> why_filter_of(const Request& request) {
  WhyFilter filter{.attribute = text_parameter(request, "attribute"),
                   .value = text_parameter(request, "value"),
                   .limit = TRY(shown_of(request))};
  if (filter.attribute.empty() != filter.value.empty()) {
    return fail("request.parameter",
                "attribute and value: give both, the attribute and the value that a listener asks "
                "for, or neither");
  }
  filter.instance = TRY(instance_parameter(request));
  return filter;
}

/// What an instance is asked about: the event, or the events of the window.
struct AskedEvents {
  std::optional<uint64_t> event;
  WhyFilter filter;
};

Result<AskedEvents> asked_events_of(const Request& request) {
  AskedEvents asked{.event = TRY(event_of_query(request)),
                    .filter = {.limit = TRY(shown_of(request))}};
  WhyWindow& window = asked.filter.window;
  window.since = TRY(time_parameter(request, "since"));
  window.until = TRY(time_parameter(request, "until"));
  window.before = TRY(number_parameter(request, "cursor")).value_or(0);
  if (window.since && window.until && *window.since >= *window.until) {
    return fail("request.parameter",
                fmt::format("until: {} is not later than since, {}; a window ends after its begin",
                            format_rfc3339(*window.until), format_rfc3339(*window.since)));
  }
  const bool has_window = window.since || window.until || window.before > 0;
  if (!asked.event || !has_window) return asked;
  return fail("request.parameter",
              "event: names the only event that is judged; leave out event, or since, until and "
              "cursor");
}

/// The one event of the request.
Result<Event> event_of_body(const Request& request, const EventLimits& limits) {
  std::vector<Event> events = TRY(decode_http(request.headers, request.body, limits));
  if (events.size() == 1) return std::move(events.front());
  return fail("request.parameter",
              fmt::format("the body has {} events; try one event at a time", events.size()));
}

}  // namespace

void add_why_routes(Router& router, Service& service, const RequestLimits& limits) {
  const std::vector<std::string> parameters = {"instance", "attribute", "value", "limit"};
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/events/{sequence}/why",
              .operation = "explainEvent",
              .summary = "Says why a stored event had the effects that it had, and no other.",
              .query = parameters,
              .answer = "EventWhy",
              .errors = {"namespace.not_found", "event.not_found", "instance.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                const uint64_t sequence = TRY(sequence_of(request));
                return service.why_desk().of_event(ns, sequence, TRY(why_filter_of(request)));
              })});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/events/try",
              .operation = "tryEvent",
              .summary = "Says what an event would do; nothing is sent or stored.",
              .query = parameters,
              .body = "TestEvent",
              .answer = "EventTried",
              .errors = {"namespace.not_found", "instance.not_found", "event."},
              .max_body = limits.batch_bytes,
              .lane = Lane::kBroker,
              .handler = reading(
                  [&service, events = limits.events](const Request& request) -> Result<Json> {
                    const std::string ns = TRY(namespace_of(request));
                    const WhyFilter filter = TRY(why_filter_of(request));
                    return service.why_desk().of_test_event(ns, TRY(event_of_body(request, events)),
                                                            filter);
                  })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/instances/{instance}/why",
              .operation = "explainInstance",
              .summary = "Says why an event, or the newest events, did not wake an instance.",
              .query = {"event", "limit", "since", "until", "cursor"},
              .answer = "InstanceWhy",
              .errors = {"namespace.not_found", "instance.not_found", "event.not_found",
                         "time.malformed", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                const InstanceId id = TRY(instance_of(request));
                const AskedEvents asked = TRY(asked_events_of(request));
                return service.why_desk().of_instance(ns, id, asked.event, asked.filter);
              })});
}

}  // namespace millrace
