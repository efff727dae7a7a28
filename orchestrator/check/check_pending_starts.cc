// Checks of the rows of `meta` with the starts that a `debounce` has put off.
#include <map>

#include <fmt/format.h>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

void Checker::check_pending_starts() {
  std::map<NamespaceNumber, uint64_t> found;
  view_.scan(Table::kMeta, kPendingStartKey, [&](std::string_view key, std::string_view value) {
    if (is_over()) return false;
    const Place place{Table::kMeta, key};
    const uint64_t findings = report_.count();
    check_pending_start(place, value);
    if (owners_) note_counted(place, value, report_.count() == findings);
    if (const auto ns = namespace_of_pending_start(key)) ++found[*ns];
    return true;
  });
  if (note_failed_read(Table::kMeta) || is_over()) return;
  for (const auto& [ns, counted] : pending_counts_) found.try_emplace(ns, 0);
  for (const auto& [ns, rows] : found) {
    const auto row = pending_counts_.find(ns);
    const uint64_t counted = row == pending_counts_.end() ? 0 : row->second;
    if (rows == counted) continue;
    const std::string key = std::string(kPendingStartsKey) + rows::ns_prefix(ns);
    add(StoreFault::kRowValue, {Table::kMeta, key},
        fmt::format("the namespace has {} rows `pending-start/`, but {} are counted", rows,
                    counted));
  }
}

void Checker::check_pending_start(const Place& place, std::string_view value) {
  const auto key = pending_start_place(place.key);
  if (!key) {
    return add(StoreFault::kRowKey, place,
               "the key is not a namespace, a workflow and a fingerprint");
  }
  note_given(Counter::kNamespace, static_cast<uint32_t>(key->ns), place);
  note_given(Counter::kWorkflow, static_cast<uint32_t>(key->workflow), place);
  note_minor(kMinorOfPendingStarts, "pending starts");
  const auto start = open_and_decode(place, value, decode_pending_start);
  if (!start) return;
  check_json(start->input.text(), place, "the input");
  starts_.emplace(start->id, start->caller);
  if (view_.get(Table::kMeta, listed_start_key({start->listed, *key}))) return;
  add(StoreFault::kMetaMissing, place,
      fmt::format("no row `pending-start-at/` lists it at {} ms, so it would never begin",
                  to_millis(start->listed)));
}

void Checker::check_listed_start(const Place& place, std::string_view value) {
  const auto listed = listed_start(place.key);
  if (!listed) {
    return add(StoreFault::kRowKey, place,
               "the key is not a time, a namespace, a workflow and a fingerprint");
  }
  note_minor(kMinorOfPendingStarts, "pending starts");
  if (!value.empty()) {
    add(StoreFault::kRowRecord, place,
        fmt::format("the row has {} bytes, expected none", value.size()));
  }
  const auto start = read_pending_start(view_, listed->place);
  if (!start) return;  // check_pending_start() finds the damage
  if (*start && (*start)->listed == listed->listed) return;
  add(StoreFault::kMetaMissing, place, "no row `pending-start/` is listed here");
}

void Checker::check_pending_count(const Place& place, std::string_view value) {
  const auto ns = namespace_of_pending_starts(place.key);
  if (!ns) return add(StoreFault::kRowKey, place, "the key is not the number of a namespace");
  note_given(Counter::kNamespace, static_cast<uint32_t>(*ns), place);
  note_minor(kMinorOfPendingStarts, "pending starts");
  if (const auto count = decode(place, value, decode_pending_starts)) pending_counts_[*ns] = *count;
}

}  // namespace millrace
