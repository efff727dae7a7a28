// Checks of the compensations of an instance: their rows, and the fields of the head about them.
#include <string>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_detail.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "states/compensation.h"

namespace millrace {
namespace {

/// The inconsistency between the compensations and the status of an instance; nullptr: there is
/// none.
const char* wrong_compensations(const Instance& head) {
  using enum InstanceStatus;
  if (head.compensating && has_ended(head.status)) {
    return "the instance has ended, but makes its compensations";
  }
  if (head.compensating && head.status == kWaiting) {
    return "the instance is waiting, but makes its compensations";
  }
  if (head.compensating && !head.error) {
    return "the instance makes its compensations, but has no error";
  }
  if (head.compensating && head.compensation_error) {
    return "the instance makes its compensations, but has the error of one that failed";
  }
  if (head.compensations > 0 && head.status == kComplete) {
    return "the instance is complete, but has compensations";
  }
  return nullptr;
}

}  // namespace

/// Checks that the row of a compensation is in its table, and that its instance exists. The check
/// of the instance reads the row.
void Checker::check_place_of_compensation(const Place& place, NamespaceNumber ns,
                                          const InstanceId& id) {
  if (place.table != Table::kEnded) {
    add(StoreFault::kInstanceParts, place,
        "the rows of compensations are in `ended`, also while their instance is live");
  } else if (!exists(ns, id) && !dropped_.contains({ns, id})) {
    add(StoreFault::kInstanceNoHead, place, "the compensation belongs to no instance");
  }
}

/// Reads the rows of the compensations of an instance, live or ended. Those that it has dropped,
/// and that a purge erases, are passed over.
void Checker::read_compensations(Walked& one) {
  const std::string prefix = one.key(Part::kCompensation);
  const bool has_dropped = dropped_.contains({one.ns, one.id});
  const uint32_t most = has_dropped ? one.head->compensations : UINT32_MAX;
  view_.scan(Table::kEnded, prefix, [&](std::string_view key, std::string_view value) {
    Reader number(key.substr(prefix.size()));
    const uint32_t at = number.u32();
    if (!number.done()) return true;  // check_instances() reports the key
    if (at >= most) return true;
    const Place place{Table::kEnded, key};
    one.part_bytes[static_cast<size_t>(Part::kCompensation)] += Seal::plain_size(value);
    if (!Seal::is_sealed(value)) {
      one.plain = one.plain.value_or(Part::kCompensation);
    } else if (!one.head->sealed) {
      add(StoreFault::kInstanceSeal, place, "the row is sealed, but the head is not");
    }
    check_compensation(one, place, value, at);
    return true;
  });
  note_failed_read(Table::kEnded);
}

/// Checks the row of a compensation.
void Checker::check_compensation(Walked& one, const Place& place, std::string_view value,
                                 uint32_t number) {
  if (number != one.compensations) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("the row of compensation {}, which must come before this row, is missing",
                    one.compensations));
  }
  one.compensations = number + 1;
  one.last_compensation.reset();
  const auto compensation = open_and_decode(place, value, decode_compensation);
  if (!compensation) return;
  if (check_json(compensation->input.text(), place, "the input")) {
    one.last_compensation = *compensation;
  }
  const auto workflow = one.head ? definition(one.head->revision) : nullptr;
  if (workflow == nullptr) return;
  const CompensationState* const state = compensation_of(*workflow, compensation->state);
  if (state == nullptr) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the compensation undoes state {} (counted from 0), which has no `compensate`",
                    compensation->state));
  } else if (state->undoes_calls() != compensation->of_call) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the compensation undoes {}, but state \"{}\" notes one for {}",
                    compensation->of_call ? "a call" : "a state", state->common().id,
                    state->undoes_calls() ? "each of its calls" : "each of its visits"));
  }
}

/// Compares the compensations of the head with their rows, its status and its definition.
void Checker::check_compensations(const Walked& one, const Workflow* workflow) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  if (one.compensations > 0) note_minor(kMinorOfCompensations, "rows of compensations");
  if (one.compensations != head.compensations) {
    add(StoreFault::kInstanceParts, place,
        fmt::format("the head has {} compensations, but {} rows of compensations exist",
                    head.compensations, one.compensations));
  }
  if (const char* const wrong = wrong_compensations(head)) {
    add(StoreFault::kInstanceStatus, place, wrong);
  }
  if (!head.compensating) return;
  const Compensation* const newest = one.newest_compensation();
  if (newest != nullptr && newest->state != head.state && head.phase == Phase::kWaiting) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance makes the compensation of state {} (counted from 0), but its "
                    "newest compensation undoes state {}",
                    head.state, newest->state));
  }
  if (workflow == nullptr) return;
  if (state_of(*workflow, head) == nullptr) {
    add(StoreFault::kInstanceState, place,
        "the instance makes the compensation of a state that has no `compensate`");
  }
  if (head.compensating->state >= workflow->states.size()) {
    add(StoreFault::kInstanceState, place,
        fmt::format("the instance ends in state {}, but its revision has {} states",
                    head.compensating->state, workflow->states.size()));
  }
}

/// Compares the compensation whose call an instance waits for with the record of its begin.
void Checker::check_started_compensation(const Walked& one) {
  const Instance& head = *one.head;
  const bool has_started = head.compensating && head.phase == Phase::kWaiting;
  if (!has_started || !one.story || !one.story->entered) return;
  const HistoryRecord& record = *one.story->entered;
  if (record.kind != HistoryKind::kUndoing) return;  // it was trimmed
  const auto number = RecordDetail(record).number("number");
  if (!number || *number == head.compensations) return;  // wrong_shape() reports a missing one
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kInstanceParts, {one.table, key},
      fmt::format("the instance makes compensation {}, but by its history it makes compensation {}",
                  head.compensations, *number));
}

}  // namespace millrace
