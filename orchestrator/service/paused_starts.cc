#include "orchestrator/service/paused_starts.h"

#include "orchestrator/service/instance_walk.h"
#include "orchestrator/store/rows/queue_rows.h"

namespace millrace {

Result<PausedStarts> paused_throttled_starts(const View& view, NamespaceNumber ns,
                                             WorkflowNumber workflow, size_t& looks) {
  PausedStarts found;
  if (looks == 0) return found;
  const WalkEnd end = TRY(each_selected(
      view,
      {.ns = ns,
       .workflow = workflow,
       .statuses = {InstanceStatus::kPaused},
       .ids = {},
       .oldest_first = true},
      [&](const Instance& head) {
        if (!is_throttled(head)) return true;
        const std::string& key = head.throttled->key;
        PausedStartsOfKey& starts = found[throttle_key_of(workflow, key).key];
        starts.key = key;
        starts.sealed |= head.sealed;
        ++starts.count;
        return true;
      },
      [](const InstanceId&, const Error&) { return true; }, {.heads = looks}));
  looks -= end.looked;
  return found;
}

}  // namespace millrace
