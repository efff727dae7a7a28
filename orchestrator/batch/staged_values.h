// Staged values: the pieces of values that are stored ahead of the answer of a task which gives
// them to variables (value_piece_rows.h). A row `purge/` is written with the first piece, and
// erased with the answer. So if the task ends in another way, or the process dies, the pieces are
// erased. Engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/batch_notes.h"
#include "base/ids.h"
#include "base/result.h"
#include "model/task.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

struct BatchState;

/// The pieces of one answer.
struct StagedGroup {
  uint64_t staging = 0;  ///< TaskPieces::staging
  uint64_t number = 0;   ///< PieceValue::number
  StagedPieces of;
};

/// The groups of tasks that have not ended. A batch that is lost changes none.
class StagedGroups {
 public:
  /// `batches` must outlive this object.
  explicit StagedGroups(const BatchCount& batches) : before_(batches) {}

  /// Null: the task has none.
  const StagedGroup* find(const InstanceId& task) const;
  void set(const InstanceId& task, const StagedGroup& group);
  std::optional<StagedGroup> take(const InstanceId& task);

  void clear();
  void undo();

 private:
  void note(const InstanceId& task);

  std::map<InstanceId, StagedGroup> groups_;
  /// The groups that the current batch has changed, as of the last commit.
  BatchNotes<std::map<InstanceId, std::optional<StagedGroup>>> before_;
};

/// Stores pieces of the values of a task's answer. The first pieces begin a group, in place of an
/// earlier one of the task; pieces of a group that is not there have no effect. Errors: those of
/// the store.
Status stage_pieces(BatchState& batch, const InstanceId& task, const OpenTask& known,
                    const TaskPieces& pieces);

/// Whether all pieces of the staged values among `variables` are in the group. Errors: those of the
/// store.
Result<bool> has_pieces(const BatchState& batch, const std::optional<StagedGroup>& group,
                        const OpenTask& known, const std::vector<TaskVariable>& variables);

/// Notes that the variables have the pieces of the group now.
void keep_pieces(BatchState& batch, const StagedGroup& group);

/// Has the pieces of the group erased, if there is one.
void drop_pieces(BatchState& batch, const std::optional<StagedGroup>& group);

}  // namespace millrace
