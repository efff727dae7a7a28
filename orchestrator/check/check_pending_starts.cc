// Checks of the rows of `meta` with the starts that a `debounce` or a `batch` has put off.
#include <map>

#include <fmt/format.h>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/pending_input_rows.h"
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
  check_pending_inputs();
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
  if (!start) {
    has_all_pending_starts_ = false;
    return;
  }
  check_json(start->input.text(), place, "the input");
  if (!start->batch) {
    starts_.emplace(start->id, start->caller);
  } else {
    start_batches_[{key->ns, start->id}] = {
        .batch = *start->batch, .key = std::string(place.key), .inputs = 0};
  }
  if (view_.get(Table::kMeta, listed_start_key({start->listed, *key}))) return;
  add(StoreFault::kMetaMissing, place,
      fmt::format("no row `pending-start-at/` lists it at {} ms, so it would never begin",
                  to_millis(start->listed)));
}

/// Checks the inputs of the batches of starts, after the rows of the batches.
void Checker::check_pending_inputs() {
  view_.scan(Table::kMeta, kPendingInputKey, [&](std::string_view key, std::string_view value) {
    if (is_over()) return false;
    const Place place{Table::kMeta, key};
    const uint64_t findings = report_.count();
    check_pending_input(place, value);
    if (owners_) note_counted(place, value, report_.count() == findings);
    return true;
  });
  if (note_failed_read(Table::kMeta) || is_over()) return;
  for (const auto& [of, found] : start_batches_) {
    if (found.batch.is_over || found.inputs == found.batch.inputs) continue;
    add(StoreFault::kMetaMissing, {Table::kMeta, found.key},
        fmt::format("the batch has {} inputs, but {} rows `pending-input/`", found.batch.inputs,
                    found.inputs));
  }
}

void Checker::check_pending_input(const Place& place, std::string_view value) {
  const auto key = pending_input_place(place.key);
  if (!key) {
    return add(StoreFault::kRowKey, place, "the key is not a namespace, an instance and a number");
  }
  note_given(Counter::kNamespace, static_cast<uint32_t>(key->ns), place);
  note_minor(kMinorOfPendingStarts, "pending starts");
  if (const auto input = open_and_decode(place, value, decode_pending_input)) {
    check_json(input->input.text(), place, "the input");
  }
  const auto batch = start_batches_.find({key->ns, key->instance});
  if (batch == start_batches_.end()) {
    if (!has_all_pending_starts_) return;
    return add(StoreFault::kMetaMissing, place,
               "no row `pending-start/` is a batch with this input, so it would never be used");
  }
  ++batch->second.inputs;
  if (key->number < batch->second.batch.inputs) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the input has number {}, but the batch has {} inputs", key->number,
                  batch->second.batch.inputs));
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
