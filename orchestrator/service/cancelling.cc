#include "orchestrator/service/cancelling.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/time.h"
#include "model/history.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// The most rows of a history that are read for the time of a cancel.
constexpr size_t kMostRowsOfACancel = 32;

/// When the newest cancel in the history came; nullopt: the rows that are read have none.
Result<std::optional<TimePoint>> cancelled_at(const View& view, const Instance& instance) {
  std::optional<TimePoint> at;
  size_t looked = 0;
  const Status walked =
      each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
        const auto records = TRY(read_history_row(view, instance, place.row));
        const auto found = std::find_if(records.rbegin(), records.rend(), [](const auto& record) {
          return record.kind == HistoryKind::kCancelled;
        });
        if (found != records.rend()) at = found->time;
        return !at && ++looked < kMostRowsOfACancel;
      });
  if (!walked && !is_damaged_row(walked.error())) return tl::unexpected(walked.error());
  return at;
}

}  // namespace

Status add_cancelling(const View& view, const Instance& instance, Json& item) {
  if (!instance.cancelling || has_ended(instance.status)) return {};
  const auto tasks = std::count_if(
      instance.calls.begin(), instance.calls.end(),
      [](const Call& call) { return call.outside && call.status == Call::Status::kRunning; });
  Json cancelling{{"tasks", tasks}};
  if (const auto at = TRY(cancelled_at(view, instance))) cancelling["since"] = format_rfc3339(*at);
  item["cancelling"] = std::move(cancelling);
  return {};
}

}  // namespace millrace
