#include "orchestrator/batch/staged_values.h"

#include <utility>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/value_piece_rows.h"

namespace millrace {
namespace {

Purge purge_of(const StagedGroup& group) {
  return {.kind = Purge::Kind::kPieces, .number = group.number, .record = {.staged = group.of}};
}

VariableName name_of(const OpenTask& known, VariableScope scope, const std::string& key) {
  return {owner_of(known.ns, known.workflow, known.by, scope), key};
}

}  // namespace

const StagedGroup* StagedGroups::find(const InstanceId& task) const {
  const auto found = groups_.find(task);
  return found == groups_.end() ? nullptr : &found->second;
}

void StagedGroups::set(const InstanceId& task, const StagedGroup& group) {
  note(task);
  groups_.insert_or_assign(task, group);
}

std::optional<StagedGroup> StagedGroups::take(const InstanceId& task) {
  const auto found = groups_.find(task);
  if (found == groups_.end()) return std::nullopt;
  note(task);
  const StagedGroup taken = found->second;
  groups_.erase(found);
  return taken;
}

void StagedGroups::clear() {
  groups_.clear();
  before_.take();
}

void StagedGroups::undo() {
  for (const auto& [task, group] : before_.take()) {
    if (group) {
      groups_.insert_or_assign(task, *group);
    } else {
      groups_.erase(task);
    }
  }
}

void StagedGroups::note(const InstanceId& task) {
  auto* const before = before_.now();
  if (before == nullptr || before->contains(task)) return;
  const StagedGroup* const group = find(task);
  before->emplace(task, group == nullptr ? std::nullopt : std::optional(*group));
}

Status stage_pieces(BatchState& batch, const InstanceId& task, const OpenTask& known,
                    const TaskPieces& pieces) {
  if (pieces.is_first) {
    drop_pieces(batch, batch.staged.take(task));
    const StagedGroup group{
        .staging = pieces.staging,
        .number = TRY(batch.next(Counter::kHistory)),
        .of = {.ns = known.ns, .workflow = known.workflow, .instance = known.by}};
    write_purge(batch.tx, purge_of(group));
    batch.staged.set(task, group);
  }
  const StagedGroup* const group = batch.staged.find(task);
  if (group == nullptr || group->staging != pieces.staging) return {};
  for (const ValuePiece& one : pieces.pieces) {
    write_value_piece(
        batch.tx,
        {.value = {.name = name_of(known, one.scope, one.key), .number = group->number},
         .piece = one.number},
        one.bytes, known.sealed);
  }
  return {};
}

Result<bool> has_pieces(const BatchState& batch, const std::optional<StagedGroup>& group,
                        const OpenTask& known, const std::vector<TaskVariable>& variables) {
  for (const TaskVariable& one : variables) {
    if (!one.staged) continue;
    if (!group || group->staging != one.staged->staging) return false;
    const PieceValue value{.name = name_of(known, one.scope, one.key), .number = group->number};
    // Each row has some bytes besides those of the value.
    if (TRY(size_of_pieces(batch.tx, value)) < one.staged->size) return false;
  }
  return true;
}

void keep_pieces(BatchState& batch, const StagedGroup& group) {
  erase_purge(batch.tx, purge_of(group));
}

void drop_pieces(BatchState& batch, const std::optional<StagedGroup>& group) {
  if (group) batch.dropped_pieces.push_back(purge_of(*group));
}

}  // namespace millrace
