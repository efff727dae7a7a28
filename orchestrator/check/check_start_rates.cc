// Checks of the rows of `meta` that count the starts for each key of a `rateLimit` or a `throttle`,
// and the calls for each key of a `throttle`.
#include <fmt/format.h>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/start_rate_rows.h"

namespace millrace {

void Checker::check_start_rate(const Place& place, std::string_view value) {
  const auto key = start_rate_place(place.key);
  if (!key) return add(StoreFault::kRowKey, place, "the key is not a workflow and a fingerprint");
  if (key->workflow == WorkflowNumber(0)) {
    note_minor(kMinorOfCallThrottles, "counts of calls");
  } else {
    note_given(Counter::kWorkflow, static_cast<uint32_t>(key->workflow), place);
    note_minor(kMinorOfStartRates, "counts of starts");
  }
  const auto record = decode(place, value, decode_start_rate);
  if (!record) {
    has_all_start_rates_ = false;
    return;
  }
  note_given(Counter::kNamespace, static_cast<uint32_t>(record->ns), place);
  ++start_rates_[record->ns];
  if (view_.get(Table::kMeta, start_rate_end_key({record->listed, *key}))) return;
  add(StoreFault::kMetaMissing, place,
      fmt::format("no row `start-rate-end/` lists it at {} ms, so it would never be erased",
                  to_millis(record->listed)));
}

void Checker::check_start_rate_end(const Place& place, std::string_view value) {
  const auto end = start_rate_end(place.key);
  if (!end) {
    return add(StoreFault::kRowKey, place, "the key is not a time, a workflow and a fingerprint");
  }
  note_minor(kMinorOfStartRates, "counts of starts");
  if (!value.empty()) {
    add(StoreFault::kRowRecord, place,
        fmt::format("the row has {} bytes, expected none", value.size()));
  }
  const auto record = read_start_rate(view_, end->place);
  if (!record) return;  // check_start_rate() finds the damage
  if (*record && (*record)->listed == end->listed) return;
  add(StoreFault::kMetaMissing, place, "no row `start-rate/` is listed here");
}

void Checker::check_start_rate_count(const Place& place, std::string_view value) {
  const auto ns = namespace_of_start_rates(place.key);
  if (!ns) return add(StoreFault::kRowKey, place, "the key is not the number of a namespace");
  note_given(Counter::kNamespace, static_cast<uint32_t>(*ns), place);
  note_minor(kMinorOfStartRates, "counts of starts");
  if (const auto count = decode(place, value, decode_start_rates)) {
    start_rate_counts_[*ns] = *count;
  } else {
    has_all_start_rates_ = false;
  }
}

/// Compares the number of the rows `start-rate/` of each namespace with its row `start-rates/`.
void Checker::compare_start_rates() {
  if (!has_all_start_rates_) return;
  const auto compare = [&](NamespaceNumber ns, uint64_t rows, uint64_t counted) {
    if (rows == counted) return;
    const std::string key = std::string(kStartRatesKey) + rows::ns_prefix(ns);
    add(StoreFault::kRowValue, {Table::kMeta, key},
        fmt::format("the namespace has {} rows `start-rate/`, but {} are counted", rows, counted));
  };
  for (const auto& [ns, rows] : start_rates_) {
    const auto counted = start_rate_counts_.find(ns);
    compare(ns, rows, counted == start_rate_counts_.end() ? 0 : counted->second);
  }
  for (const auto& [ns, counted] : start_rate_counts_) {
    if (!start_rates_.contains(ns)) compare(ns, 0, counted);
  }
}

}  // namespace millrace
