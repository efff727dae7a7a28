#include "orchestrator/service/slot_item.h"

#include <cstddef>

#include "base/excerpt.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/queue_rows.h"

namespace millrace {
namespace {

constexpr size_t kShownHolders = 3;

}  // namespace

Json slot_key_json(const std::string& key) {
  const auto value = LazyJson::of_stored(key);
  return value ? value->value() : Json(excerpt(key, kMostSlotKeyBytes));
}

Result<Json> slot_item(const View& view, const Instance& instance, const Disclosure& disclosure) {
  const Slot& slot = *instance.slot;
  const SlotKey key = slot_key_of(instance.revision.workflow, slot.key);
  const auto read = read_slot_counts(view, key);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const SlotCounts counts = read.value_or(SlotCounts());
  Json item{{"queued", slot.is_queued},
            {"priority", slot.priority},
            {"held", counts.held},
            {"waiting", counts.queued},
            {"holders", Json::array()}};
  if (!slot.key.empty()) item["key"] = disclosure.over(slot_key_json(slot.key));
  TRY(each_slot_place(
      view, QueueRow::kHolder, key,
      [&](const SlotPlace& holder) {
        item["holders"].push_back(
            {{"instance", to_string(holder.instance)}, {"since", format_rfc3339(holder.since)}});
        return item["holders"].size() < kShownHolders;
      },
      [](const Error&) {}));
  return item;
}

}  // namespace millrace
