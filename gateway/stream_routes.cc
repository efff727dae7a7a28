// The routes of live messages, as server-sent events: GET /v1/ns/{ns}/stream and
// GET /v1/ns/{ns}/instances/{instance}/stream.
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "gateway/stream_answer.h"
#include "language/findings.h"

namespace millrace {
namespace {

constexpr std::string_view kInstanceTopic = "instance:";

/// Calls `see` for each word of a list that is separated by commas.
template <class See>
Status each_word(std::string_view text, See see) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    TRY(see(word));
  }
  return {};
}

Status add_topic(LiveRequest& live, std::string_view topic) {
  if (topic == "counts") {
    live.counts = true;
  } else if (topic == "levels") {
    live.levels = true;
  } else if (topic == "instances") {
    live.instances = true;
  } else if (topic == "events") {
    live.events = true;
  } else if (topic == "dead") {
    live.dead = true;
  } else if (topic.starts_with(kInstanceTopic) && !live.history_of) {
    const std::string id(topic.substr(kInstanceTopic.size()));
    const Result<InstanceId> parsed = parse_instance_id(id);
    if (!parsed) {
      return fail("instance.not_found",
                  fmt::format("{} is not an instance id; expected a UUID", in_quotes(id)));
    }
    live.history_of = *parsed;
  } else {
    return fail("request.parameter",
                fmt::format("topics: {} is not valid; expected one or more of counts, levels, "
                            "instances, events, dead, and at most one instance:ID, separated by "
                            "commas",
                            in_quotes(topic)));
  }
  return {};
}

/// The parameter `after`: the number of the last record that the client has.
Result<uint64_t> after_of(const Request& request) {
  const std::string text = text_parameter(request, "after");
  if (text.empty()) return uint64_t{0};
  if (const auto after = whole_number(text)) return *after;
  return fail("request.parameter",
              fmt::format("after: {} is not the number of a record", in_quotes(text)));
}

Result<LiveRequest> common_request(const Request& request) {
  LiveRequest live{.ns = TRY(namespace_of(request)), .history_of = {}, .workflow = {}};
  live.after = TRY(after_of(request));
  if (const std::string* const last = find_header(request.headers, "Last-Event-ID")) {
    live.last_id = *last;
  }
  return live;
}

Result<LiveRequest> live_request_of(const Request& request) {
  LiveRequest live = TRY(common_request(request));
  const std::string topics = text_parameter(request, "topics");
  TRY(each_word(topics, [&](std::string_view topic) { return add_topic(live, topic); }));
  const bool has_topics =
      live.counts || live.levels || live.instances || live.events || live.dead || live.history_of;
  if (!has_topics) {
    return fail("request.parameter",
                "the parameter `topics` is missing; write for example ?topics=counts,instances");
  }
  live.workflow = text_parameter(request, "workflow");
  live.type = text_parameter(request, "type");
  TRY(each_word(text_parameter(request, "status"), [&](std::string_view word) -> Status {
    const auto status = parse_status(word);
    if (!status) {
      return fail("request.parameter",
                  fmt::format("status: {} is not a status; expected pending, running, waiting, "
                              "paused, complete, failed, cancelled or timedout, or several of "
                              "them, separated by commas",
                              in_quotes(word)));
    }
    live.statuses.push_back(*status);
    return {};
  }));
  return live;
}

Status open_stream(Service& service, const std::shared_ptr<Exchange>& exchange, LiveRequest live) {
  TRY(service.check_watch(live));
  service.watch(std::move(live), TRY(exchange->stream({{"Content-Type", "text/event-stream"},
                                                       {"Cache-Control", "no-store"}})));
  return {};
}

}  // namespace

void add_stream_routes(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/stream",
              .operation = "watchNamespace",
              .summary = "Streams what changes in a namespace, as server-sent events.",
              .query = {"topics", "workflow", "status", "type", "after"},
              .headers = {"Last-Event-ID"},
              .answer = "LiveMessages",
              .errors = {"namespace.not_found", "workflow.not_found", "instance.not_found"},
              .is_stream = true,
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                return open_stream(service, exchange, TRY(live_request_of(exchange->request())));
              }});
  router.add(
      {.method = "GET",
       .path = "/v1/ns/{ns}/instances/{instance}/stream",
       .operation = "watchInstance",
       .summary = "Streams the records of the history of an instance, as server-sent events.",
       .query = {"after"},
       .headers = {"Last-Event-ID"},
       .answer = "LiveMessages",
       .errors = {"namespace.not_found", "instance.not_found"},
       .is_stream = true,
       .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
         LiveRequest live = TRY(common_request(exchange->request()));
         live.history_of = TRY(instance_of(exchange->request()));
         return open_stream(service, exchange, std::move(live));
       }});
}

}  // namespace millrace
