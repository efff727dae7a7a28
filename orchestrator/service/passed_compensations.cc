#include "orchestrator/service/passed_compensations.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/history.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// The most rows of a history that are read.
constexpr size_t kMostHistoryRowsOfPassed = 32;

/// Adds the numbers in the records of a row, the newest first. Returns whether earlier rows may
/// have more: the instance was not revived meanwhile.
bool add_passed(const std::vector<HistoryRecord>& records, std::vector<uint64_t>& passed) {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->kind == HistoryKind::kRevived) return false;
    if (record->kind != HistoryKind::kCompensating) continue;
    const Json detail = record->detail.value();
    if (detail.is_object() && detail.contains("past")) {
      passed.push_back(detail.value("past", uint64_t{0}));
    }
  }
  return true;
}

}  // namespace

Status add_passed_compensations(const View& view, const Instance& instance,
                                const Workflow& workflow, Json& item) {
  if (!has_ended(instance.status) || workflow.compensations.empty()) return {};
  std::vector<uint64_t> passed;
  size_t looked = 0;
  const Status walked =
      each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
        const auto records = TRY(read_history_row(view, instance, place.row));
        return add_passed(records, passed) && ++looked < kMostHistoryRowsOfPassed;
      });
  if (!walked && !is_damaged_row(walked.error())) return walked;
  if (passed.empty()) return {};
  item["passedCompensations"] = std::vector<uint64_t>(passed.rbegin(), passed.rend());
  return {};
}

}  // namespace millrace
