// Schemas of the server itself: its state, its settings and figures, the check of its store.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

Json retention_info() {
  using namespace schema;
  const Json passes =
      object({{"running", flag()}, {"lastPassEnded?", instant()}, {"nextPass?", instant()}});
  return object({
      {"instances", passes},
      {"deadLetters", passes},
      {"namespaces", list(open_object({{"namespace", text()}}))},
  });
}

Json server_info() {
  using namespace schema;
  const Json loss = object({{"time", instant()},
                            {"kind", text()},
                            {"first", whole("The first message that was lost.")},
                            {"last", whole("The last message that was lost.")},
                            {"detail", text()}});
  return object({
      {"version", text("The release of millrace.")},
      {"data?", text("The data folder.")},
      {"nats?", any("The addresses of the NATS servers.")},
      {"natsInboxPrefix?", text()},
      {"requestSubjects?", list(text())},
      {"streams?", open_object({{"prefix", text()}, {"replicas", whole("", 1)}})},
      {"limits?", map(whole(), "The limits by name.")},
      {"broker?", object({{"reading", flag("Whether events are read.")},
                          {"waitingFor?", text("Why no events are read.")},
                          {"losses", list(loss, "The latest losses of the broker.")}})},
      {"damagedRows?", object({{"count", whole("", 1)}, {"items", list(any())}})},
      {"unreadableSettings?",
       list(object({{"namespace", text()}, {"error", text("Why they do not apply.")}}))},
      {"retention?", retention_info()},
      {"engine?", object({{"longestUnitSeconds", number()}, {"longestUnitKind", text()}})},
      {"store?", open_object({{"dataBytes", whole()}, {"usedBytes", whole()}})},
  });
}

Json store_report() {
  using namespace schema;
  const Json finding = object({
      {"code", text("The stable code of the finding; docs/store-check.md lists all codes.")},
      {"table", text()},
      {"key", text()},
      {"found", text()},
      {"expected", text()},
      {"action", text("What to do.")},
      {"namespace?", text()},
      {"instance?", instance_id()},
  });
  return object({
      {"sound", flag("Whether the check found nothing.")},
      {"items", list(finding)},
      {"codes", map(whole(), "How many findings have each code.")},
      {"rows", map(whole(), "How many rows were read of each table.")},
      {"unreadable", whole("How many rows could not be read.")},
      {"indexCompared", flag("Whether the index was compared with the instances.")},
  });
}

Json cluster_view() {
  using namespace schema;
  const Json role = word({"active", "standby", "starting"});
  const Json role_of_any = word({"active", "standby", "starting", "away"});
  const Json node = object({
      {"node", text("The id of the node, of its data folder.")},
      {"incarnation?", text("The id of the process.")},
      {"role", role_of_any},
      {"epoch?", whole("The epoch that the node knows; missing if the node is away.")},
      {"position?", whole("The sequence of the log up to which it has applied the messages.")},
      {"committed?", whole("The sequence of the latest commit that its folder has.")},
      {"behindCommits?", whole("How many messages of the log it has not applied.")},
      {"behindSeconds?", number("How old the oldest of them is.")},
      {"clockOffsetSeconds?", number("How far its clock is ahead of the clock of the broker.")},
      {"version?", text("The release of millrace.")},
      {"address", text("The URL at which it answers.")},
      {"firstSeen?", instant("When it was registered; missing if it is not registered.")},
      {"error?", object({{"code", text("Why the node is not ready.")}, {"detail", text()}})},
  });
  const Json snapshots = object({
      {"count?", whole("How many complete snapshots there are.")},
      {"logBytes?", whole("How many bytes the log has.")},
      {"newest?", object({{"id", text()},
                          {"position", whole("The message of the log behind which it is.")},
                          {"ageSeconds", whole()},
                          {"bytes", whole("Of its rows.")}})},
      {"error?", object({{"code", text("Why none could be taken.")}, {"detail", text()}})},
  });
  return object({
      {"cluster", text("The name of the cluster.")},
      {"node", text("The id of the node that answers.")},
      {"role", role},
      {"epoch", whole("The latest epoch of the log.")},
      {"active?", object({{"node", text()}, {"address", text("The URL of the active.")}})},
      {"nodes",
       list(node, "The nodes that have answered, and the registered nodes that have not.")},
      {"snapshots?", snapshots},
  });
}

Json loss_accepted() {
  using namespace schema;
  const Json missing =
      object({{"node", text("The id of the node that has it.")},
              {"address", text()},
              {"fromEpoch", whole("The latest epoch that this node has.")},
              {"toEpoch", whole("The latest epoch that is lost.")},
              {"fromSequence", whole("The first message of the log that is lost.")},
              {"toSequence", whole("The last message of the log that is lost.")}});
  return object({
      {"node", text("The id of this node, which continues.")},
      {"epoch", whole("The latest epoch that it has.")},
      {"position", whole("The sequence of the log up to which its folder has the commits.")},
      {"why", text("What the log has lost, as `/readyz` says it.")},
      {"missing", list(missing, "What other nodes had, and is lost now.")},
      {"away", list(object({{"node", text()}, {"address", text()}}),
                    "Registered nodes that do not answer: what they have more is lost, too.")},
  });
}

}  // namespace

void add_system_schemas(ApiSchemas& all) {
  using namespace schema;
  all["Alive"].schema = object({{"status", exactly("alive")}});
  all["Ready"].schema = object({{"status", exactly("ready")}});
  all["Active"].schema = object({{"status", exactly("active")}});
  all["Cluster"].schema = cluster_view();
  all["LossAccepted"].schema = loss_accepted();
  all["NodeRemoved"].schema = object({{"node", text("The id of the node.")}, {"removed", flag()}});
  all["Metrics"].media = {{"text/plain", {{"schema", text("Prometheus text format 0.0.4.")}}}};
  all["Page"].media = {{"text/html", {{"schema", text("The page.")}}}};
  all["PageFile"].media = {{"*/*", Json::object()}};
  all["Session"].schema = object({
      {"scopes", list(text(), "What the caller may do: `admin` is everything.")},
      {"namespaces", list(text(), "The namespaces of the caller: `*` is all of them.")},
      {"until?",
       instant("When the session ends unless it is renewed. Missing: the caller has the token.")},
  });
  all["ServerInfo"].schema = server_info();
  all["StoreReport"].schema = store_report();
  all["OpenApi"].schema = open_object({{"openapi", text("The version of OpenAPI.")},
                                       {"info", open_object({})},
                                       {"paths", open_object({})}});
}

}  // namespace millrace
