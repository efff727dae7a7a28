#include "orchestrator/service/slot_holders.h"

#include <optional>

#include "base/time.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

Result<Json> holder_item(const View& view, NamespaceNumber ns, const SlotPlace& holder) {
  Json item{{"instance", to_string(holder.instance)}, {"since", format_rfc3339(holder.since)}};
  const auto head = TRY(undamaged(read_live_head(view, ns, holder.instance)));
  if (!head) return item;
  if (head->paused) item["paused"] = true;
  if (is_throttled(*head)) item["waitsFor"] = "throttle";
  return item;
}

Result<Json> call_holder_item(const View& view, const CallPlaceRecord& holder) {
  Json item = TRY(call_place_json(view, holder));
  const auto task = TRY(undamaged(read_task(view, holder.task)));
  if (!task) return item;
  if (const auto& caller = task->caller) {
    const auto head = TRY(undamaged(read_live_head(view, task->ns, caller->instance)));
    if (head && head->paused) item["paused"] = true;
  }
  if (!task->throttle) return item;
  if (TRY(undamaged(find_throttled_call(view, *task)))) item["waitsFor"] = "throttle";
  return item;
}

Result<bool> are_holders_paused(const View& view, NamespaceNumber ns, const SlotKey& key,
                                size_t& looks) {
  bool has_one = false;
  bool are_paused = true;
  Status status;
  TRY(each_slot_place(
      view, QueueRow::kHolder, key,
      [&](const SlotPlace& holder) {
        are_paused = looks > 0;
        if (!are_paused) return false;
        --looks;
        const auto head = undamaged(read_live_head(view, ns, holder.instance));
        if (!head) status = tl::unexpected(head.error());
        has_one = true;
        are_paused = head && *head && (*head)->paused;
        return are_paused;
      },
      [](const Error&) {}));
  TRY(std::move(status));
  return has_one && are_paused;
}

}  // namespace millrace
