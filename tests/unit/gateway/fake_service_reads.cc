// The reads of the FakeService.
#include <algorithm>

#include <fmt/format.h>

#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

constexpr const char* kMoment = "2021-09-01T12:00:00.000Z";

Json no_items() {
  return {{"items", Json::array()}, {"next", nullptr}, {"complete", true}, {"looked", 0}};
}

}  // namespace

Result<Json> FakeService::namespaces(const PageRequest& page) {
  const std::lock_guard lock(mutex_);
  Json items = Json::array();
  auto name = spaces_.upper_bound(page.cursor);
  for (; name != spaces_.end() && items.size() < page.limit; ++name) {
    items.push_back({{"name", *name}, {"createdAt", kMoment}});
  }
  const bool is_last = name == spaces_.end();
  return Json{{"items", items}, {"next", is_last ? Json() : items.back()["name"]}};
}

Result<Json> FakeService::one_namespace(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  Json shown{
      {"name", ns},
      {"createdAt", kMoment},
      {"quotas",
       {{"instances", {{"limit", 10}, {"used", 3}}},
        {"eventsPerSecond", {{"limit", "unlimited"}, {"overHttp", 20'000}}}}},
      {"evaluations",
       {{"fast", {{"waiting", 0}, {"running", 1}}}, {"slow", {{"waiting", 5}, {"running", 4}}}}}};
  if (const auto set = settings_.find(ns); set != settings_.end()) shown["settings"] = set->second;
  return shown;
}

Result<Json> FakeService::workflows(std::string_view ns, const PageRequest&) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  Json items = Json::array();
  for (const auto& [id, texts] : workflows_) {
    items.push_back({{"id", id},
                     {"revision", texts.size()},
                     {"start", "default"},
                     {"name", ""},
                     {"paused", paused_.contains(id)},
                     {"updatedAt", kMoment}});
  }
  return Json{{"items", items}, {"next", nullptr}};
}

Result<Json> FakeService::workflow(std::string_view ns, std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  const auto found = workflows_.find(id);
  if (found == workflows_.end()) return no_workflow(id);
  return Json{{"id", id},
              {"revision", found->second.size()},
              {"definition", found->second.back()},
              {"start", "default"},
              {"name", ""},
              {"description", ""},
              {"version", ""},
              {"paused", paused_.contains(id)},
              {"updatedAt", kMoment},
              {"states", Json::array({Json{{"id", "wait"}, {"type", "noop"}}})}};
}

Result<Json> FakeService::graph(std::string_view ns, std::string_view id,
                                std::optional<uint32_t> revision) {
  const Result<Json> newest = workflow(ns, id);
  if (!newest) return newest;
  const uint32_t number = revision.value_or(newest->at("revision").get<uint32_t>());
  if (number > newest->at("revision")) return fail("revision.not_found", "there is none");
  return Json{
      {"id", id},
      {"revision", number},
      {"limits",
       {{{"kind", "throttle"},
         {"function", "pay"},
         {"text", "limit 2, period PT1M"},
         {"line", 2}}}},
      {"start", {{"state", "wait"}, {"label", ""}}},
      {"states",
       {{{"id", "wait"},
         {"type", "consumeEvent"},
         {"line", 3},
         {"waits", {"paid"}},
         {"calls", Json::array()}}}},
      {"ways",
       {{{"from", "wait"}, {"to", nullptr}, {"kind", "transition"}, {"label", ""}, {"line", 3}}}}};
}

Result<Json> FakeService::revisions(std::string_view ns, std::string_view id,
                                    const RevisionsRequest& request) {
  const Result<Json> newest = workflow(ns, id);
  if (!newest) return newest;
  const size_t first = newest->at("revision").get<size_t>();
  size_t revision = request.cursor.empty() ? first : std::stoul(request.cursor) - 1;
  Json items = Json::array();
  for (; revision > 0 && items.size() < request.limit; --revision) {
    items.push_back({{"revision", revision}, {"createdAt", kMoment}});
    if (request.texts) items.back()["definition"] = "id: order";
  }
  return Json{{"items", std::move(items)},
              {"next", revision > 0 ? Json(std::to_string(revision + 1)) : Json()}};
}

Result<Json> FakeService::instances(std::string_view ns, const InstanceFilter& filter) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  filter_ = filter;
  if (instance_count == 1) {
    const bool is_last = !has_further_page || !filter.cursor.empty();
    Json head = instance_head(kInstance);
    if (!filter.waits_for.empty()) {
      head.update(Json::parse(R"({"waits": [
        {"type": "paid", "context": {"orderid": {"equals": "o-1742"}}},
        {"type": "sent", "context": {"region": {"pattern": "^eu"}}}], "moreWaits": 2})"));
    }
    if (filter.state == "ask") {
      head.update(Json::parse(R"({"waits": [
        {"index": 0, "function": "approve", "status": "retrying", "attempt": 2,
         "task": "0190b5a4-7c1e-7f2a-8000-00000000000a", "since": "2021-09-01T12:00:00.000Z",
         "nextRetryAt": "2021-09-01T12:00:05.000Z"},
        {"index": 1, "function": "remind", "workflow": "reminders", "status": "scheduled",
         "attempt": 1, "instance": "0190b5a4-7c1e-7f2a-8000-00000000000b",
         "since": "2021-09-01T12:00:00.000Z"}]})"));
    }
    if (filter.state == "each") {
      head["waits"] = Json::parse(R"([{"calls": 12, "function": "ship"}])");
    }
    if (filter.state == "rest") {
      head["waits"] = Json::parse(
          R"([{"until": "2021-09-01T13:00:00.000Z", "what": "delay", "causes": "state",
               "then": "ship"}])");
    }
    return Json{{"items", Json::array({std::move(head)})},
                {"next", is_last ? Json() : Json(kInstance)},
                {"complete", filter.key != "of many workflows"},
                {"looked", 1}};
  }
  // If there is more than one instance, the ids of the instances and the cursor are numbers.
  const size_t from = filter.cursor.empty() ? 0 : std::stoul(filter.cursor);
  const size_t to = std::min(from + filter.limit, instance_count);
  Json items = Json::array();
  for (size_t i = from; i < to; ++i) {
    items.push_back(instance_head(std::to_string(i)));
  }
  return Json{{"items", std::move(items)},
              {"complete", true},
              {"looked", to - from},
              {"next", to < instance_count ? Json(std::to_string(to)) : Json()}};
}

Result<Json> FakeService::instance(std::string_view, const InstanceId& id) {
  const std::lock_guard lock(mutex_);
  return find_instance(id);
}

Result<Json> FakeService::history(std::string_view ns, const InstanceId& id,
                                  const HistoryFilter& filter) {
  const Result<Json> known = instance(ns, id);
  if (!known) return known;
  const std::lock_guard lock(mutex_);
  history_filter_ = filter;
  return Json{{"items",
               {{{"number", 1},
                 {"time", kMoment},
                 {"kind", "started"},
                 {"state", ""},
                 {"detail", {{"by", "call"}, {"revision", 1}}}}}},
              {"next", nullptr}};
}

Result<NamedText> FakeService::scenario(std::string_view ns, const InstanceId& id) {
  const Result<Json> known = instance(ns, id);
  if (!known) return tl::unexpected(known.error());
  return NamedText{.name = "order.test.yaml", .text = "scenarios:\n  - name: one\n"};
}

Result<Json> FakeService::listeners(std::string_view, const ListenerFilter& filter) {
  const std::lock_guard lock(mutex_);
  listener_filter_ = filter;
  limit_ = filter.limit;
  return Json{{"items",
               {{{"kind", "start"},
                 {"workflow", "order"},
                 {"type", "order.placed"},
                 {"context", {{"source", {{"equals", "shop"}}}}}}}},
              {"next", nullptr},
              {"complete", true},
              {"looked", 0}};
}

GroupFilter FakeService::last_group_filter() {
  const std::lock_guard lock(mutex_);
  return group_filter_;
}

Result<Json> FakeService::groups(std::string_view, size_t limit, std::string_view cursor,
                                 const GroupFilter& filter) {
  const Json group = {
      {"id", kGroup},
      {"workflow", "ship"},
      {"correlate", {{"order", "o-1"}}},
      {"entries",
       {{{"type", "paid"}, {"waiting", 1}, {"first", {{"sequence", 79}, {"id", "pay-1"}}}},
        {{"type", "packed"}, {"waiting", 0}}}},
      {"expiresAt", "2021-09-01T12:00:00.000Z"}};
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  group_filter_ = filter;
  if (!filter.id.empty() && filter.id != kGroup) {
    return Json{{"items", Json::array()}, {"next", nullptr}};
  }
  const size_t from = cursor.empty() ? 0 : std::stoul(std::string(cursor));
  const size_t to = std::min(from + limit, group_count);
  return Json{{"items", Json(to - from, group)},
              {"next", to < group_count ? Json(std::to_string(to)) : Json()}};
}

Result<Json> FakeService::schedules(std::string_view ns, const PageRequest&) {
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  return Json{{"items",
               {{{"workflow", "report"},
                 {"paused", false},
                 {"cron", "CRON_TZ=Europe/Vienna 0 7 * * *"},
                 {"zone", "Europe/Vienna"},
                 {"nextTick", "2021-09-01T05:00:00.000Z"}}}},
              {"next", nullptr}};
}

Result<Json> FakeService::schedule(std::string_view ns, std::string_view workflow) {
  if (workflow != "report") return no_schedule(workflow);
  Result<Json> all = schedules(ns, {});
  if (!all) return all;
  Json one = all->at("items")[0];
  one["upcoming"] = {"2021-09-01T05:00:00.000Z", "2021-09-02T05:00:00.000Z"};
  return one;
}

Result<Json> FakeService::input_schema(std::string_view ns, std::string_view id) {
  const Result<Json> known = workflow(ns, id);
  if (!known) return known;
  return Json{{"schema", {{"type", "object"}}}, {"from", "check"}, {"example", Json::object()}};
}

void FakeService::check_input(std::string ns, std::string id, std::string input, Done done) {
  const Result<Json> known = workflow(ns, id);
  if (!known) return done(known);
  const bool valid = input.find("wrong") == std::string::npos;
  Json errors = Json::array();
  if (!valid) errors.push_back({{"path", ".wrong"}, {"message", "it is wrong"}});
  const std::lock_guard lock(mutex_);
  answer_later([done = std::move(done), answer = Json{{"valid", valid}, {"errors", errors}}] {
    done(answer);
  });
}

void FakeService::try_expression(ExpressionTrial trial,
                                 std::function<void(Result<LazyJson>)> done) {
  if (trial.text == "fail") return done(fail("direktiv.jq.badCommand", "it fails"));
  Json shown = Json::array({trial.text, trial.data.value()});
  if (!trial.instance.is_null()) shown.push_back(trial.instance.value());
  done(LazyJson(std::move(shown)));
}

Result<Json> FakeService::overview(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  Json counts = Json::array();
  if (ns != kEmptyNamespace) counts.push_back(Json::array({"order", "failed", 3}));
  return Json{
      {"counts", std::move(counts)},
      {"attention",
       Json::array({Json{{"kind", "failed"}, {"workflow", "order"}, {"count", 3}},
                    Json{{"kind", "retrying"},
                         {"at", kMoment},
                         {"since", kMoment},
                         {"instance", kInstance},
                         {"workflow", "order"},
                         {"state", "pay"}},
                    Json{{"kind", "deadline"},
                         {"at", kMoment},
                         {"since", kMoment},
                         {"instance", kInstance},
                         {"workflow", "order"},
                         {"state", "wait"},
                         {"causes", "state"},
                         {"then", "late"},
                         {"error", "direktiv.stateTimeout"}},
                    Json{{"kind", "noWorkers"},
                         {"service", "charge"},
                         {"count", 2},
                         {"running", 0},
                         {"since", kMoment}},
                    Json{{"kind", "sourceWaits"}, {"source", "orders"}, {"detail", "no stream"}},
                    Json{{"kind", "compensationStopped"}, {"workflow", "pay"}, {"count", 1}},
                    Json{{"kind", "incompleteGroups"}, {"workflow", "ship"}, {"count", 2}},
                    Json{{"kind", "unknownNamespace"}, {"namespace", "shopp"}, {"count", 4}}})},
      {"cut", Json::array({Json{{"kind", "retrying"}, {"exactUntil", kMoment}},
                           Json{{"kind", "noWorkers"}, {"detail", "no answer"}}})},
      {"levels",
       {{"readsEvents", true},
        {"sendsEvents", true},
        {"runsTasks", true},
        {"tasksUnsent", 0},
        {"httpRunning", 0},
        {"httpWaiting", 0},
        {"evaluationsWaiting", 0},
        {"evaluationsRunning", 0},
        {"jqWorkers", 2}}},
      {"broker", {{"reading", true}, {"losses", 0}}},
      {"store", {{"dataBytes", 8192}, {"usedBytes", 4096}}},
      {"asOf", "2021-09-01T12:00:00.000Z"}};
}

Result<Json> FakeService::series(const std::vector<std::string>& names,
                                 std::optional<TimePoint> since) {
  if (names != std::vector<std::string>{"events"}) return fail("request.parameter", "no series");
  return Json{{"step", 10},
              {"from", since ? Json(format_rfc3339(*since)) : Json()},
              {"series", {{"events", {1, 2}}}}};
}

Result<Json> FakeService::functions(std::string_view ns) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  if (ns == kEmptyNamespace) return no_items();
  return Json{{"items",
               {{{"service", "charge"},
                 {"target", {{"kind", "workers"}, {"at", "millrace.tasks.default.charge"}}},
                 {"paused", false},
                 {"waiting", 2},
                 {"running", 1},
                 {"asking", 3},
                 {"oldest", "2021-09-01T12:00:00.000Z"},
                 {"scheduleToStart", {{"p50", 0.25}, {"p99", 2.5}}},
                 {"lastError", {{"code", "card.declined"}, {"at", "2021-09-01T12:00:00.000Z"}}}}}},
              {"next", nullptr},
              {"complete", true},
              {"looked", 3}};
}

Result<Json> FakeService::next_firings(std::string_view ns, const NextFilter& filter) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  next_filter_ = filter;
  if (ns == kEmptyNamespace) return no_items();
  if (filter.kinds == std::vector{FiringKind::kTick}) {
    Json ticks = no_items();
    ticks["items"].push_back({{"at", "2021-09-01T12:00:00.000Z"},
                              {"kind", "tick"},
                              {"workflow", "report"},
                              {"causes", "start"}});
    return ticks;
  }
  Json answer{{"items",
               {{{"at", "2021-09-01T12:00:00.000Z"},
                 {"kind", "stateTimeout"},
                 {"instance", kInstance},
                 {"workflow", "order"},
                 {"state", "wait"},
                 {"causes", "state"},
                 {"then", "late"},
                 {"error", "direktiv.stateTimeout"}},
                {{"at", "2021-09-01T12:00:01.000Z"},
                 {"kind", "stateTimeout"},
                 {"instance", kInstance},
                 {"workflow", "book-leg"},
                 {"state", "wait"},
                 {"causes", "end"},
                 {"ends", "failed"},
                 {"error", "direktiv.stateTimeout"},
                 {"compensates", true},
                 {"caller", {{"instance", kInstance}, {"retries", true}}}}}},
              {"next", nullptr},
              {"complete", filter.limit > 1},
              {"looked", 1}};
  if (filter.limit == 1) {
    answer["exactUntil"] = "2021-09-01T12:00:00.000Z";
    answer["cutBy"] = "limit";
  } else if (filter.limit == 2) {
    answer["complete"] = false;
    answer["exactUntil"] = "2021-09-01T11:00:00.000Z";
    answer["cutBy"] = "look";
  }
  return answer;
}

NextFilter FakeService::last_next_filter() {
  const std::lock_guard lock(mutex_);
  return next_filter_;
}

Result<Json> FakeService::variables(const VariablePlace& place, size_t limit,
                                    std::string_view cursor) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(place.ns); !known) return tl::unexpected(known.error());
  Json items = Json::array();
  Json next;
  for (const auto& [name, variable] : variables_) {
    const std::string prefix = owner_of(place);
    if (!name.starts_with(prefix)) continue;
    const std::string key = name.substr(prefix.size());
    if (key <= cursor) continue;
    if (items.size() == limit) {
      next = items.back()["key"];
      break;
    }
    items.push_back(
        {{"key", key}, {"size", variable.bytes.size()}, {"contentType", variable.content_type}});
  }
  return Json{{"items", items}, {"next", next}};
}

void FakeService::keep(const std::string& key, Variable value) {
  const std::lock_guard lock(mutex_);
  variables_[owner_of({.ns = "default"}) + key] = std::move(value);
}

Result<Variable> FakeService::variable(const VariablePlace& place, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(owner_of(place) + std::string(key));
  if (found != variables_.end()) return found->second;
  return fail("variable.not_found", "there is no variable " + std::string(key));
}

Result<Json> FakeService::secrets(std::string_view ns, size_t, std::string_view) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  Json items = Json::array();
  for (const auto& [name, value] : secrets_) items.push_back({{"name", name}});
  return Json{{"items", items}, {"next", nullptr}};
}

std::map<std::string, std::string> FakeService::known_secrets() {
  const std::lock_guard lock(mutex_);
  return secrets_;
}

}  // namespace millrace
