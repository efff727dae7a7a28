#include "orchestrator/service/start_wait.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/history.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// The most rows of the history of an instance in which nothing has run; one with more has run.
constexpr size_t kMostRowsOfAWait = 16;

/// Whether an instance that ends so may have waited to start.
bool may_end_a_wait(std::string_view code) {
  return code == kSlotTimeout || code == kThrottleTimeout ||
         code == "millrace.concurrency.replaced";
}

void add_key(const std::string& key, const Disclosure& disclosure, Json& item) {
  if (!key.empty()) item["key"] = disclosure.over(slot_key_json(key));
}

/// The records of the history; empty: its rows are too many, or not all are kept.
Result<std::vector<HistoryRecord>> kept_records(const View& view, const Instance& instance) {
  std::vector<uint64_t> rows;
  bool is_whole = false;
  TRY(each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
    rows.push_back(place.row);
    is_whole = place.first == 1;
    return rows.size() < kMostRowsOfAWait;
  }));
  std::vector<HistoryRecord> records;
  if (!is_whole) return records;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    std::vector<HistoryRecord> some = TRY(read_history_row(view, instance, *row));
    std::move(some.begin(), some.end(), std::back_inserter(records));
  }
  return records;
}

/// Follows the records from one wait to the next.
void follow_wait(const HistoryRecord& record, const Disclosure& disclosure, Json& wait) {
  switch (record.kind) {
    case HistoryKind::kQueued:
    case HistoryKind::kThrottled:
      wait = {{"for", record.kind == HistoryKind::kQueued ? "slot" : "throttle"},
              {"since", format_rfc3339(record.time)}};
      if (const Json detail = record.detail.value(); detail.is_object()) {
        add_key(detail.value("key", ""), disclosure, wait);
      }
      return;
    case HistoryKind::kAdmitted:
    case HistoryKind::kReleased:
      wait = nullptr;
      return;
    default:
      return;
  }
}

}  // namespace

Json wait_to_start(const Instance& head, const Disclosure& disclosure) {
  if (!waits_to_start(head)) return nullptr;
  const bool is_slot = is_queued(head);
  Json item{{"for", is_slot ? "slot" : "throttle"}};
  add_key(is_slot ? head.slot->key : head.throttled->key, disclosure, item);
  return item;
}

Result<Json> wait_at_end(const View& view, const Instance& instance, const Disclosure& disclosure) {
  if (!instance.ended_at || !instance.error || !may_end_a_wait(instance.error->code)) return Json();
  const auto records = kept_records(view, instance);
  if (!records && is_damaged_row(records.error())) return Json();
  if (!records) return tl::unexpected(records.error());
  Json wait = nullptr;
  for (const HistoryRecord& record : *records) follow_wait(record, disclosure, wait);
  return wait;
}

}  // namespace millrace
