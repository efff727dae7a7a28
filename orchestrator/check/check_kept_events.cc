// Checks of kept events, fan-outs and late matches, and of the numbers of kept events from which
// instances listen.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/record_detail.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {
namespace {

/// For how many numbers of kept events a check notes the instances that listen from them.
constexpr size_t kMostListenFroms = 100'000;

/// The first version of a kept event that has times.
constexpr char kVersionWithTimes = 3;

}  // namespace

/// While an event is kept, an event with the same source and id is a duplicate, so it is not kept.
/// Positions may repeat and decrease: the broker may have lost the end of the stream.
void Checker::check_kept_events() {
  std::map<std::pair<NamespaceNumber, Fingerprint>, uint64_t> fingerprints;
  each_row(Table::kKeptEvents, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kKeptEvents, key};
    Reader reader(key);
    const auto ns = NamespaceNumber(reader.u32());
    const Fingerprint type = reader.id();
    const uint64_t number = reader.u64();
    if (!reader.done() || number == 0) {
      add(StoreFault::kRowKey, place,
          "the key of the kept event is not a namespace number, the fingerprint of an event type "
          "and a number");
      return;
    }
    note_given(Counter::kKeptEvents, number, place);
    note_given(Counter::kNamespace, static_cast<uint32_t>(ns), place);
    if (!kept_.insert(number)) {
      add(StoreFault::kNumberTwice, place, fmt::format("another row has the number {}", number));
    }
    const auto record = decode(place, value, decode_kept_event);
    if (!record) return;
    if (value.front() >= kVersionWithTimes) note_minor(1, "kept events of version 3");
    check_event_position(record->position, place);
    const auto [first, is_new] = fingerprints.emplace(std::pair(ns, record->known_as), number);
    if (!is_new) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("the kept event {} has the source and id of this event, too", first->second));
    }
    const auto event = check_event(record->event, place);
    if (!event) return;
    if (fingerprint({event->type}) != type) {
      add(StoreFault::kKeptEventPlace, place,
          fmt::format("the type of the event is {}", event->type));
    }
    // The next commits erase the kept events of a deleted namespace.
    const auto name = spaces_.find(ns);
    if (name != spaces_.end() &&
        fingerprint({name->second, event->source, event->id}) != record->known_as) {
      add(StoreFault::kKeptEventPlace, place,
          "the fingerprint in the row does not match the source and id of the event");
    }
  });
}

void Checker::check_fan_outs() {
  each_row(Table::kFanout, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kFanout, key};
    const bool is_late = is_late_match_key(key);
    const std::optional<uint64_t> number = is_late ? Reader(key).u64() : number_key(place);
    if (!number) return;
    note_given(Counter::kKeptEvents, *number, place);
    if (is_late) {
      note_minor(1, "late matches");
      const auto record = decode(place, value, decode_late_match);
      if (record) check_late_match(*record, place);
    } else if (!value.empty()) {
      add(StoreFault::kFanOutEvent, place, fmt::format("{} bytes", value.size()));
    }
    if (!kept_.contains(*number))
      add(StoreFault::kFanOutEvent, place, "there is no kept event with that number");
  });
}

/// Checks the workflows and instances of a late match; they may have been deleted.
void Checker::check_late_match(const LateMatchRecord& record, const Place& place) {
  for (const WorkflowNumber workflow : record.starts) {
    note_given(Counter::kWorkflow, static_cast<uint32_t>(workflow), place);
  }
  const bool has_none = std::find(record.starts.begin(), record.starts.end(), WorkflowNumber(0)) !=
                            record.starts.end() ||
                        std::find(record.instances.begin(), record.instances.end(), InstanceId()) !=
                            record.instances.end();
  if (!has_none) return;
  add(StoreFault::kRowValue, place, "the row names the workflow 0 or the instance 0");
}

// Listen-from.

/// Notes the number from which the instance listens, for check_listen_from().
///
/// Each change of the number that is stored with an instance that waits or has ended has a record.
/// So the number was assigned by the time of the newest record. An instance that neither a caller
/// nor an event started begins with the newest number, and its number never decreases. So all lower
/// numbers, and its own one, were assigned before it started or by then. An event may start an
/// instance long after it was kept (late_matches.h): such an instance begins with the number of its
/// event, and higher numbers were assigned before it started.
void Checker::note_listen_from(const Walked& one) {
  const Instance& head = *one.head;
  if (!one.story || !one.story->newest || report_.count() > one.findings_before) return;
  const uint64_t number = head.listen_from.kept;
  if (listen_froms_.size() >= kMostListenFroms && !listen_froms_.contains(number)) return;
  ListenFroms& same = listen_froms_[number];
  const bool is_settled = head.phase == Phase::kWaiting || head.phase == Phase::kEnded;
  if (is_settled && (!same.changed || *one.story->newest < *same.changed)) {
    same.changed = *one.story->newest;
    same.changed_key = one.key(Part::kHead);
    same.changed_table = one.table;
  }
  if (!one.story->started || head.caller) return;
  const auto by = RecordDetail(*one.story->started).text("by");
  if (by == "subflow" || by == "event") return;
  if (same.started && *same.started >= head.started_at) return;
  same.started = head.started_at;
  same.started_id = one.id;
}

/// Checks that no instance listens from a number that was assigned only after the newest record of
/// the instance: it would miss the kept events up to this number.
void Checker::check_listen_from() {
  const ListenFroms* latest = nullptr;  // the latest start of an instance with a lower number
  uint64_t lower = 0;                   // that number
  for (const auto& [number, same] : listen_froms_) {
    if (latest != nullptr && same.changed && *same.changed < *latest->started) {
      add(StoreFault::kRowValue, {same.changed_table, same.changed_key},
          fmt::format("the instance listens from kept event {}, but its newest record is at {} ms, "
                      "and instance {}, which started at {} ms, listens from kept event {}",
                      number, to_millis(*same.changed), to_string(latest->started_id),
                      to_millis(*latest->started), lower));
    }
    if (!same.started || (latest != nullptr && *same.started <= *latest->started)) continue;
    latest = &same;
    lower = number;
  }
}

}  // namespace millrace
