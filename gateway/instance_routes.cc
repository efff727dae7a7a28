// The routes /v1/ns/{ns}/instances and below: list, show, history, scenario, delete one or those of
// a filter, and the commands on instances.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gateway/instance_filter.h"
#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

// read_more() reads those parameters of a command that only this kind of command has.

template <class T>
Status read_more(T&, const Request&) {
  return {};
}
Status read_more(CancelInstance& command, const Request& request) {
  command.now = TRY(flag_parameter(request, "now"));
  return {};
}
Status read_more(DeleteInstance& command, const Request& request) {
  command.damaged = TRY(flag_parameter(request, "damaged"));
  return {};
}
Status read_more(RetryInstance& command, const Request& request) {
  command.extend = TRY(flag_parameter(request, "extend"));
  return {};
}
Status read_more(RerunInstance& command, const Request& request) {
  command.state = text_parameter(request, "from");
  if (!command.state.empty()) return {};
  return fail("request.parameter",
              "the parameter `from` is missing; name the state to run from: ?from=STATE");
}
Status read_more(CompensateInstance& command, const Request& request) {
  command.past = TRY(flag_parameter(request, "past"));
  return {};
}

// with_last_page() is the command that follows a command on several instances, with their last
// page; nullopt: none does. `filter` is as the query has it.

template <class T>
std::optional<DropPendingStarts> with_last_page(const T&, const InstanceFilter&) {
  return std::nullopt;
}
/// A start that was put off has no status: a query for one does not select it.
std::optional<DropPendingStarts> with_last_page(const CancelInstance& command,
                                                const InstanceFilter& filter) {
  if (!filter.statuses.empty()) return std::nullopt;
  return DropPendingStarts{.ns = command.ns, .workflow = filter.workflow, .since = filter.since};
}

// statuses_for() returns the statuses in which a command is possible; in any other status the
// command would be refused. A command on several instances selects these statuses, unless the query
// names a status.

using Statuses = std::vector<InstanceStatus>;

Statuses statuses_for(const CancelInstance&) {
  using enum InstanceStatus;
  return {kPending, kRunning, kWaiting, kPaused};
}
Statuses statuses_for(const PauseInstance&) {
  using enum InstanceStatus;
  return {kPending, kRunning, kWaiting};
}
Statuses statuses_for(const ResumeInstance&) { return {InstanceStatus::kPaused}; }
Statuses statuses_for(const RetryInstance&) {
  return {InstanceStatus::kFailed, InstanceStatus::kTimedOut};
}
Statuses ended_statuses() {
  using enum InstanceStatus;
  return {kComplete, kFailed, kCancelled, kTimedOut};
}
Statuses statuses_for(const RestartInstance&) { return ended_statuses(); }
Statuses statuses_for(const RerunInstance&) { return ended_statuses(); }
Statuses statuses_for(const CompensateInstance&) {
  using enum InstanceStatus;
  return {kFailed, kCancelled, kTimedOut};
}

/// narrow() excludes instances for which a command on several instances has nothing to do.
template <class T>
void narrow(const T&, InstanceFilter&) {}
void narrow(const CompensateInstance&, InstanceFilter& filter) {
  filter.traits.push_back(InstanceTrait::kCompensations);
}

/// The largest body of a request that deletes instances.
constexpr size_t kMaxSelectionBytes = size_t{4} << 10;

tl::unexpected<Error> wrong_selection(std::string_view member, std::string_view what) {
  return fail("request.parameter", fmt::format("{}: {}", member, what));
}

/// Reads the statuses of a selection of ended instances.
Result<Statuses> ended_statuses_of(const Json& names) {
  constexpr std::string_view kWanted =
      "write a list of at least one of complete, failed, cancelled and timedout";
  if (!names.is_array() || names.empty()) return wrong_selection("status", kWanted);
  Statuses statuses;
  for (const Json& name : names) {
    const auto status = name.is_string() ? parse_status(name.get<std::string>()) : std::nullopt;
    if (!status || !has_ended(*status)) {
      return wrong_selection("status", fmt::format("{} is not the status of an ended instance; {}",
                                                   name.dump(), kWanted));
    }
    statuses.push_back(*status);
  }
  return statuses;
}

/// Reads {"workflow"?: id, "status": [name], "before"?: time of the end}.
Result<DeleteInstances> selection_of(const Request& request) {
  DeleteInstances command;
  command.ns = TRY(namespace_of(request));
  const Json body = TRY(parse_json(request.body));
  if (!body.is_object()) {
    return fail(
        "request.parameter",
        R"(the body: write an object with "status", and optionally "workflow" and "before")");
  }
  if (!body.contains("status")) {
    return wrong_selection("status", "it is missing; name the statuses of the instances to delete");
  }
  for (const auto& [key, value] : body.items()) {
    if (key == "status") {
      command.statuses = TRY(ended_statuses_of(value));
    } else if (key != "workflow" && key != "before") {
      return wrong_selection(key, "unknown member; valid: workflow, status, before");
    } else if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      return wrong_selection(key, key == "workflow" ? "write the id of a workflow"
                                                    : "write a time, such as 2026-01-01T00:00:00Z");
    } else if (key == "workflow") {
      command.workflow = value.get<std::string>();
    } else {
      Result<TimePoint> time = parse_rfc3339(value.get_ref<const std::string&>());
      if (!time) return fail_in("before", std::move(time.error()));
      command.before = *time;
    }
  }
  return command;
}

Status delete_instances(Service& service, const std::shared_ptr<Exchange>& exchange) {
  DeleteInstances command = TRY(selection_of(exchange->request()));
  service.command(std::move(command), exchange->replier());
  return {};
}

/// Makes the handler of a command on the instance that the path names.
template <class T>
Handler commanding(Service& service) {
  return [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
    T command;
    command.ns = TRY(namespace_of(exchange->request()));
    command.instance = TRY(instance_of(exchange->request()));
    TRY(read_more(command, exchange->request()));
    service.command(std::move(command), exchange->replier());
    return {};
  };
}

/// The largest number of instances that one request processes; the cursor leads to the others.
constexpr size_t kMostAtOnce = 250;

/// The results so far of a command on several instances. Used on the gateway's thread only.
// Moving a Json does not throw, but clang-tidy does not know that.
struct Gathering {  // NOLINT(bugprone-exception-escape)
  Json answer;
  size_t left = 0;  ///< instances without a result
  /// The command that follows when all have one, until it was sent.
  std::optional<DropPendingStarts> last = std::nullopt;
};

/// Sends the command that follows, or answers if there is none.
void finish_all(Service& service, const std::shared_ptr<Exchange>& exchange,
                const std::shared_ptr<Gathering>& gathering) {
  if (!gathering->last) {
    exchange->reply(gathering->answer);
    return;
  }
  const auto add = [exchange, gathering](const Result<Json>& dropped) {
    if (!dropped) {
      exchange->reply(dropped);
      return;
    }
    const auto number = dropped->at("dropped").get<size_t>();
    if (number > 0) gathering->answer["pendingStarts"] = number;
    exchange->reply(gathering->answer);
  };
  service.command(*std::exchange(gathering->last, std::nullopt), exchange->back<Result<Json>>(add));
}

/// Makes the handler of a command on all instances that the query selects, page by page. If the
/// query names no status, instances are selected whose status allows the command. The response is
/// {"done":n,"refused":[{"id","code","detail"}],"next","pendingStarts"?: n}.
template <class T>
Handler commanding_all(Service& service) {
  return [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
    const Request& request = exchange->request();
    InstanceFilter filter = TRY(instance_filter_of(request));
    if (filter.workflow.empty() && filter.statuses.empty() && !filter.since &&
        !TRY(flag_parameter(request, "all"))) {
      return fail("request.parameter",
                  "select the instances with ?workflow=, ?status=, ?since= or ?all=1");
    }
    filter.limit = std::min(filter.limit, kMostAtOnce);
    T command;
    command.ns = TRY(namespace_of(request));
    TRY(read_more(command, request));
    const auto last = with_last_page(command, filter);
    if (filter.statuses.empty()) filter.statuses = statuses_for(command);
    narrow(command, filter);
    const Json page = TRY(service.instances(command.ns, filter));
    const auto gathering = std::make_shared<Gathering>();
    gathering->left = page["items"].size();
    gathering->answer = {{"done", 0}, {"refused", Json::array()}, {"next", page["next"]}};
    if (page["next"].is_null()) gathering->last = last;
    if (gathering->left == 0) finish_all(service, exchange, gathering);
    for (const Json& item : page["items"]) {
      const std::string id = item["id"];
      command.instance = TRY(parse_instance_id(id));
      service.command(command, exchange->back<Result<Json>>([&service, exchange, gathering,
                                                             id](const Result<Json>& answer) {
        Json& all = gathering->answer;
        if (answer) {
          all["done"] = all["done"].get<size_t>() + 1;
        } else {
          all["refused"].push_back(
              {{"id", id}, {"code", answer.error().code}, {"detail", answer.error().message}});
        }
        if (--gathering->left == 0) finish_all(service, exchange, gathering);
      }));
    }
    return {};
  };
}

/// Answers with the scenario of the instance, as a file to download.
Status answer_scenario(Service& service, const std::shared_ptr<Exchange>& exchange) {
  const std::string ns = TRY(namespace_of(exchange->request()));
  const InstanceId id = TRY(instance_of(exchange->request()));
  NamedText file = TRY(service.scenario(ns, id));
  // The name has letters, digits, `.`, `-` and `_` only: the ids of a workflow and of an instance.
  exchange->answer({200,
                    {{"Content-Type", "application/yaml"},
                     {"Content-Disposition", fmt::format("attachment; filename=\"{}\"", file.name)},
                     {"Cache-Control", "no-store"}},
                    std::move(file.text)});
  return {};
}

/// A command on one instance, or on all instances that the query selects.
struct InstanceVerb {
  std::string name;
  std::string does;                ///< the beginning of the summaries
  std::vector<std::string> query;  ///< the parameters of this command
  std::string answer;              ///< the schema of the answer of the command on one instance
  std::vector<std::string> errors;
};

template <class T>
void add_verb(Router& router, Service& service, const InstanceVerb& verb) {
  std::vector<std::string> errors = verb.errors;
  errors.insert(errors.end(), {"namespace.not_found", "instance.not_found"});
  router.add({.method = "POST",
              .path = fmt::format("/v1/ns/{{ns}}/instances/{{instance}}/{}", verb.name),
              .operation = verb.name + "Instance",
              .summary = verb.does + " an instance.",
              .query = verb.query,
              .answer = verb.answer,
              .errors = std::move(errors),
              .handler = commanding<T>(service)});
  std::vector<std::string> query = verb.query;
  query.insert(query.end(), {"workflow", "status", "since", "all", "limit", "cursor"});
  router.add(
      {.method = "POST",
       .path = fmt::format("/v1/ns/{{ns}}/instances/{}", verb.name),
       .operation = verb.name + "Instances",
       .summary = verb.does + " each instance that the query selects.",
       .query = std::move(query),
       .answer = "InstancesChanged",
       .errors = {"namespace.not_found", "workflow.not_found", "time.malformed", "id.malformed"},
       .handler = commanding_all<T>(service)});
}

}  // namespace

void add_instance_routes(Router& router, Service& service) {
  add_read(
      router, service,
      {.method = "GET",
       .path = "/v1/ns/{ns}/instances",
       .operation = "listInstances",
       .summary = "Lists instances, newest first unless `order` says otherwise.",
       .query = {"workflow", "status", "since", "until", "endedSince", "endedUntil", "id", "key",
                 "correlation", "parent", "state", "error", "has", "waitsFor", "order", "limit",
                 "cursor"},
       .answer = "Instances",
       .errors = {"namespace.not_found", "workflow.not_found", "time.malformed", "id.malformed"},
       .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
         const std::string ns = TRY(namespace_of(request));
         const InstanceFilter filter = TRY(instance_filter_of(request));
         return store.instances(ns, filter);
       })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/instances/count",
            .operation = "countInstances",
            .summary = "Counts the instances by workflow, revision, state and status.",
            .query = {"by", "workflow", "status", "state"},
            .answer = "InstanceCounts",
            .errors = {"namespace.not_found", "workflow.not_found", "index.incomplete"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const CountRequest counts = TRY(count_request_of(request));
              return store.instance_counts(ns, counts);
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/instances/{instance}",
            .operation = "getInstance",
            .summary = "Shows an instance.",
            .answer = "Instance",
            .errors = {"namespace.not_found", "instance.not_found"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const InstanceId id = TRY(instance_of(request));
              return store.instance(ns, id);
            })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/instances/{instance}",
              .operation = "deleteInstance",
              .summary = "Deletes an ended instance.",
              .query = {"damaged"},
              .answer = "InstanceDeleted",
              .errors = {"namespace.not_found", "instance.not_found", "instance.living"},
              .handler = commanding<DeleteInstance>(service)});
  router.add({.method = "POST",
              .path = "/v1/ns/{ns}/instances/delete",
              .operation = "deleteInstances",
              .summary = "Deletes the ended instances that the body selects, after the answer.",
              .body = "InstanceSelection",
              .answer = "InstancesDeleting",
              .errors = {"namespace.not_found", "workflow.not_found", "json.", "time.malformed"},
              .max_body = kMaxSelectionBytes,
              .handler = [&service](const auto& exchange) {
                return delete_instances(service, exchange);
              }});
  add_verb<CancelInstance>(router, service,
                           {"cancel", "Cancels", {"now"}, "InstanceCancelled", {"instance.ended"}});
  add_verb<PauseInstance>(router, service,
                          {"pause", "Pauses", {}, "InstancePaused", {"instance.ended"}});
  add_verb<ResumeInstance>(router, service,
                           {"resume", "Resumes", {}, "InstanceResumed", {"instance.ended"}});
  const std::vector<std::string> not_again = {
      "instance.living",    "instance.not_failed", "instance.no_data",      "instance.no_state",
      "workflow.not_found", "direktiv.mutex",      "millrace.concurrency.", "millrace.quota."};
  std::vector<std::string> no_retry = not_again;
  no_retry.emplace_back("instance.deadline_passed");
  add_verb<RetryInstance>(
      router, service,
      {"retry", "Tries the failed state again in", {"extend"}, "InstanceRun", no_retry});
  add_verb<RestartInstance>(router, service,
                            {"restart", "Starts a new run of", {}, "InstanceRun", not_again});
  add_verb<RerunInstance>(
      router, service,
      {"rerun", "Starts a new run from a named state of", {"from"}, "InstanceRun", not_again});
  add_verb<CompensateInstance>(
      router, service,
      {"compensate",
       "Makes the compensations that are left of",
       {"past"},
       "InstanceCompensating",
       {"instance.living", "instance.no_compensation", "workflow.not_found", "direktiv.mutex",
        "millrace.concurrency.", "millrace.quota."}});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/instances/{instance}/calls",
            .operation = "listCalls",
            .summary = "Lists the calls of the state of an instance, in their order.",
            .query = {"limit", "cursor"},
            .answer = "InstanceCalls",
            .errors = {"namespace.not_found", "instance.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const InstanceId id = TRY(instance_of(request));
              const size_t limit = TRY(limit_parameter(request));
              return store.instance_calls(ns, id, limit, text_parameter(request, "cursor"));
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/instances/{instance}/children",
            .operation = "listChildren",
            .summary = "Lists the instances that calls of an instance have started, oldest first.",
            .query = {"limit", "cursor"},
            .answer = "Instances",
            .errors = {"namespace.not_found", "instance.not_found", "id.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const InstanceId id = TRY(instance_of(request));
              const size_t limit = TRY(limit_parameter(request));
              return store.instance_children(ns, id, limit, text_parameter(request, "cursor"));
            })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/instances/{instance}/history",
            .operation = "getHistory",
            .summary = "Lists the records of the history of an instance.",
            .query = {"limit", "cursor", "order", "data", "after", "before", "kind"},
            .answer = "History",
            .errors = {"namespace.not_found", "instance.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const InstanceId id = TRY(instance_of(request));
              const HistoryFilter filter = TRY(history_filter_of(request));
              return store.history(ns, id, filter);
            })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/instances/{instance}/scenario",
              .operation = "getScenario",
              .summary = "Makes a scenario file that plays what an instance met.",
              .answer = "Scenario",
              .errors = {"namespace.not_found", "instance.not_found", "scenario.", "broker."},
              .lane = Lane::kBroker,
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) {
                return answer_scenario(service, exchange);
              }});
}

}  // namespace millrace
