// Command: a request of a user or a program to the engine; a closed list. Each command gets one
// answer (orchestrator/service/service.h lists the JSON of each).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "model/answered_by.h"
#include "model/instance.h"
#include "model/task.h"
#include "model/variable.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "states/workflow.h"

namespace millrace {

struct ApplyWorkflow {
  std::string ns;
  std::string text;                          ///< the definition, as given
  std::shared_ptr<const Workflow> workflow;  ///< the definition, loaded
  /// The newest revision that the caller knows (0: none): if there is another one, the command is
  /// refused (model/revision_conflict.h). nullopt: the definition is applied in any case.
  std::optional<uint64_t> base_revision = std::nullopt;
};
/// The progress of a command that changes more instances than one batch should.
struct Sweep {
  size_t changed = 0;              ///< number of instances changed so far
  std::optional<InstanceId> last;  ///< the last processed instance; nullopt: none yet
  size_t compensating = 0;  ///< number of instances that were left out, or make compensations now
  size_t dropped = 0;       ///< number of compensations that the cancelled instances had left
};
/// The progress of a command that drops starts that `debounce` or `batch` has put off.
struct PendingSweep {
  size_t dropped = 0;                     ///< number of pending starts dropped so far
  std::optional<PendingStartPlace> last;  ///< the last one that was looked at; nullopt: none yet
};
struct DeleteWorkflow {
  std::string ns;
  std::string id;
  bool cancel = false;  ///< cancel the workflow's live instances instead of refusing the command
  bool drop_compensations = false;  ///< if `cancel`: these instances make no compensation
  /// Whether an earlier release deleted the workflow without recording the deletion; then `id` is
  /// the workflow's number.
  bool leftovers = false;
  Sweep sweep;
  PendingSweep pending = {};
  std::string at;  ///< for leftovers: the key of the row to continue from
};
// Moving a Json throws nothing, but clang-tidy cannot see that.
struct StartInstance {  // NOLINT(bugprone-exception-escape)
  std::string ns;
  std::string workflow;
  LazyJson input;               ///< the initial data; must be an object
  std::string idempotency_key;  ///< empty: no key
  std::string own_policy = {};  ///< as encoded by write_own_policy; empty: not set
};
/// Starts an instance as a tick of the schedule would; the schedule itself does not change.
struct TriggerSchedule {
  std::string ns;
  std::string workflow;
};
/// Cancels one instance, or drops the start that `debounce` or `batch` has put off and from which
/// the instance would start.
struct CancelInstance {
  std::string ns;
  InstanceId instance;
  bool now = false;  ///< do not wait until running tasks have ended
  /// Where the pending start is that has the id; nullopt: none was found. If it is there no more,
  /// the command is about the instance.
  std::optional<PendingStartPlace> pending = std::nullopt;
};
/// Drops all starts of a workflow, or of the namespace, that `debounce` or `batch` has put off.
struct DropPendingStarts {
  std::string ns;
  std::string workflow;            ///< the id of the workflow; empty: of all workflows
  std::optional<TimePoint> since;  ///< only those whose first request did not come before
  PendingSweep sweep = {};
};
struct PauseInstance {
  std::string ns;
  InstanceId instance;
};
struct ResumeInstance {
  std::string ns;
  InstanceId instance;
};
/// The progress of a search for data in the history of an instance, from its newest row backward.
struct HistorySearch {
  uint64_t newest = 0;  ///< the newest row when the search started; 0: it has not started
  uint64_t next = 0;    ///< the row to read next; 0: none is left
};
struct RetryInstance {
  std::string ns;
  InstanceId instance;
  bool extend = false;  ///< restart the execution timeout
  HistorySearch search = {};
};
struct RestartInstance {
  std::string ns;
  InstanceId instance;
};
struct RerunInstance {
  std::string ns;
  InstanceId instance;
  std::string state;
  HistorySearch search = {};
};
/// Makes the compensations that an ended instance has left.
struct CompensateInstance {
  std::string ns;
  InstanceId instance;
  bool past = false;  ///< the newest one, which failed, is not made
};
/// Removes an ended instance with its history.
struct DeleteInstance {
  std::string ns;
  InstanceId instance;
  bool damaged = false;  ///< also remove an instance with damaged rows, live or ended
};
/// Deletes the ended instances that the filter selects, after the answer, some in each batch. The
/// instances that end or begin a new run after the command stay. If no instance matches, nothing
/// happens, and the answer shows it.
struct DeleteInstances {
  std::string ns;
  std::string workflow = {};                       ///< empty: all workflows of the namespace
  std::vector<InstanceStatus> statuses;            ///< not empty; only statuses of ended instances
  std::optional<TimePoint> before = std::nullopt;  ///< only instances that ended before this time
};
/// Pauses or resumes a workflow. While the workflow is paused, its instances begin no new work, and
/// neither do instances that start later.
struct PauseWorkflow {
  std::string ns;
  std::string id;
  bool paused = true;  ///< false: resume
  Sweep sweep;
};
/// Pauses or resumes a service. The calls of a paused service wait until the service is resumed;
/// then some of the waiting tasks are handed out after each batch.
struct PauseService {
  std::string ns;
  std::string name;
  bool paused = true;
  Sweep sweep;
  /// The workflow behind which the search for a definition that names the service continues.
  WorkflowNumber searched{};
};
/// Pauses or resumes an inbound webhook: changes its setting, and no other setting of the
/// namespace.
struct PauseInboundWebhook {
  std::string ns;
  std::string name;
  bool paused = true;
};
/// Removes an inbound webhook from the settings of the namespace; the other settings stay.
struct DeleteInboundWebhook {
  std::string ns;
  std::string name;
};
/// Creates the namespace unless it exists, and stores its settings if any are given.
struct CreateNamespace {
  std::string name;
  std::optional<Json> settings = std::nullopt;  ///< orchestrator/definition/namespace_settings.h
  /// The namespace whose instances the command is stepping, because `settings` resume services;
  /// nullopt: no namespace yet, begin with the first one.
  std::optional<NamespaceNumber> sweeping = std::nullopt;
  Sweep sweep = {};
};
struct DeleteNamespace {
  std::string name;
  bool cancel = false;              ///< as in DeleteWorkflow
  bool drop_compensations = false;  ///< as in DeleteWorkflow
  /// Whether an earlier release deleted the namespace and left its rows; then `name` is the
  /// namespace's number.
  bool leftovers = false;
  Sweep sweep;
};
/// The owner of a variable: a workflow, an instance, or the namespace itself.
struct VariablePlace {
  std::string ns;
  std::string workflow;  ///< empty: not a workflow's variable
  std::optional<InstanceId> instance;
};
struct PutVariable {
  VariablePlace place;
  std::string key;  ///< a text that is_variable_key accepts
  Variable value;   ///< kMaxVariableBytes at most
};
struct DeleteVariable {
  VariablePlace place;
  std::string key;
};
inline constexpr size_t kMaxSecretBytes = size_t{64} << 10;

/// Sets a secret of a namespace. Only the actions of states can read the value.
struct PutSecret {
  std::string ns;
  std::string name;   ///< a text that is_identifier accepts
  std::string value;  ///< UTF-8, kMaxSecretBytes at most
};
struct DeleteSecret {
  std::string ns;
  std::string name;
};
/// How many replays may run in one namespace, and in all; how many ended ones are kept of a
/// namespace, and of all.
inline constexpr size_t kMostReplaysOfNamespace = 4;
inline constexpr size_t kMostReplays = 16;
inline constexpr size_t kEndedReplaysKept = 20;
inline constexpr size_t kAllEndedReplaysKept = 1'000;

/// Writes the row of a replay of a range. Only a running replay changes.
struct ChangeReplay {
  enum class Kind : uint8_t { kBegin, kMove, kStop };
  std::string ns;
  ReplayId id{};
  Kind kind{};
  ReplayRecord record = {};  ///< not used by kStop
};
/// How many sources a namespace may have, and all namespaces together; how many rows `origin/` of
/// one source are kept; from how many left consumers on no source gets a further consumer.
inline constexpr size_t kMostSourcesOfNamespace = 16;
inline constexpr size_t kMostSources = 64;
inline constexpr size_t kOriginsKept = 4;
inline constexpr size_t kMostLeftConsumers = 256;

/// Creates a source, or changes its settings. If `stream` and `begin` of the record are those of
/// the stored one, the source continues where it is, unless it `restarts`. Otherwise it reads the
/// stream from the given place on.
struct ApplySource {
  std::string ns;
  std::string name;     ///< a text that is_identifier accepts
  SourceRecord record;  ///< its `origin` has the id for a new source, and the creation time
  std::optional<bool> paused = std::nullopt;  ///< nullopt: as it is
  uint64_t floor = 0;                         ///< the sequence behind which reading begins
  /// Whether it reads from the given place on in any case: messages below its position may be
  /// messages that it did not want.
  bool restarts = false;
};
/// Pauses or resumes a source. A paused source publishes nothing more; what it has published is
/// applied.
struct PauseSource {
  std::string ns;
  std::string name;
  bool paused = true;
};
struct DeleteSource {
  std::string ns;
  std::string name;
};
/// Lets a source read its stream, which was created again or rolled back, from another place on.
struct MoveSource {
  std::string ns;
  std::string name;
  OriginStream from;     ///< what the source reads now; if it reads another one, nothing changes
  uint64_t created = 0;  ///< when the stream was created, in nanoseconds
  uint64_t floor = 0;    ///< as in ApplySource
};
/// Notes that the broker does not have a left consumer any more.
struct ForgetConsumer {
  SourceConsumer consumer;
};
/// A message of an origin stream that becomes a dead letter.
struct RefusedMessage {
  uint64_t previous = 0;  ///< as in OriginMark
  uint64_t sequence = 0;
  TimePoint stamped;
  Error reason;
  NatsMessage message;
};
/// Makes dead letters of messages of an origin stream, each once.
struct RefuseMessages {
  std::string ns;
  std::string name;  ///< of the source
  OriginStream origin;
  std::vector<RefusedMessage> messages;
};
/// Removes the events of a group of an eventsAnd start, as long as the group is not complete.
struct DropGroup {
  std::string ns;
  std::string id;        ///< as group_id.h writes it
  uint64_t up_to = 0;    ///< the number of the last event that is removed; 0: it has not started
  uint64_t dropped = 0;  ///< events so far
};
/// Registers a node of the cluster, or its new address. Only in a cluster.
struct RegisterNode {
  RandomName node{};
  std::string address;  ///< kMostNodeAddressBytes at most
  /// The active registers itself in its epoch: its row is written in any case, so that the epoch
  /// has a commit.
  bool is_first = false;
};
/// Ends the registration of a node of the cluster.
struct RemoveNode {
  RandomName node{};
};
/// What a service says by a callback about a task that it has accepted, or an operator in its
/// place.
struct AnswerTask {
  std::string ns;
  InstanceId task;
  std::variant<TaskHeartbeat, TaskEnded> what;
  /// kOperator: refused as long as no service has accepted the task.
  AnsweredBy by = AnsweredBy::kHttpCallback;
  bool has_files = false;  ///< `what` has the variables of the files of the call
  /// Why a file of the call cannot become a variable: the task fails with it in place of a result.
  std::optional<Error> wrong_files = {};
};
using Command =
    std::variant<ApplyWorkflow, DeleteWorkflow, StartInstance, TriggerSchedule, CancelInstance,
                 DropPendingStarts, PauseInstance, ResumeInstance, RetryInstance, RestartInstance,
                 RerunInstance, CompensateInstance, DeleteInstance, DeleteInstances, PauseWorkflow,
                 PauseService, PauseInboundWebhook, DeleteInboundWebhook, CreateNamespace,
                 DeleteNamespace, PutVariable, DeleteVariable, PutSecret, DeleteSecret,
                 ChangeReplay, ApplySource, PauseSource, DeleteSource, MoveSource, ForgetConsumer,
                 RefuseMessages, DropGroup, RegisterNode, RemoveNode, AnswerTask>;

/// The name of the namespace that the command is for; empty: it is for the cluster or the store.
inline const std::string& namespace_of_command(const Command& command) {
  static const std::string no_namespace;
  const auto name = [](const auto& one) -> const std::string& {
    if constexpr (requires { one.place; }) {
      return one.place.ns;
    } else if constexpr (requires { one.ns; }) {
      return one.ns;
    } else if constexpr (requires { one.name; }) {
      return one.name;
    } else {
      return no_namespace;
    }
  };
  return std::visit(name, command);
}

}  // namespace millrace
