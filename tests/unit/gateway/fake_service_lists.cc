// The lists and counts of FakeService that its other files do not have.
#include <utility>

#include "orchestrator/service/inbound_counts.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr const char* kCounted = "2021-09-01T12:00:00.000Z";

InboundFigures counted_requests() {
  const TimePoint at = from_millis(1'630'497'600'000);
  InboundFigures figures{.since = at, .counts = {2, 0, 1, 0, 0}, .accepted_at = at};
  figures.refusal = {.at = at, .error = {"hooks.refused", "no secret fits the signature"}};
  return figures;
}

}  // namespace

Result<Json> FakeService::inbound_webhooks(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  const auto settings = settings_.find(ns);
  Json webhooks = Json::object();
  if (settings != settings_.end()) webhooks = settings->second.value("hooks", Json::object());
  Json items = Json::array();
  for (const auto& [name, webhook] : webhooks.items()) {
    items.push_back(inbound_json(ns, name, webhook, counted_requests()));
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

Result<Json> FakeService::inbound_webhook(std::string_view ns, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const Json& webhook = *TRY(find_webhook(std::string(ns), name));
  Json one = inbound_json(ns, std::string(name), webhook, counted_requests());
  one["settings"] = webhook;
  return one;
}

Result<Json> FakeService::try_inbound(const InboundRequest& request) {
  const std::lock_guard lock(mutex_);
  TRY(find_webhook(request.ns, request.name));
  received_.push_back(request);
  Json signature{{"fits", find_header(request.headers, "x-signature") != nullptr}};
  if (signature["fits"] == false) {
    signature["code"] = "hooks.refused";
    signature["msg"] = "the header is missing";
  }
  const Json event{{"specversion", "1.0"}, {"id", "7"}, {"source", "/s"}, {"type", "push"}};
  Json answer{{"name", request.name}, {"signature", signature}, {"event", event}};
  answer["would"] = Json::array({Json{{"verdict", "started"}, {"workflow", "order"}}});
  return answer;
}

CountRequest FakeService::last_count_request() {
  const std::lock_guard lock(mutex_);
  return count_request_;
}

ListenerFilter FakeService::last_listener_filter() {
  const std::lock_guard lock(mutex_);
  return listener_filter_;
}

PageRequest FakeService::last_page() {
  const std::lock_guard lock(mutex_);
  return page_;
}

Result<Json> FakeService::instance_counts(std::string_view ns, const CountRequest& request) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  count_request_ = request;
  if (ns == kEmptyNamespace)
    return Json{{"items", Json::array()}, {"next", nullptr}, {"asOf", kCounted}};
  return Json{{"items",
               {{{"workflow", "order"}, {"status", "waiting"}, {"count", 12}},
                {{"workflow", "order"}, {"status", "failed"}, {"count", 1}}}},
              {"next", nullptr},
              {"asOf", kCounted}};
}

Result<Json> FakeService::find(std::string_view ns, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  Json items = Json::array();
  if (text == "event.time") {
    items.push_back(
        {{"kind", "deadLetter"}, {"id", "12"}, {"label", "event.time, 2021-09-01T12:00:00.000Z"}});
  } else if (text == "18") {
    items.push_back(
        {{"kind", "event"}, {"id", "18"}, {"label", "paid of bank.eu, 2021-09-01T12:00:01.000Z"}});
  } else if (text == "task" || text == "replay" || text == "source" || text == "webhook" ||
             text == "service") {
    items.push_back({{"kind", text}, {"id", text}, {"label", "what it is"}});
    if (text == "task") items.back()["instance"] = kInstance;
  } else if (text != "nothing" && text != "older" && ns != kEmptyNamespace) {
    items.push_back({{"kind", "workflow"}, {"id", text}, {"label", "revision 1"}});
  }
  Json answer{{"items", std::move(items)},
              {"next", nullptr},
              {"complete", text != "older" && text != "unread"}};
  if (text == "unread") {
    answer["items"] = Json::array();
    answer["notRead"] = {{"code", "broker.unreachable"}, {"msg", "not connected"}};
  }
  return answer;
}

Result<Json> FakeService::revision(std::string_view ns, std::string_view id, uint32_t number) {
  const Result<Json> newest = workflow(ns, id);
  if (!newest) return newest;
  if (number > newest->at("revision").get<uint32_t>()) {
    return fail("revision.not_found", "there is no such revision");
  }
  return Json{{"workflow", id},
              {"revision", number},
              {"createdAt", newest->at("updatedAt")},
              {"definition", newest->at("definition")}};
}

Result<Json> FakeService::instance_calls(std::string_view ns, const InstanceId& id, size_t limit,
                                         std::string_view cursor) {
  const Result<Json> known = instance(ns, id);
  if (!known) return known;
  const std::lock_guard lock(mutex_);
  page_ = {.limit = limit, .cursor = std::string(cursor)};
  return Json{{"items",
               {{{"index", 0},
                 {"function", "charge"},
                 {"status", "retrying"},
                 {"attempt", 2},
                 {"task", kInstance}}}},
              {"next", nullptr}};
}

Result<Json> FakeService::accepted_tasks(std::string_view ns, const AcceptedFilter& filter) {
  const Result<Json> space = one_namespace(ns);
  if (!space) return space;
  if (filter.instance) {
    const Result<Json> known = instance(ns, *filter.instance);
    if (!known) return known;
  }
  const std::lock_guard lock(mutex_);
  accepted_filter_ = filter;
  const Json item{{"task", kTask},
                  {"namespace", "default"},
                  {"instance", kInstance},
                  {"state", "ask"},
                  {"function", "approve"},
                  {"attempt", 1},
                  {"since", "2021-09-01T12:00:00.000Z"},
                  {"deadline", "2021-09-03T12:00:00.000Z"},
                  {"progress", {{"done", 3}}},
                  {"progressAt", "2021-09-01T12:00:00.000Z"}};
  return Json{{"items", Json::array_t(accepted_calls, item)},
              {"next", nullptr},
              {"complete", true},
              {"looked", accepted_calls}};
}

AcceptedFilter FakeService::last_accepted_filter() {
  const std::lock_guard lock(mutex_);
  return accepted_filter_;
}

Result<Json> FakeService::instance_children(std::string_view ns, const InstanceId& id, size_t limit,
                                            std::string_view cursor) {
  const Result<Json> known = instance(ns, id);
  if (!known) return known;
  const std::lock_guard lock(mutex_);
  page_ = {.limit = limit, .cursor = std::string(cursor)};
  return Json{
      {"items", {instance_head(kInstance)}}, {"next", nullptr}, {"complete", true}, {"looked", 1}};
}

Result<Json> FakeService::queues(std::string_view, size_t limit, std::string_view,
                                 std::string_view workflow) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  if (!workflow.empty() && workflow != "ship") return fail("workflow.not_found", "no workflow");
  const Json queue = {
      {"kind", "starts"},
      {"workflow", "ship"},
      {"reason", "concurrency"},
      {"key", "c-1"},
      {"limit", 1},
      {"held", 1},
      {"queued", 2},
      {"workflowPaused", true},
      {"holdersPaused", true},
      {"next", {{"instance", kInstance}, {"since", "2021-09-01T12:00:00.000Z"}, {"priority", -1}}},
      {"holder", {{"instance", kInstance}, {"since", "2021-09-01T11:00:00.000Z"}}}};
  const Json calls = {{"kind", "calls"},
                      {"reason", "concurrency"},
                      {"service", "bank"},
                      {"limit", 3},
                      {"held", 3},
                      {"queued", 1},
                      {"paused", 2},
                      {"servicePaused", true},
                      {"next",
                       {{"instance", kInstance},
                        {"task", kInstance},
                        {"since", "2021-09-01T12:00:00.000Z"},
                        {"priority", 0}}}};
  const Json pending = {
      {"kind", "starts"},
      {"workflow", "book"},
      {"reason", "batch"},
      {"key", "acme"},
      {"queued", 1},
      {"inputs", 7},
      {"maxSize", 9},
      {"instance", kInstance},
      {"since", "2021-09-01T12:00:00.000Z"},
      {"startsAt", "2021-09-01T12:05:00.000Z"},
      {"refusal", {{"code", "direktiv.mutex"}, {"msg", "it is singular"}}},
      {"holder", {{"instance", kInstance}, {"since", "2021-09-01T11:00:00.000Z"}}}};
  Json items = Json::array({queue});
  if (workflow.empty()) {
    items.push_back(pending);
    items.push_back(calls);
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

HolderFilter FakeService::last_holder_filter() {
  const std::lock_guard lock(mutex_);
  return holder_filter_;
}

Result<Json> FakeService::queue_holders(std::string_view, const HolderFilter& filter) {
  const std::lock_guard lock(mutex_);
  holder_filter_ = filter;
  limit_ = filter.limit;
  if (filter.workflow == "none") return fail("workflow.not_found", "no workflow");
  Json holder{{"key", nullptr},
              {"instance", kInstance},
              {"since", "2021-09-01T11:00:00.000Z"},
              {"paused", true},
              {"waitsFor", "throttle"}};
  if (filter.workflow.empty()) holder["task"] = kTask;
  return Json{{"items", Json::array({holder})}, {"next", nullptr}};
}

}  // namespace millrace
