// Catalog rows: namespaces, workflows, the revisions of their definitions, and where their
// schedules stand. Tables `namespaces`, `workflows`, `definitions`, `schedules`. Reading takes any
// View, writing the Transaction. A row that is damaged is an error that names it (damage.h). All
// decoders fail with `store.corrupt`, naming the kind of record.
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
  std::string settings;  ///< JSON; empty: none were given
};
std::string encode(const NamespaceRecord& record);
Result<NamespaceRecord> decode_namespace(std::string_view bytes);

Status each_namespace(
    const View& view,
    const std::function<void(std::string_view name, const NamespaceRecord&)>& see);
Result<std::optional<NamespaceRecord>> read_namespace(const View& view, std::string_view name);
void write_namespace(Transaction& tx, std::string_view name, const NamespaceRecord& record);
void erase_namespace(Transaction& tx, std::string_view name);

// Workflows, by namespace and id.

/// One workflow of a namespace, whatever its revisions.
struct WorkflowRecord {
  WorkflowNumber number{};
  uint32_t latest = 0;  ///< revision that new starts take
  bool paused = false;
  /// The revision since which its eventsAnd start has the same groups; 0: since before that was
  /// noted. Groups of an earlier one are other groups.
  uint32_t groups_from = 0;
};
std::string encode(const WorkflowRecord& record);
Result<WorkflowRecord> decode_workflow(std::string_view bytes);

Status each_workflow(const View& view,
                     const std::function<void(NamespaceNumber space, std::string_view id,
                                              const WorkflowRecord&)>& see);
/// Those of one namespace.
Status each_workflow(const View& view, NamespaceNumber space,
                     const std::function<void(std::string_view id, const WorkflowRecord&)>& see);
Result<std::optional<WorkflowRecord>> read_workflow(const View& view, NamespaceNumber space,
                                                    std::string_view id);
void write_workflow(Transaction& tx, NamespaceNumber space, std::string_view id,
                    const WorkflowRecord& record);
void erase_workflow(Transaction& tx, NamespaceNumber space, std::string_view id);
/// The error of the row of a workflow that does not fit what belongs to it.
Error damaged_workflow(NamespaceNumber space, std::string_view id, std::string_view what);

// Definitions, by workflow and revision.

/// One revision: the text as it was given.
struct DefinitionRecord {
  TimePoint created_at;
  std::string text;
};
std::string encode(const DefinitionRecord& record);
Result<DefinitionRecord> decode_definition(std::string_view bytes);

Result<std::optional<DefinitionRecord>> read_definition(const View& view, Revision revision);
/// The revisions of a workflow, the newest first. `damaged` gets those that do not decode.
Status each_definition(const View& view, WorkflowNumber workflow,
                       const std::function<void(uint32_t revision, const DefinitionRecord&)>& see,
                       const OnDamage& damaged);
void write_definition(Transaction& tx, Revision revision, const DefinitionRecord& record);
/// The error of a definition that decodes and cannot be used.
Error damaged_definition(Revision revision, std::string_view what);

// Schedules: a row for each workflow that has one.

/// Where the schedule of a workflow stands.
struct ScheduleRecord {
  TimePoint from;                                 ///< its next tick is the first behind this moment
  std::optional<TimePoint> last;                  ///< the last tick that came,
  std::optional<TimePoint> first = std::nullopt;  ///< and the first
};
std::string encode(const ScheduleRecord& record);
Result<ScheduleRecord> decode_schedule(std::string_view bytes);

void write_schedule(Transaction& tx, WorkflowNumber workflow, const ScheduleRecord& record);
void erase_schedule(Transaction& tx, WorkflowNumber workflow);
Result<std::optional<ScheduleRecord>> read_schedule(const View& view, WorkflowNumber workflow);
/// The error of a schedule that does not fit its workflow.
Error damaged_schedule(WorkflowNumber workflow, std::string_view what);

}  // namespace millrace
