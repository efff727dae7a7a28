#include "orchestrator/service/queries.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "orchestrator/batch/check_instance.h"
#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// What is told of a sealed instance in the place of what it holds.
constexpr const char* kWithheld = "(sealed)";

Json shown(const LazyJson& json, bool sealed) { return sealed ? Json(kWithheld) : json.value(); }

/// Members of a record's detail that the engine or a definition has put there, and not the data.
constexpr std::array<std::string_view, 18> kOwnWords = {
    "async",    "at",       "attempt", "by",    "code",     "deadLetter",
    "error",    "function", "id",      "index", "instance", "parent",
    "revision", "run",      "status",  "task",  "tick",     "workflow"};

Json shown_detail(Json detail, bool sealed) {
  if (!sealed) return detail;
  if (!detail.is_object()) return kWithheld;
  for (const auto& [key, value] : detail.items()) {
    if (std::find(kOwnWords.begin(), kOwnWords.end(), key) == kOwnWords.end()) value = kWithheld;
  }
  return detail;
}

Json to_json(const WorkflowError& error) { return {{"code", error.code}, {"msg", error.message}}; }

Json to_json(const EventFilter& filter, bool sealed = false) {
  Json context = Json::object();
  for (const Predicate& predicate : filter.predicates) {
    const char* const how = predicate.kind == Predicate::Kind::kEquals ? "equals" : "pattern";
    context[predicate.attribute] = {{how, sealed ? kWithheld : predicate.text}};
  }
  return {{"type", filter.type}, {"context", std::move(context)}};
}

/// `begun`: somebody is known to work on its attempt.
std::string_view to_string(Call::Status status, bool begun) {
  switch (status) {
    case Call::Status::kQueued:
      return "queued";
    case Call::Status::kRunning:
      return begun ? "running" : "scheduled";
    case Call::Status::kBetween:
      return "retrying";
    case Call::Status::kDone:
      return "complete";
    case Call::Status::kFailed:
      return "failed";
  }
  return "unknown";
}

Json to_json(const Instance& instance, const BegunTasks& begun) {
  Json items = Json::array();
  for (const Call& call : instance.calls) {
    const bool has_begun = call.begun || begun.contains(call.id);
    Json json{{"status", to_string(call.status, has_begun)}, {"attempt", call.attempt}};
    if (call.attempt > 0) json[call.outside ? "task" : "instance"] = to_string(call.id);
    if (call.retry_at) json["nextRetryAt"] = format_rfc3339(*call.retry_at);
    if (const auto& last = call.last_error) {
      const WorkflowError& error = last->error;
      json["lastError"] = shown_detail({{"code", error.code}, {"message", error.message}},
                                       instance.sealed || call.sealed);
      json["lastError"]["at"] = format_rfc3339(last->at);
    }
    for (size_t i = 0; i < kTimeoutKinds; ++i) {
      if (!call.deadlines[i]) continue;
      const std::string_view code = error_code(static_cast<TimeoutKind>(i));
      json["deadlines"][std::string(code.substr(code.rfind('.') + 1))] =
          format_rfc3339(*call.deadlines[i]);
    }
    items.push_back(std::move(json));
  }
  return items;
}

std::string_view to_string(Start::Kind kind) {
  switch (kind) {
    case Start::Kind::kDefault:
      return "default";
    case Start::Kind::kEvent:
      return "event";
    case Start::Kind::kEventsXor:
      return "eventsXor";
    case Start::Kind::kEventsAnd:
      return "eventsAnd";
    case Start::Kind::kScheduled:
      return "scheduled";
  }
  return "unknown";
}

/// The first of those that do not belong to its calls.
std::optional<TimePoint> first_deadline(const Instance& instance) {
  std::optional<TimePoint> first;
  for (const Timer& timer : instance.timers) {
    if (timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry) continue;
    first = std::min(first.value_or(timer.deadline), timer.deadline);
  }
  return first;
}

/// How many ticks are told of one schedule.
constexpr size_t kUpcoming = 5;

/// When it started, by its id.
TimePoint time_of(const InstanceId& id) {
  int64_t millis = 0;
  for (size_t i = 0; i < 6; ++i) millis = millis << 8 | id.bytes[i];
  return std::min(from_millis(millis), kLastTime);
}

/// What is listed of an instance that can't be shown.
Json damaged_item(const InstanceId& id, const Error& error) {
  return {{"id", to_string(id)},    {"workflow", ""}, {"revision", 0},
          {"status", "damaged"},    {"state", ""},    {"startedAt", format_rfc3339(time_of(id))},
          {"damage", error.message}};
}

Error no_instance(std::string_view space, const InstanceId& id) {
  return {"instance.not_found",
          fmt::format("there is no instance {} in namespace \"{}\"", to_string(id), space)};
}

}  // namespace

Result<NamespaceNumber> Queries::find_namespace(const View& view, std::string_view space) {
  // What is not an identifier names none, and may be too long for a key.
  if (is_identifier(space)) {
    if (const auto record = TRY(read_namespace(view, space))) return record->number;
  }
  return fail("namespace.not_found", fmt::format("there is no namespace \"{}\"", space));
}

Status Queries::check_namespace(const View& view, std::string_view space) {
  TRY(find_namespace(view, space));
  return {};
}

Result<Queries::Workflows> Queries::workflows_of(const View& view, std::string_view space) {
  Workflows found;
  TRY(each_workflow(
      view, TRY(find_namespace(view, space)),
      [&](std::string_view id, const WorkflowRecord& record) { found.emplace(id, record); }));
  return found;
}

Result<WorkflowRecord> Queries::find_workflow(const View& view, std::string_view space,
                                              std::string_view id) {
  const NamespaceNumber number = TRY(find_namespace(view, space));
  if (is_identifier(id)) {
    if (const auto record = TRY(read_workflow(view, number, id))) return *record;
  }
  return fail("workflow.not_found",
              fmt::format("there is no workflow \"{}\" in namespace \"{}\"", id, space));
}

Result<std::shared_ptr<const Workflow>> Queries::definition(const View& view, Revision revision) {
  {
    const std::lock_guard guard(lock_);
    if (const auto found = definitions_.find(revision); found != definitions_.end()) {
      return found->second;
    }
  }
  const auto record = TRY(read_definition(view, revision));
  if (!record) return tl::unexpected(damaged_definition(revision, "it is missing"));
  auto loaded = loader_(record->text);
  if (!loaded) {
    return tl::unexpected(
        damaged_definition(revision, fmt::format("it does not load: {}", loaded.error().message)));
  }
  auto workflow = std::move(*loaded);
  const std::lock_guard guard(lock_);
  return definitions_.emplace(revision, std::move(workflow)).first->second;
}

Result<Json> Queries::namespaces(const View& view) {
  Json items = Json::array();
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    Json item{{"name", name}, {"createdAt", format_rfc3339(record.created_at)}};
    const Result<Json> settings = parse_json(record.settings.empty() ? "{}" : record.settings);
    if (!settings) {
      item["settings"] = record.settings;
    } else if (!settings->empty()) {
      item["settings"] = *settings;
    }
    if (const auto read = read_settings(record.settings); !read) {
      item["settingsError"] = read.error().message;
    } else if (settings) {
      Json warnings = settings_warnings(*settings);
      if (!warnings.empty()) item["settingsWarnings"] = std::move(warnings);
    }
    items.push_back(std::move(item));
  }));
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::unreadable_settings(const View& view) {
  Json items = Json::array();
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto read = read_settings(record.settings);
    if (!read) items.push_back({{"namespace", name}, {"error", read.error().message}});
  }));
  return items;
}

Result<Json> Queries::workflows(const View& view, std::string_view space) {
  const Workflows known = TRY(workflows_of(view, space));
  Json items = Json::array();
  for (const auto& [id, record] : known) {
    const Revision revision{record.number, record.latest};
    const auto workflow = TRY(definition(view, revision));
    const auto stored = TRY(read_definition(view, revision));
    items.push_back({{"id", id},
                     {"revision", record.latest},
                     {"start", to_string(workflow->start.kind)},
                     {"name", workflow->name},
                     {"paused", record.paused},
                     {"updatedAt", format_rfc3339(stored->created_at)}});
  }
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::workflow(const View& view, std::string_view space, std::string_view id) {
  const WorkflowRecord record = TRY(find_workflow(view, space, id));
  const Revision revision{record.number, record.latest};
  const auto workflow = TRY(definition(view, revision));
  const auto stored = TRY(read_definition(view, revision));
  Json states = Json::array();
  for (const auto& state : workflow->states) {
    states.push_back({{"id", state->common().id}, {"type", state->common().type}});
  }
  return Json{{"id", id},
              {"revision", record.latest},
              {"name", workflow->name},
              {"description", workflow->description},
              {"version", workflow->version},
              {"start", to_string(workflow->start.kind)},
              {"states", std::move(states)},
              {"paused", record.paused},
              {"updatedAt", format_rfc3339(stored->created_at)},
              {"definition", stored->text}};
}

Result<Json> Queries::revisions(const View& view, std::string_view space, std::string_view id) {
  const WorkflowRecord record = TRY(find_workflow(view, space, id));
  Json items = Json::array();
  TRY(each_definition(
      view, record.number,
      [&](uint32_t number, const DefinitionRecord& stored) {
        items.push_back({{"revision", number},
                         {"createdAt", format_rfc3339(stored.created_at)},
                         {"definition", stored.text}});
      },
      [](const Error&) {}));
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::head(const View& view, const Instance& instance) {
  const auto workflow = TRY(definition(view, instance.revision));
  if (instance.state >= workflow->states.size()) {
    return tl::unexpected(
        damaged_instance(instance.space, instance.id, "it is in a state that its workflow lacks"));
  }
  Json json{{"id", to_string(instance.id)},
            {"workflow", workflow->id},
            {"revision", instance.revision.number},
            {"status", to_string(instance.status)},
            {"state", workflow->states[instance.state]->common().id},
            {"startedAt", format_rfc3339(instance.started_at)}};
  if (instance.ended_at) json["endedAt"] = format_rfc3339(*instance.ended_at);
  if (instance.error) json["error"] = shown_detail(to_json(*instance.error), instance.sealed);
  if (instance.sealed) json["sealed"] = true;
  if (!instance.failed_state.empty()) json["failedState"] = instance.failed_state;
  for (const Timer& timer : instance.timers) {
    if (timer.kind == TimerKind::kRetry) json["nextRetryAt"] = format_rfc3339(timer.deadline);
  }
  if (const auto deadline = first_deadline(instance)) json["deadline"] = format_rfc3339(*deadline);
  if (instance.run > 1) json["run"] = instance.run;
  if (instance.caller) json["parent"] = to_string(instance.caller->instance);
  return json;
}

Result<Json> Queries::instances(const View& view, std::string_view space,
                                const InstanceFilter& filter) {
  const NamespaceNumber number = TRY(find_namespace(view, space));
  std::optional<WorkflowNumber> workflow;
  if (!filter.workflow.empty()) workflow = TRY(find_workflow(view, space, filter.workflow)).number;
  std::optional<InstanceId> before;
  if (!filter.cursor.empty()) before = TRY(parse_instance_id(filter.cursor));

  Json items = Json::array();
  Json next = nullptr;
  Status status;
  const auto see = [&](const Instance& one) {
    if (filter.since && one.started_at < *filter.since) return false;
    if (workflow && one.revision.workflow != *workflow) return true;
    const auto& wanted = filter.statuses;
    const bool has_status = std::find(wanted.begin(), wanted.end(), one.status) != wanted.end();
    if (!wanted.empty() && !has_status) return true;
    if (items.size() == filter.limit) {
      next = items.back()["id"];
      return false;
    }
    Result<Json> json = head(view, one);
    if (json) {
      items.push_back(std::move(*json));
    } else if (is_damaged_row(json.error())) {
      items.push_back(damaged_item(one.id, json.error()));
    } else {
      status = tl::unexpected(json.error());
    }
    return status.has_value();
  };
  const auto see_damaged = [&](const InstanceId& id, const Error& error) {
    if (workflow || !filter.statuses.empty()) return true;  // which ones they are is not known
    if (items.size() == filter.limit) {
      next = items.back()["id"];
      return false;
    }
    items.push_back(damaged_item(id, error));
    return true;
  };
  TRY(each_instance_backward(view, number, before, see, see_damaged));
  TRY(std::move(status));
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

Result<Json> Queries::instance(const View& view, std::string_view space, const InstanceId& id) {
  const auto found = TRY(read_instance(view, TRY(find_namespace(view, space)), id));
  if (!found) return tl::unexpected(no_instance(space, id));
  Json json = TRY(head(view, *found));
  json["input"] = shown(found->input, found->sealed);
  json["data"] = shown(found->data, found->sealed);
  uint32_t attempt = found->attempt;
  if (!found->calls.empty()) {
    json["calls"] = to_json(*found, begun_);
    std::optional<TimePoint> next_retry;
    std::optional<TimePoint> deadline = first_deadline(*found);
    const auto sooner = [](std::optional<TimePoint>& first, const std::optional<TimePoint>& at) {
      if (at) first = std::min(first.value_or(*at), *at);
    };
    for (const Call& call : found->calls) {
      attempt = std::max(attempt, call.attempt);
      sooner(next_retry, call.retry_at);
      for (const auto& one : call.deadlines) sooner(deadline, one);
    }
    if (next_retry) json["nextRetryAt"] = format_rfc3339(*next_retry);
    if (deadline) json["deadline"] = format_rfc3339(*deadline);
  }
  const bool has_failed = has_ended(found->status) && found->failed_attempt > 0;
  json["attempt"] = has_failed ? found->failed_attempt : attempt;
  if (!has_ended(found->status)) {
    const auto workflow = TRY(definition(view, found->revision));
    const TimePoint now = std::max(TRY(read_engine_time(view)), found->started_at);
    const Status fits = check_instance(*workflow, *found, now);
    if (!fits) json["damage"] = fits.error().message;
  }
  if (has_ended(found->status)) json["output"] = json["data"];
  return json;
}

Result<Json> Queries::history(const View& view, std::string_view space, const InstanceId& id) {
  const auto found = TRY(read_instance(view, TRY(find_namespace(view, space)), id));
  if (!found) return tl::unexpected(no_instance(space, id));
  Json items = Json::array();
  for (const HistoryRecord& record : TRY(read_history(view, *found))) {
    Json json{{"number", items.size() + 1},
              {"time", format_rfc3339(record.time)},
              {"kind", to_string(record.kind)}};
    if (!record.state.empty()) json["state"] = record.state;
    if (!record.detail.is_null())
      json["detail"] = shown_detail(record.detail.value(), found->sealed);
    if (record.data) json["data"] = shown(*record.data, found->sealed);
    items.push_back(std::move(json));
  }
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::schedule(const View& view, std::string_view id, const WorkflowRecord& record,
                               size_t upcoming) {
  const auto workflow = TRY(definition(view, {record.number, record.latest}));
  const Start& start = workflow->start;
  if (start.kind != Start::Kind::kScheduled) return Json();
  Json json{{"workflow", id}, {"paused", record.paused}};
  if (!start.cron) return json;
  json["cron"] = start.cron->text();
  json["zone"] = start.cron->zone();
  const auto row = TRY(read_schedule(view, record.number));
  if (!row) return tl::unexpected(damaged_schedule(record.number, "it is missing"));
  if (row->last) json["lastTick"] = format_rfc3339(*row->last);
  TimePoint tick = start.cron->next(row->from);
  json["nextTick"] = format_rfc3339(tick);
  for (; upcoming > 0; --upcoming, tick = start.cron->next(tick)) {
    json["upcoming"].push_back(format_rfc3339(tick));
  }
  return json;
}

Result<Json> Queries::schedules(const View& view, std::string_view space) {
  const Workflows known = TRY(workflows_of(view, space));
  Json items = Json::array();
  for (const auto& [id, record] : known) {
    Json item = TRY(schedule(view, id, record, 0));
    if (!item.is_null()) items.push_back(std::move(item));
  }
  return Json{{"items", std::move(items)}};
}

Result<Json> Queries::schedule(const View& view, std::string_view space,
                               std::string_view workflow) {
  const WorkflowRecord record = TRY(find_workflow(view, space, workflow));
  Json json = TRY(schedule(view, workflow, record, kUpcoming));
  if (json.is_null()) {
    return fail("schedule.not_found", fmt::format("workflow \"{}\" has no schedule", workflow));
  }
  return json;
}

Result<Json> Queries::listeners(const View& view, std::string_view space, size_t limit,
                                std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, space));
  Json items = Json::array();
  Json next = nullptr;
  if (cursor.empty()) {
    for (const auto& [id, record] : TRY(workflows_of(view, space))) {
      const auto workflow = TRY(definition(view, {record.number, record.latest}));
      for (const StartEvent& event : workflow->start.events) {
        Json json = to_json(event.filter);
        json["kind"] = "start";
        json["workflow"] = id;
        items.push_back(std::move(json));
      }
    }
  }
  std::optional<InstanceId> before;
  if (!cursor.empty()) before = TRY(parse_instance_id(cursor));
  std::optional<InstanceId> last;
  Status status;
  const auto see = [&](const Instance& one) {
    if (one.listeners.empty()) return true;
    if (items.size() >= limit && last) {
      next = to_string(*last);
      return false;
    }
    Result<Json> described = head(view, one);
    if (!described && is_damaged_row(described.error())) return true;
    if (!described) {
      status = tl::unexpected(described.error());
      return false;
    }
    for (const Listener& listener : one.listeners) {
      Json json = to_json(listener.filter, one.sealed);
      json["kind"] = "instance";
      json["workflow"] = (*described)["workflow"];
      json["instance"] = (*described)["id"];
      json["state"] = (*described)["state"];
      if (described->contains("deadline")) json["deadline"] = (*described)["deadline"];
      items.push_back(std::move(json));
    }
    last = one.id;
    return true;
  };
  TRY(each_instance_backward(view, number, before, see,
                             [](const InstanceId&, const Error&) { return true; }));
  TRY(std::move(status));
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

Result<VariableOwner> Queries::owner_of(const View& view, const VariablePlace& place) {
  VariableOwner owner{.scope = VariableScope::kNamespace,
                      .space = TRY(find_namespace(view, place.space))};
  if (place.instance) {
    owner.scope = VariableScope::kInstance;
    owner.instance = *place.instance;
    const auto found = TRY(read_instance(view, owner.space, *place.instance));
    if (!found) return tl::unexpected(no_instance(place.space, *place.instance));
  } else if (!place.workflow.empty()) {
    owner.scope = VariableScope::kWorkflow;
    owner.workflow = TRY(find_workflow(view, place.space, place.workflow)).number;
  }
  return owner;
}

Result<Json> Queries::variables(const View& view, const VariablePlace& place, size_t limit,
                                std::string_view cursor) {
  const VariableOwner owner = TRY(owner_of(view, place));
  Json items = Json::array();
  Json next = nullptr;
  TRY(each_variable(view, owner, cursor, [&](std::string_view key, const Variable& variable) {
    if (items.size() == limit) {
      next = items.back()["key"];
      return false;
    }
    items.push_back(
        {{"key", key}, {"size", variable.bytes.size()}, {"contentType", variable.content_type}});
    if (variable.sealed) items.back()["sealed"] = true;
    return true;
  }));
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

Result<Variable> Queries::variable(const View& view, const VariablePlace& place,
                                   std::string_view key) {
  const VariableName name{TRY(owner_of(view, place)), std::string(key)};
  auto found = TRY(read_variable(view, name));
  if (!found) return tl::unexpected(no_variable(key));
  if (found->sealed) {
    return fail(
        "variable.sealed",
        fmt::format("variable \"{}\" was set by an instance that holds a secret; it is told "
                    "to instances only",
                    key));
  }
  return std::move(*found);
}

Result<Json> Queries::secrets(const View& view, std::string_view space, size_t limit,
                              std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, space));
  Json items = Json::array();
  Json next = nullptr;
  TRY(each_secret(view, number, cursor, [&](std::string_view name) {
    if (items.size() == limit) {
      next = items.back()["name"];
      return false;
    }
    items.push_back({{"name", name}});
    return true;
  }));
  return Json{{"items", std::move(items)}, {"next", std::move(next)}};
}

}  // namespace millrace
