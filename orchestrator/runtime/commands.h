// Commands: what people and programs ask for, carried out in the batch in hand. Engine thread only.
#pragma once

#include <string_view>

#include "orchestrator/runtime/draft.h"
#include "orchestrator/runtime/groups.h"
#include "orchestrator/runtime/instances.h"

namespace millrace {

class Commands {
 public:
  Commands(Draft& draft, Instances& instances, Groups& groups)
      : draft_(draft), instances_(instances), groups_(groups) {}

  /// What the asker is to be told (Service::command lists answers and errors). An error `store.*`
  /// is none of the asker's: the batch is lost.
  Result<Json> carry_out(TimePoint now, const Command& command);

 private:
  Result<Json> run(TimePoint now, const ApplyWorkflow& command);
  Result<Json> run(TimePoint now, const DeleteWorkflow& command);
  Result<Json> run(TimePoint now, const StartInstance& command);
  Result<Json> run(TimePoint now, const CreateNamespace& command);
  Result<Json> run(TimePoint now, const DeleteNamespace& command);

  Result<NamespaceNumber> space_of(std::string_view name) const;
  Result<const WorkflowEntry*> workflow_of(std::string_view space, std::string_view id) const;
  Result<size_t> cancel_living(TimePoint now, NamespaceNumber space,
                               std::optional<WorkflowNumber> workflow, bool may_cancel,
                               const Error& refusal);
  Status forget_delayed(NamespaceNumber space);

  Draft& draft_;
  Instances& instances_;
  Groups& groups_;
};

}  // namespace millrace
