// Catalog rows: namespaces, workflows, the revisions of their definitions, and the progress of
// their schedules. Tables `namespaces`, `workflows`, `definitions`, `schedules`. Functions that
// read take any View, functions that write the Transaction. A damaged row gives an error that names
// it (damage.h). All decoders fail with `store.corrupt` and name the kind of record.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// Namespaces, by name.

struct NamespaceRecord {
  NamespaceNumber number{};
  TimePoint created_at;
  std::string settings;    ///< JSON; empty: the namespace has no settings
  uint32_t partition = 0;  ///< the partition of the cluster that has the namespace; 0 for now
};
std::string encode(const NamespaceRecord& record);
Result<NamespaceRecord> decode_namespace(std::string_view bytes);

Status each_namespace(
    const View& view,
    const std::function<void(std::string_view name, const NamespaceRecord&)>& see);
/// Visits the namespaces whose names come after `behind`, in the order of their names, until `see`
/// returns false.
Status each_namespace_behind(
    const View& view, std::string_view behind,
    const std::function<bool(std::string_view name, const NamespaceRecord&)>& see);
Result<std::optional<NamespaceRecord>> read_namespace(const View& view, std::string_view name);
void write_namespace(Transaction& tx, std::string_view name, const NamespaceRecord& record);
void erase_namespace(Transaction& tx, std::string_view name);

// Workflows, by namespace and id.

/// One workflow of a namespace, with all its revisions.
struct WorkflowRecord {
  WorkflowNumber number{};
  uint32_t latest = 0;  ///< the revision that new instances use
  bool paused = false;
  /// The first revision whose eventsAnd start has the same groups as the latest one; 0: unknown,
  /// because an earlier release wrote the row. Groups of earlier revisions are different groups.
  uint32_t groups_from = 0;
};
std::string encode(const WorkflowRecord& record);
Result<WorkflowRecord> decode_workflow(std::string_view bytes);

Status each_workflow(
    const View& view,
    const std::function<void(NamespaceNumber ns, std::string_view id, const WorkflowRecord&)>& see);
/// Visits the workflows of one namespace.
Status each_workflow(const View& view, NamespaceNumber ns,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see);
/// Visits the workflows of one namespace whose ids come after `behind`, in the order of their ids,
/// until `see` returns false.
Status each_workflow_behind(
    const View& view, NamespaceNumber ns, std::string_view behind,
    const std::function<bool(std::string_view id, const WorkflowRecord&)>& see);
Result<std::optional<WorkflowRecord>> read_workflow(const View& view, NamespaceNumber ns,
                                                    std::string_view id);
void write_workflow(Transaction& tx, NamespaceNumber ns, std::string_view id,
                    const WorkflowRecord& record);
void erase_workflow(Transaction& tx, NamespaceNumber ns, std::string_view id);
/// The error of a workflow's row that contradicts other rows of the workflow.
Error damaged_workflow(NamespaceNumber ns, std::string_view id, std::string_view what);

// Definitions, by workflow and revision.

/// One revision of a workflow: the definition as it was applied.
struct DefinitionRecord {
  TimePoint created_at;
  std::string text;
};
std::string encode(const DefinitionRecord& record);
Result<DefinitionRecord> decode_definition(std::string_view bytes);

Result<std::optional<DefinitionRecord>> read_definition(const View& view, Revision revision);
/// The size of the row of a definition, in bytes; 0: there is none. Reads it from the disk, but
/// does not decode it.
Result<size_t> definition_bytes(const View& view, Revision revision);
/// Visits the revisions of a workflow before `before`, if that is given, the newest first, until
/// `see` returns false. `damaged` receives the errors of revisions whose rows do not decode.
Status each_definition(const View& view, WorkflowNumber workflow, std::optional<uint32_t> before,
                       const std::function<bool(uint32_t revision, const DefinitionRecord&)>& see,
                       const OnDamage& damaged);
void write_definition(Transaction& tx, Revision revision, const DefinitionRecord& record);
/// The error of a definition that decodes but cannot be used.
Error damaged_definition(Revision revision, std::string_view what);

// Schedules: a row for each workflow that has a schedule.

/// The progress of a workflow's schedule.
struct ScheduleRecord {
  TimePoint from;                                 ///< the next tick is the first after this time
  std::optional<TimePoint> last;                  ///< the schedule's last tick so far
  std::optional<TimePoint> first = std::nullopt;  ///< the schedule's first tick ever
};
std::string encode(const ScheduleRecord& record);
Result<ScheduleRecord> decode_schedule(std::string_view bytes);

void write_schedule(Transaction& tx, WorkflowNumber workflow, const ScheduleRecord& record);
void erase_schedule(Transaction& tx, WorkflowNumber workflow);
Result<std::optional<ScheduleRecord>> read_schedule(const View& view, WorkflowNumber workflow);
/// The error of a schedule that contradicts its workflow.
Error damaged_schedule(WorkflowNumber workflow, std::string_view what);

}  // namespace millrace
