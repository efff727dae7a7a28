// Command: what a person or a program asks of the engine, a closed list. Each is answered once
// (orchestrator/service/service.h has the shapes).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/ids.h"
#include "base/json.h"
#include "model/variable.h"
#include "states/workflow.h"

namespace millrace {

struct ApplyWorkflow {
  std::string space;
  std::string text;                          ///< as given
  std::shared_ptr<const Workflow> workflow;  ///< what it says
};
/// How far a command has got that changes more instances than one batch should.
struct Sweep {
  size_t changed = 0;              ///< instances, so far
  std::optional<InstanceId> last;  ///< all up to this one are done; none: it is to begin
};
struct DeleteWorkflow {
  std::string space;
  std::string id;
  bool cancel = false;  ///< cancel its living instances instead of refusing
  /// It was deleted by a release that did not note it; `id` is its number.
  bool leftovers = false;
  Sweep sweep;
  std::string at;  ///< of leftovers: the row to go on from
};
// A move of Json throws nothing, which clang-tidy does not see.
struct StartInstance {  // NOLINT(bugprone-exception-escape)
  std::string space;
  std::string workflow;
  Json input;                   ///< an object: the data to begin with
  std::string idempotency_key;  ///< empty: none
  std::string own_policy = {};  ///< as write_own_policy made it; empty: none
};
/// Starts one as a tick of its schedule would, beside that.
struct TriggerSchedule {
  std::string space;
  std::string workflow;
};
/// What an operator does about an instance.
struct CancelInstance {
  std::string space;
  InstanceId instance;
  bool now = false;  ///< do not wait for the end of the tasks that run
};
struct PauseInstance {
  std::string space;
  InstanceId instance;
};
struct ResumeInstance {
  std::string space;
  InstanceId instance;
};
struct RetryInstance {
  std::string space;
  InstanceId instance;
  bool extend = false;  ///< the execution's deadline counts anew
};
struct RestartInstance {
  std::string space;
  InstanceId instance;
};
struct RerunInstance {
  std::string space;
  InstanceId instance;
  std::string state;
};
/// Removes one that has ended, with its history.
struct DeleteInstance {
  std::string space;
  InstanceId instance;
  bool damaged = false;  ///< also one that has damaged rows, living or ended
};
/// Instances of a paused workflow do nothing new, nor do those that are started meanwhile.
struct PauseWorkflow {
  std::string space;
  std::string id;
  bool paused = true;  ///< false: it goes on
  Sweep sweep;
};
/// Calls of a paused service wait until it goes on, and go out gradually then.
struct PauseService {
  std::string space;
  std::string name;
  bool paused = true;
  Sweep sweep;
};
/// Makes it, unless it is there, and sets its settings, if there are any.
struct CreateNamespace {
  std::string name;
  std::optional<Json> settings = std::nullopt;  ///< orchestrator/definition/namespace_settings.h
  /// Whose instances are renewed, where the settings have services go on: none: those of the first.
  std::optional<NamespaceNumber> sweeping = std::nullopt;
  Sweep sweep = {};
};
struct DeleteNamespace {
  std::string name;
  bool cancel = false;  ///< as in DeleteWorkflow
  /// It was deleted by a release that left its rows; `name` is its number.
  bool leftovers = false;
  Sweep sweep;
};
/// Whose variables: those of a workflow, of an instance, or of the namespace itself.
struct VariablePlace {
  std::string space;
  std::string workflow;  ///< empty: not of one
  std::optional<InstanceId> instance;
};
struct PutVariable {
  VariablePlace place;
  std::string key;  ///< is_variable_key
  Variable value;   ///< kMaxVariableBytes at most
};
struct DeleteVariable {
  VariablePlace place;
  std::string key;
};
inline constexpr size_t kMaxSecretBytes = size_t{64} << 10;

/// A secret of a namespace. The value is told to actions and nobody else.
struct PutSecret {
  std::string space;
  std::string name;   ///< is_identifier
  std::string value;  ///< UTF-8, kMaxSecretBytes at most
};
struct DeleteSecret {
  std::string space;
  std::string name;
};
using Command =
    std::variant<ApplyWorkflow, DeleteWorkflow, StartInstance, TriggerSchedule, CancelInstance,
                 PauseInstance, ResumeInstance, RetryInstance, RestartInstance, RerunInstance,
                 DeleteInstance, PauseWorkflow, PauseService, CreateNamespace, DeleteNamespace,
                 PutVariable, DeleteVariable, PutSecret, DeleteSecret>;

}  // namespace millrace
