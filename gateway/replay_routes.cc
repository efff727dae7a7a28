// The routes /v1/ns/{ns}/replays and below: replays of ranges of the event stream.
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr size_t kMaxReplayBytes = size_t{4} << 10;

tl::unexpected<Error> wrong_member(std::string_view member, std::string_view what) {
  return fail("request.parameter", fmt::format("{}: {}", member, what));
}

Result<uint64_t> number_member(const std::string& name, const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  return wrong_member(name, "write a number from 0 on");
}

Result<std::string> text_member(const std::string& name, const Json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return value.get<std::string>();
  }
  return wrong_member(name, "write a text");
}

Result<TimePoint> time_member(const std::string& name, const Json& value) {
  const std::string text = TRY(text_member(name, value));
  Result<TimePoint> time = parse_rfc3339(text);
  if (!time) return fail_in(name, std::move(time.error()));
  return *time;
}

/// Reads {"workflow": id} or {"instance": id}.
Result<ReplayTarget> target_member(const Json& value) {
  ReplayTarget target;
  if (!value.is_object())
    return wrong_member("to", "write {\"workflow\": ID} or {\"instance\": ID}");
  for (const auto& [name, id] : value.items()) {
    const std::string text = TRY(text_member("to." + name, id));
    if (name == "workflow") {
      target.workflow = text;
    } else if (name == "instance") {
      const Result<InstanceId> parsed = parse_instance_id(text);
      if (!parsed) return wrong_member("to.instance", "write the id of an instance, a UUID");
      target.instance = *parsed;
    } else {
      return wrong_member("to." + name, "unknown member; valid: workflow, instance");
    }
  }
  return target;
}

Status read_member(const std::string& name, const Json& value, RangeReplay& range) {
  if (name == "first") {
    range.first = TRY(number_member(name, value));
  } else if (name == "last") {
    range.last = TRY(number_member(name, value));
  } else if (name == "since") {
    range.since = TRY(time_member(name, value));
  } else if (name == "until") {
    range.until = TRY(time_member(name, value));
  } else if (name == "type") {
    range.type = TRY(text_member(name, value));
  } else if (name == "source") {
    range.source = TRY(text_member(name, value));
  } else if (name == "to") {
    range.target = TRY(target_member(value));
  } else if (name == "rate") {
    const uint64_t rate = TRY(number_member(name, value));
    if (rate == 0 || rate > kMostReplayRate) {
      return wrong_member(
          name, fmt::format("write a number of events a second from 1 to {}", kMostReplayRate));
    }
    range.rate = static_cast<uint32_t>(rate);
  } else if (name == "dryRun") {
    if (!value.is_boolean()) return wrong_member(name, "write true or false");
    range.is_dry = value.get<bool>();
  } else {
    return wrong_member(name,
                        "unknown member; valid: first, last, since, until, type, source, to, rate, "
                        "dryRun");
  }
  return {};
}

/// A range must have a begin, so that a forgotten member does not replay everything.
Result<RangeReplay> range_of(const Request& request) {
  const Json body = TRY(parse_json(request.body));
  if (!body.is_object()) {
    return fail("request.parameter",
                "write a JSON object, such as {\"since\": \"2026-01-01T00:00:00Z\"}");
  }
  RangeReplay range;
  for (const auto& [name, value] : body.items()) TRY(read_member(name, value, range));
  if (range.last > 0 && range.first > range.last) {
    return fail("request.parameter",
                fmt::format("last: {} is lower than first, {}; a range ends at or after its begin",
                            range.last, range.first));
  }
  if (range.since && range.until && *range.since >= *range.until) {
    return fail("request.parameter",
                fmt::format("until: {} is not later than since, {}; a range ends after its begin",
                            format_rfc3339(*range.until), format_rfc3339(*range.since)));
  }
  if (body.contains("first") || body.contains("since")) return range;
  return fail("request.parameter",
              "name the begin of the range: {\"since\": TIME} or {\"first\": SEQUENCE}");
}

Status begin_replay(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  const RangeReplay range = TRY(range_of(exchange->request()));
  service.event_desk().begin_replay(
      ns, range, exchange->back<Result<Json>>([exchange](const Result<Json>& started) {
        exchange->reply(started, 202);
      }));
  return {};
}

Status stop_replay(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  service.event_desk().stop_replay(
      ns, exchange->request().parts.at("replay"),
      exchange->back<Result<Json>>(
          [exchange](const Result<Json>& stopped) { exchange->reply(stopped); }));
  return {};
}

}  // namespace

void add_replay_routes(Router& router, Service& service) {
  router.add(
      {.method = "POST",
       .path = "/v1/ns/{ns}/replays",
       .operation = "beginReplay",
       .summary = "Begins the replay of a range of the event stream, in the background.",
       .body = "ReplayRange",
       .answer = "ReplayStarted",
       .answer_status = 202,
       .errors = {"namespace.not_found", "json.", "time.malformed", "event.target",
                  "workflow.not_found", "instance.not_found", "instance.ended", "replay.too_many",
                  "broker."},
       .max_body = kMaxReplayBytes,
       .lane = Lane::kBroker,
       .handler = [&service](const auto& exchange) { return begin_replay(service, exchange); }});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/replays",
              .operation = "listReplays",
              .summary = "Lists the replays of ranges and their progress, newest first.",
              .answer = "Replays",
              .errors = {"namespace.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                return service.event_desk().replays(TRY(namespace_of(request)));
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/replays/{replay}",
              .operation = "getReplay",
              .summary = "Shows a replay and its progress.",
              .answer = "Replay",
              .errors = {"namespace.not_found", "replay.not_found"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.event_desk().replay_progress(ns, request.parts.at("replay"));
              })});
  router.add(
      {.method = "DELETE",
       .path = "/v1/ns/{ns}/replays/{replay}",
       .operation = "stopReplay",
       .summary = "Stops a replay; the events that it has sent stay.",
       .answer = "ReplayStopped",
       .errors = {"namespace.not_found", "replay.not_found", "replay.ended"},
       .handler = [&service](const auto& exchange) { return stop_replay(service, exchange); }});
}

}  // namespace millrace
