// The removal of instances whose rows are damaged. Engine thread only.
#include <optional>

#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/doubtful_head.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {

Result<Instances::Removed> Instances::remove_damaged(NamespaceNumber ns, const InstanceId& id) {
  const auto read = read_head_anywhere(batch_.tx, ns, id);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  // If the workflow belongs to another namespace, the head may be a copy: the caller, idempotency
  // key and history that this head names may belong to another instance.
  const bool is_own = read && *read && batch_.catalog.check_owner(**read);
  std::optional<Instance> doubtful;
  if (!is_own) doubtful = TRY(read_doubtful_head(batch_.tx, ns, id));
  large_.reset();
  const ErasedParts erased = TRY(erase_parts(batch_.tx, ns, id));
  if (erased.has_compensations) batch_.dropped_compensations.push_back({ns, id});
  Removed removed{.rows = erased.rows};
  if (is_own) {
    batch_.index.remove(batch_.tx, indexed(**read));
  } else if (removed.rows > 0) {
    request_index_build(batch_.tx);  // what the index has of the instance is not known
  }
  if (doubtful) {
    removed.last_history = doubtful->last_history;
    erase_idempotency(batch_.tx, *doubtful);
  }
  if (is_own) {
    const Instance& head = **read;
    removed.last_history = head.last_history;
    erase_idempotency(batch_.tx, head);
    batch_.show(head, true);
    if (!has_ended(head.status)) {
      batch_.live.ended(head.ns, head.revision.workflow);
      if (is_throttled(head)) {
        batch_.live.unqueued(head.ns);
        TRY(remove_throttled(batch_, head));
      }
      if (head.slot) TRY(leave_slot(batch_, head, true));
      if (head.caller) {
        batch_.messages.push_back(
            {ReturnResult{.ns = ns,
                          .to = *head.caller,
                          .result = tl::unexpected(Error{
                              "direktiv.cancels.api", "the subflow was damaged and was removed"})},
             batch_.listen_from_now(), lane_of(head)});
      }
    }
  }
  for (const InstanceId& task : batch_.tasks.of(id)) {
    TRY(end_task(batch_, task));
    batch_.after_commit(StopTask{task});
  }
  batch_.kept_events.forget(id);
  TRY(batch_.waiting.update("", Instance{.id = id, .ns = ns}));
  batch_.after_commit(InstanceEnd{id});
  return removed;
}

}  // namespace millrace
