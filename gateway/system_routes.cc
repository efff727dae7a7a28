// The routes of the server as a whole (/livez, /readyz, /activez, /metrics, /v1/info, /v1/cluster),
// which each node of a cluster answers; the check of the store, and the listeners and groups of a
// namespace.
#include <memory>
#include <string>

#include "gateway/instance_filter.h"
#include "gateway/parameters.h"
#include "gateway/problem.h"
#include "gateway/routes.h"

namespace millrace {
namespace {

constexpr const char* kNoCluster =
    "this server is not part of a cluster; `millrace serve --cluster` starts one that is";

/// Shows that the process answers. Checks nothing else: an outage of the broker must not make a
/// supervisor restart this process.
Status alive(const std::shared_ptr<Exchange>& exchange) {
  exchange->reply(Json{{"status", "alive"}});
  return {};
}

/// The service, if it may answer now.
Service* serving(const SystemSources& sources) {
  const bool may_serve = sources.front == nullptr || sources.front->may_serve();
  return may_serve ? sources.service : nullptr;
}

Status ready(const SystemSources& sources) {
  if (sources.front != nullptr) TRY(sources.front->ready());
  Service* const service = serving(sources);
  return service == nullptr ? Status{} : service->ready();
}

/// As ready(), and an error unless this server answers requests itself.
Status active(const SystemSources& sources) {
  if (sources.front != nullptr && !sources.front->is_active()) {
    return fail("cluster.standby", "this node is not the active of its cluster");
  }
  TRY(ready(sources));
  if (serving(sources) == nullptr) {
    return fail("log.unreachable",
                "this node is the active, and the log of the cluster confirms nothing");
  }
  return {};
}

/// Answers `word`, or 503 for every reason why not, although the error code of some reasons gives
/// 500 in other responses.
Status answer_state(const Status& state, const char* word,
                    const std::shared_ptr<Exchange>& exchange) {
  if (!state) exchange->answer(problem(503, state.error()));
  if (state) exchange->reply(Json{{"status", word}});
  return {};
}

Status metrics(const SystemSources& sources, const std::shared_ptr<Exchange>& exchange) {
  Service* const service = serving(sources);
  std::string text = service == nullptr ? "" : service->metrics();
  if (sources.front != nullptr) text += sources.front->metrics();
  exchange->answer({200,
                    {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                    text + sources.gateway_metrics()});
  return {};
}

Result<Json> info(const SystemSources& sources) {
  Service* const service = serving(sources);
  return service == nullptr ? sources.front->info() : service->info();
}

Result<Json> cluster(const SystemSources& sources) {
  if (sources.front != nullptr) return sources.front->cluster();
  return fail("cluster.none", kNoCluster);
}

/// Ends the registration of a node. Only the active calls it.
Status remove_node(const SystemSources& sources, const std::shared_ptr<Exchange>& exchange) {
  if (sources.front == nullptr) return fail("cluster.none", kNoCluster);
  const std::string& node = exchange->request().parts.at("node");
  const bool is_forced = TRY(flag_parameter(exchange->request(), "force"));
  const RemoveNode remove{.node = TRY(sources.front->may_remove(node, is_forced))};
  sources.service->command(remove, exchange->back<Result<Json>>([front = sources.front, exchange,
                                                                 node](const auto& removed) {
    if (!removed) return exchange->reply(removed);
    front->note_registered(removed);
    exchange->reply(Json{{"node", node}, {"removed", true}});
  }));
  return {};
}

Status accept_loss(const SystemSources& sources, const std::shared_ptr<Exchange>& exchange) {
  if (sources.front == nullptr) return fail("cluster.none", kNoCluster);
  exchange->reply(TRY(sources.front->accept_loss()), 202);
  return {};
}

Status verify(Service& service, const std::shared_ptr<Exchange>& exchange) {
  TRY(exchange->expect_long_wait());
  service.verify(exchange->back<Result<Json>>(
      [exchange](const Result<Json>& report) { exchange->reply(report); }));
  return {};
}

}  // namespace

void add_system_routes(Router& router, const SystemSources& sources) {
  router.add({.method = "GET",
              .path = "/livez",
              .operation = "getLiveness",
              .summary = "Answers 200 if the process runs.",
              .answer = "Alive",
              .lane = Lane::kInPlace,
              .open = true,
              .is_local = true,
              .handler = alive});
  router.add(
      {.method = "GET",
       .path = "/readyz",
       .operation = "getReadiness",
       .summary = "Answers 200 if millrace can process its work, otherwise 503 with the reason.",
       .answer = "Ready",
       .further_answers = {{503, "Problem"}},
       .lane = Lane::kProbe,
       .open = true,
       .is_local = true,
       .handler = [sources](const auto& exchange) {
         return answer_state(ready(sources), "ready", exchange);
       }});
  router.add({.method = "GET",
              .path = "/activez",
              .operation = "getActiveness",
              .summary = "Answers 200 if this server is ready and, in a cluster, the active.",
              .answer = "Active",
              .further_answers = {{503, "Problem"}},
              .lane = Lane::kProbe,
              .open = true,
              .is_local = true,
              .handler = [sources](const auto& exchange) {
                return answer_state(active(sources), "active", exchange);
              }});
  router.add({.method = "GET",
              .path = "/v1/info",
              .operation = "getInfo",
              .summary = "Shows the version, the settings and the figures of the server.",
              .answer = "ServerInfo",
              .is_local = true,
              .handler = reading([sources](const Request&) { return info(sources); })});
  router.add({.method = "GET",
              .path = "/v1/cluster",
              .operation = "getCluster",
              .summary = "Shows the nodes of the cluster, and which is the active.",
              .answer = "Cluster",
              .errors = {"cluster.none"},
              .lane = Lane::kProbe,
              .is_local = true,
              .handler = reading([sources](const Request&) { return cluster(sources); })});
  router.add(
      {.method = "POST",
       .path = "/v1/cluster/accept-loss",
       .operation = "acceptLoss",
       .summary = "Lets this node continue without what the log of the cluster has lost.",
       .answer = "LossAccepted",
       .answer_status = 202,
       .errors = {"cluster.none", "cluster.nothing_lost", "cluster.node_is_active",
                  "cluster.no_commit"},
       .is_local = true,
       .handler = [sources](const auto& exchange) { return accept_loss(sources, exchange); }});
  router.add(
      {.method = "DELETE",
       .path = "/v1/cluster/nodes/{node}",
       .operation = "removeNode",
       .summary = "Ends the registration of a node that does not exist any more.",
       .query = {"force"},
       .answer = "NodeRemoved",
       .errors = {"cluster.none", "cluster.node_not_found", "cluster.node_is_active",
                  "cluster.node_answers"},
       .handler = [sources](const auto& exchange) { return remove_node(sources, exchange); }});
  router.add({.method = "GET",
              .path = "/metrics",
              .operation = "getMetrics",
              .summary = "Shows the metrics for Prometheus.",
              .answer = "Metrics",
              .lane = Lane::kProbe,
              .is_local = true,
              .handler = [sources](const auto& exchange) { return metrics(sources, exchange); }});
}

void add_state_routes(Router& router, Service& service) {
  router.add({.method = "GET",
              .path = "/v1/verify",
              .operation = "verifyStore",
              .summary = "Checks all rows of the store; may take minutes.",
              .answer = "StoreReport",
              .may_take_long = true,
              .handler = [&service](const auto& exchange) { return verify(service, exchange); }});
  add_read(
      router, service,
      {.method = "GET",
       .path = "/v1/ns/{ns}/listeners",
       .operation = "listListeners",
       .summary = "Lists the listeners of starts, and of instances that wait for events.",
       .query = {"kind", "type", "workflow", "attribute", "value", "limit", "cursor"},
       .answer = "Listeners",
       .errors = {"namespace.not_found", "workflow.not_found", "id.malformed", "cursor.malformed"},
       .lane = Lane::kBroker,
       .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
         const std::string ns = TRY(namespace_of(request));
         const ListenerFilter filter = TRY(listener_filter_of(request));
         return store.listeners(ns, filter);
       })});
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/groups",
            .operation = "listEventGroups",
            .summary = "Lists the groups of eventsAnd starts that are not complete.",
            .query = {"id", "workflow", "attribute", "value", "limit", "cursor"},
            .answer = "EventGroups",
            .errors = {"namespace.not_found", "workflow.not_found", "cursor.malformed"},
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const size_t limit = TRY(limit_parameter(request));
              const GroupFilter filter = TRY(group_filter_of(request));
              return store.groups(ns, limit, text_parameter(request, "cursor"), filter);
            })});
  router.add({.method = "DELETE",
              .path = "/v1/ns/{ns}/groups/{group}",
              .operation = "dropEventGroup",
              .summary = "Removes a group that is not complete; its events become dead letters.",
              .answer = "EventGroupDropped",
              .errors = {"namespace.not_found", "group.not_found"},
              .handler = [&service](const std::shared_ptr<Exchange>& exchange) -> Status {
                DropGroup drop{.ns = TRY(namespace_of(exchange->request())),
                               .id = exchange->request().parts.at("group")};
                service.command(std::move(drop), exchange->back<Result<Json>>(
                                                     [exchange](const Result<Json>& dropped) {
                                                       exchange->reply(dropped);
                                                     }));
                return {};
              }});
}

}  // namespace millrace
