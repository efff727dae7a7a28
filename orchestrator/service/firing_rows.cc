#include "orchestrator/service/firing_rows.h"

#include <memory>

#include "base/ids.h"
#include "orchestrator/service/pending_start_item.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// Beyond so many bytes of inputs, the key and the bounds of the newest revision are not shown.
constexpr size_t kMostInputBytes = size_t{4} << 20;

void pass_over_damaged_place(const Error&) {}

/// {"key"?,"queued"} of the counts of a key.
template <class Counts>
Json waiting_of(const Counts& counts) {
  Json item{{"queued", counts.queued}};
  if (counts.sealed) {
    item["key"] = "(sealed)";
  } else if (!counts.key.empty()) {
    item["key"] = slot_key_json(counts.key);
  }
  return item;
}

}  // namespace

Status FiringRowItems::add(const FiringRow& row, Json& item) {
  return std::visit([&](const auto& one) { return add_row(one, item); }, row);
}

Status FiringRowItems::add_row(const PendingStartPlace& place, Json& item) {
  const auto workflow = workflows_.find(place.workflow);
  const auto pending = TRY(undamaged(read_pending_start(view_, place)));
  if (!pending || workflow == workflows_.end()) return {};
  const FiringWorkflow& of = workflow->second;
  std::shared_ptr<const Workflow> newest;
  if (bytes_ < kMostInputBytes) {
    newest = definitions_.find_or_load(view_, {place.workflow, of.latest}).value_or(nullptr);
  }
  const auto more = TRY(pending_start_item(view_, place, *pending, of.id, newest.get(), now_));
  bytes_ += more.bytes;
  item.update(more.json);
  return {};
}

Status FiringRowItems::add_row(const SlotKey& key, Json& item) {
  const auto counts = read_slot_counts(view_, key);
  if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
  if (counts) item.update(waiting_of(*counts));
  const auto next = TRY(read_first_place(view_, waiting_kind(key), key, pass_over_damaged_place));
  if (next) item["instance"] = to_string(next->instance);
  return {};
}

Status FiringRowItems::add_row(const CallSlotKey& key, Json& item) {
  const auto counts = TRY(undamaged(read_call_counts(view_, key)));
  if (counts) {
    item.update(waiting_of(*counts));
    item.update(slot_service_json(counts->service));
  }
  const auto next = TRY(read_first_call(view_, waiting_kind(key), key, pass_over_damaged_place));
  if (!next) return {};
  const Json place = TRY(call_place_json(view_, next->record));
  item["task"] = place["task"];
  if (place.contains("instance")) item["instance"] = place["instance"];
  return {};
}

}  // namespace millrace
