// Commands: what people and programs ask for, carried out in the batch in hand. Engine thread only.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/batch/schedules.h"

namespace millrace {

class Commands {
 public:
  Commands(Draft& draft, Instances& instances, Groups& groups, Schedules& schedules, Purges& purges)
      : draft_(draft),
        instances_(instances),
        groups_(groups),
        schedules_(schedules),
        purges_(purges) {}

  /// What the asker is to be told, or what is left of the command for the next batch.
  using Progress = std::variant<Json, Command>;

  /// Service::command lists answers and errors. An error `store.*` is none of the asker's: the
  /// batch is lost.
  Result<Progress> carry_out(TimePoint now, const Command& command);

 private:
  Result<Json> run(TimePoint now, const ApplyWorkflow& command);
  Result<Progress> run(TimePoint now, const DeleteWorkflow& command);
  Result<Json> run(TimePoint now, const StartInstance& command);
  Result<Json> run(TimePoint now, const TriggerSchedule& command);
  Result<Json> run(TimePoint now, const CancelInstance& command);
  Result<Json> run(TimePoint now, const PauseInstance& command);
  Result<Json> run(TimePoint now, const ResumeInstance& command);
  Result<Json> run(TimePoint now, const RetryInstance& command);
  Result<Json> run(TimePoint now, const RestartInstance& command);
  Result<Json> run(TimePoint now, const RerunInstance& command);
  Result<Progress> run(TimePoint now, const DeleteInstance& command);
  Result<Progress> run(TimePoint now, const PauseWorkflow& command);
  Result<Progress> run(TimePoint now, const PauseService& command);
  Result<Progress> run(TimePoint now, const CreateNamespace& command);
  Result<Progress> run(TimePoint now, const DeleteNamespace& command);
  Result<Json> run(TimePoint now, const PutVariable& command);
  Result<Json> run(TimePoint now, const DeleteVariable& command);
  Result<Json> run(TimePoint now, const PutSecret& command);
  Result<Json> run(TimePoint now, const DeleteSecret& command);

  Result<NamespaceNumber> space_of(std::string_view name) const;
  Result<const WorkflowEntry*> workflow_of(std::string_view space, std::string_view id) const;
  /// Steps a living one; its answer is {"id", `done`: whether that changed anything}.
  Result<Json> step_living(TimePoint now, std::string_view space, const InstanceId& id,
                           const Stimulus& stimulus, const char* done);
  /// One that has ended, with what it takes to bring it back.
  struct Ended {
    Instance instance;
    WorkflowEntry entry;
    std::shared_ptr<const Workflow> workflow;
  };
  Result<Ended> ended_one(TimePoint now, std::string_view space, const InstanceId& id);
  Result<Json> revive(TimePoint now, Ended ended, const Stimulus& stimulus);
  /// The data with which it came into that state last; nullopt: its history has none.
  Result<std::optional<LazyJson>> data_at(const Instance& instance, std::string_view state) const;
  Result<Instance> instance_of(std::string_view space, const InstanceId& id) const;
  /// What a DeleteInstance removes: as it ended; nullopt: its rows are damaged, or its
  /// head is missing, and the command is for such ones too.
  Result<std::optional<Instance>> removable(TimePoint now, NamespaceNumber space,
                                            const DeleteInstance& command);
  Status erase_history(uint64_t last, const InstanceId& id);
  Status remove_workflow(const WorkflowEntry& entry, const std::string& space);
  /// What a deletion by an earlier release has left is erased, or noted as it is now. Errors
  /// `leftovers.none`, `leftovers.in_use`.
  Result<Json> finish_deletion(const DeleteNamespace& command);
  Result<Progress> finish_deletion(const DeleteWorkflow& command);
  Result<VariableOwner> owner_of(TimePoint now, const VariablePlace& place);
  /// Those of a workflow, or of the whole namespace.
  size_t count_living(NamespaceNumber space, std::optional<WorkflowNumber> workflow) const;
  Status refuse_living(size_t living, const Error& refusal) const;
  Result<bool> cancel_some(TimePoint now, NamespaceNumber space,
                           std::optional<WorkflowNumber> workflow, Sweep& sweep);
  Result<bool> step_some(TimePoint now, NamespaceNumber space, const Stimulus& stimulus,
                         const std::function<bool(const Instance& head)>& is_one, Sweep& sweep);
  /// Has what a pause of services held count anew (engine.h, ServicesResumed), for as many
  /// instances of the namespace as one batch should step. Returns whether these were all.
  Result<bool> renew_held(TimePoint now, NamespaceNumber space, const ServiceNames* services,
                          Sweep& sweep);
  /// The same for the services that go on with those settings of the namespace.
  Result<bool> renew_held(TimePoint now, NamespaceNumber space, const NamespaceSettings& settings,
                          CreateNamespace& command);
  /// Whether the settings of the namespace, or the newest revision of one of its workflows, name
  /// the service.
  Result<bool> names_service(NamespaceNumber space, std::string_view service);
  /// Error `settings.invalid`: a webhook names a secret that the namespace does not have. No
  /// `space`: the namespace does not exist yet.
  Status check_webhook_secrets(std::optional<NamespaceNumber> space,
                               const NamespaceSettings& settings) const;
  /// `parsed` is what parse_settings() makes of `settings`.
  Status set_settings(NamespaceNumber space, const Json& settings, NamespaceSettings parsed);

  Draft& draft_;
  Instances& instances_;
  Groups& groups_;
  Schedules& schedules_;
  Purges& purges_;
};

}  // namespace millrace
