// The routes /v1/ns/{ns}/dlq and below: the dead letters of a namespace, which are shown, replayed
// and deleted, one at a time or all of a reason.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "cloudevents/http_binding.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// Not namespace_of(): the subject of an event may contain a text that is not a valid name of a
/// namespace.
const std::string& name_in(const Request& request) { return request.parts.at("ns"); }

Result<uint64_t> letter_id_of(const Request& request) {
  const std::optional<uint64_t> id = whole_number(request.parts.at("letter"));
  if (id) return *id;
  return fail("dlq.not_found", fmt::format("{} is not the id of a dead letter; expected a number",
                                           in_quotes(request.parts.at("letter"))));
}

/// The parameter `reason`; empty: all reasons, which the parameter `all` must confirm.
Result<std::string> reason_of(const Request& request) {
  std::string reason = text_parameter(request, "reason");
  const bool all = TRY(flag_parameter(request, "all"));
  if (reason.empty() == all) return reason;
  return fail("request.parameter",
              "name the dead letters: either ?reason=REASON, or ?all=1 for those of all reasons");
}

/// The corrected event in the body; nullopt: the body is empty.
Result<std::optional<Event>> corrected_event(const Request& request, const EventLimits& limits) {
  std::optional<Event> event;
  if (request.body.empty()) return event;
  std::vector<Event> events = TRY(decode_http(request.headers, request.body, limits));
  if (events.size() == 1) return std::optional<Event>(std::move(events.front()));
  return fail("request.parameter",
              fmt::format("the body has {} events; expected one CloudEvent, or an empty body to "
                          "replay the dead letter as it is",
                          events.size()));
}

}  // namespace

void add_letter_routes(Router& router, Service& service, const RequestLimits& limits) {
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/dlq",
              .operation = "listDeadLetters",
              .summary = "Lists the dead letters, newest first, and counts those of each reason.",
              .query = {"limit", "cursor", "before", "reason", "source"},
              .answer = "DeadLetters",
              .errors = {"namespace.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                LetterFilter filter{.limit = TRY(limit_parameter(request)),
                                    .before = TRY(number_parameter(request, "before")).value_or(0),
                                    .reason = text_parameter(request, "reason"),
                                    .source = text_parameter(request, "source")};
                const auto cursor = TRY(number_parameter(request, "cursor"));
                if (cursor) filter.before = *cursor;
                return service.letter_desk().list(name_in(request), filter);
              })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/dlq",
              .operation = "deleteDeadLetters",
              .summary = "Deletes the dead letters of a reason, or of all reasons.",
              .query = {"reason", "all"},
              .answer = "DeadLettersDone",
              .errors = {"namespace.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string reason = TRY(reason_of(request));
                return service.letter_desk().remove_all(name_in(request), reason);
              })});
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/dlq/replay",
       .operation = "replayDeadLetters",
       .summary = "Publishes the events of dead letters again, the oldest first; 100 at most.",
       .query = {"reason", "all", "cursor"},
       .answer = "DeadLettersDone",
       .errors = {"namespace.not_found", "millrace.quota.eventsPerSecond", "broker."},
       .lane = Lane::kBroker,
       .handler = reading([&service](const Request& request) -> Result<Json> {
         const std::string reason = TRY(reason_of(request));
         const auto from = TRY(number_parameter(request, "cursor"));
         return service.letter_desk().replay_all(name_in(request), reason, from.value_or(0));
       })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/dlq/{letter}",
              .operation = "getDeadLetter",
              .summary = "Shows a dead letter with all of its data and headers.",
              .answer = "WholeDeadLetter",
              .errors = {"namespace.not_found", "dlq.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.letter_desk().get(name_in(request), TRY(letter_id_of(request)));
              })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/dlq/{letter}",
              .operation = "deleteDeadLetter",
              .summary = "Deletes a dead letter.",
              .answer = "DeadLetterDeleted",
              .errors = {"namespace.not_found", "dlq.not_found", "broker."},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.letter_desk().remove(name_in(request), TRY(letter_id_of(request)));
              })});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/dlq/{letter}/replay",
              .operation = "replayDeadLetter",
              .summary = "Publishes the event of a dead letter again, or a corrected event.",
              .body = "CorrectedEvent",
              .may_lack_body = true,
              .answer = "DeadLetterReplayed",
              .errors = {"namespace.not_found", "dlq.", "event.", "millrace.quota.eventsPerSecond",
                         "broker."},
              .max_body = limits.batch_bytes,
              .lane = Lane::kBroker,
              .handler = reading(
                  [&service, events = limits.events](const Request& request) -> Result<Json> {
                    const uint64_t id = TRY(letter_id_of(request));
                    const std::optional<Event> corrected = TRY(corrected_event(request, events));
                    return service.letter_desk().replay(name_in(request), id, corrected);
                  })});
}

}  // namespace millrace
