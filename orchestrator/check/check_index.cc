// Checks of the index rows: each instance is in `by_status`, and `counts` and `usage` are the sums
// over the instances and the counted rows; and of the effects of events.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/index_build.h"

namespace millrace {
namespace {

/// The first version of a row of `usage` that has the size of the counted rows.
constexpr char kVersionWithSizes = 2;

/// The last bytes of an id, which are random or a fingerprint. Different ids may have the same
/// part.
uint64_t id_part(const InstanceId& id) {
  uint64_t part = 0;
  std::memcpy(&part, id.bytes.data() + sizeof part, sizeof part);
  return part;
}

/// Whether each effect of the kind has a workflow.
bool names_workflow(EventEffect::Kind kind) {
  using enum EventEffect::Kind;
  return kind == kGrouped || kind == kSkipped || kind == kUncorrelated || kind == kExpired ||
         kind == kClosed || kind == kRateLimited || kind == kDebounced || kind == kBatched;
}

/// A position as one number. Positions of different streams may have the same number.
uint64_t packed(const EventPosition& position) {
  return uint64_t{position.stream} << 48U ^ position.sequence;
}

}  // namespace

/// Compares the instance with the index and notes it for the sums. After another finding about the
/// instance, the index may have other values of it, so it only counts as unknown.
void Checker::note_indexed(const Walked& one) {
  if (report_.count() > one.findings_before) ++unknown_;
  if (!has_index_ || report_.count() > one.findings_before) return;
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const auto compare = [&](uint64_t stored, uint64_t found, std::string_view what) {
    if (stored == found) return;
    add(StoreFault::kInstanceBytes, place,
        fmt::format("the head has {} bytes for the {}, but the rows have {}", stored, what, found));
  };
  for (size_t part = 0; part < kPartCount; ++part) {
    compare(head.part_bytes[part], one.part_bytes[part], part_name(static_cast<uint8_t>(part)));
  }
  if (one.history_bytes) compare(head.history_bytes, *one.history_bytes, "history");
  const IndexedInstance entry = indexed(head);
  if (is_indexed(view_, entry)) {
    ++indexed_;
  } else {
    add(StoreFault::kIndexStatus, place,
        fmt::format("`by_status` does not have the instance with the status {}",
                    to_string(head.status)));
  }
  ++places_[entry.place];
  Usage& usage = usage_[entry.place.ns];
  ++(has_ended(entry.place.status) ? usage.ended : usage.live);
  usage.row_bytes += entry.row_bytes;
  usage.history_bytes += entry.history_bytes;
  usage.starts.include(entry.starts);
}

/// To be called before the first row of a counted table is read.
void Checker::find_owners() {
  if (!has_counted_rows_) return;
  auto owners = read_owners(view_);
  if (owners) {
    owners_ = *std::move(owners);
  } else {
    note_failed_read(Table::kNamespaces);
  }
}

/// Notes a row of a counted table for the sums. `is_sound`: the row has no finding.
void Checker::note_counted(const Place& place, std::string_view value, bool is_sound) {
  const auto ns = counted_for(view_, *owners_, place.table, place.key, value);
  const bool is_unreadable = !ns && Seal::is_sealed(value) && has_namespace_in_value(place.table);
  if (!is_sound || is_unreadable) {
    ++unknown_rows_;
  } else if (ns) {
    usage_[*ns].counted_bytes += counted_bytes(place.key, value);
  }
}

void Checker::check_index() {
  uint64_t rows = 0;
  each_row(Table::kByStatus, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kByStatus, key};
    const auto one = decode_by_status_key(key);
    if (!one) return add(StoreFault::kRowKey, place, one.error().message);
    if (!value.empty()) {
      add(StoreFault::kRowRecord, place,
          fmt::format("the row has {} bytes, expected none", value.size()));
    }
    if (!purged_.contains(one->place.ns)) ++rows;
  });
  check_counts();
  check_usage();
  // Each readable instance was found in the table, so only more rows than instances are wrong.
  if (is_over() || !has_index_ || rows <= indexed_) return;
  view_.scan(Table::kByStatus, {}, [&](std::string_view key, auto) {
    const auto one = decode_by_status_key(key);
    if (!one || purged_.contains(one->place.ns)) return true;
    const Table table = has_ended(one->place.status) ? Table::kEnded : Table::kLive;
    const Known known = find(table, one->place.ns, one->id);
    if (known.exists && !known.head) return true;
    const bool fits = known.head && known.head->status == one->place.status &&
                      known.head->revision.workflow == one->place.revision.workflow;
    if (!fits) {
      add(StoreFault::kIndexStatus, {Table::kByStatus, key},
          fmt::format("instance {} does not exist with this workflow and status",
                      to_string(one->id)));
    }
    return !is_over();
  });
}

/// Whether a sum in the index fits the sum over the readable instances.
bool Checker::fits_sum(uint64_t stored, uint64_t counted) const {
  return stored >= counted && stored - counted <= unknown_;
}

void Checker::check_counts() {
  each_row(Table::kCounts, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kCounts, key};
    const auto where = decode_count_key(key);
    if (!where) return add(StoreFault::kRowKey, place, where.error().message);
    const auto count = decode(place, value, decode_count);
    const uint64_t counted = std::exchange(places_[*where], 0);
    if (!count || !has_index_ || purged_.contains(where->ns)) return;
    if (!fits_sum(*count, counted)) {
      add(StoreFault::kIndexCount, place,
          fmt::format("the row counts {} instances, but {} exist", *count, counted));
    } else if (*count == 0) {
      add(StoreFault::kIndexCount, place,
          "the row counts 0 instances, but the row of a place without instances is erased");
    }
  });
  if (is_over() || !has_index_) return;
  for (const auto& [where, counted] : places_) {
    if (counted == 0) continue;
    add(StoreFault::kIndexCount, {Table::kCounts, count_key(where)},
        fmt::format("the row is missing, and {} instances exist", counted));
  }
}

void Checker::check_usage() {
  const auto text = [](const Usage& usage) {
    return fmt::format(
        "{} live and {} ended instances with {} bytes and {} bytes of history, and other rows with "
        "{} bytes",
        usage.live, usage.ended, usage.row_bytes, usage.history_bytes, usage.counted_bytes);
  };
  const auto bounds = [](const StartBounds& starts) {
    return fmt::format("-{} ms, +{} ms until {}", starts.early_by.count(), starts.late_by.count(),
                       format_rfc3339(starts.late_until));
  };
  // The sizes of unknown instances are unknown, too.
  const auto fits_bytes = [&](uint64_t stored, uint64_t counted) {
    return unknown_ > 0 ? stored >= counted : stored == counted;
  };
  const auto fits_rows = [&](uint64_t stored, uint64_t counted) {
    if (!has_counted_rows_) return true;
    return unknown_rows_ > 0 ? stored >= counted : stored == counted;
  };
  each_row(Table::kUsage, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kUsage, key};
    Reader reader(key);
    const auto ns = NamespaceNumber(reader.u32());
    if (!reader.done()) {
      return add(StoreFault::kRowKey, place, "the key is not the number of a namespace");
    }
    const auto usage = decode(place, value, decode_usage);
    if (usage && value.front() >= kVersionWithSizes) {
      note_minor(kMinorOfCountedRows, "sizes of counted rows");
    }
    const Usage counted = std::exchange(usage_[ns], {});
    if (!usage || !has_index_ || purged_.contains(ns)) return;
    if (fits_sum(usage->live, counted.live) && fits_sum(usage->ended, counted.ended) &&
        fits_bytes(usage->row_bytes, counted.row_bytes) &&
        fits_bytes(usage->history_bytes, counted.history_bytes) &&
        fits_rows(usage->counted_bytes, counted.counted_bytes)) {
      if (usage->live == 0 && usage->ended == 0 && usage->counted_bytes == 0) {
        return add(StoreFault::kIndexUsage, place,
                   "the row has no instance and no bytes, but the row of such a namespace is "
                   "erased");
      }
      if (usage->starts.covers(counted.starts)) return;
      // The bounds may be wider: they hold for deleted instances, too.
      return add(StoreFault::kIndexUsage, place,
                 fmt::format("the row has the bounds {} of the starts, but those of the instances "
                             "are {}",
                             bounds(usage->starts), bounds(counted.starts)));
    }
    add(StoreFault::kIndexUsage, place,
        fmt::format("the row has {}, but there are {}", text(*usage), text(counted)));
  });
  if (is_over() || !has_index_) return;
  for (const auto& [ns, counted] : usage_) {
    if (counted == Usage{}) continue;
    add(StoreFault::kIndexUsage, {Table::kUsage, rows::ns_prefix(ns)},
        fmt::format("the row is missing, and there are {}", text(counted)));
  }
}

void Checker::check_effects() {
  NumberSet numbers;
  each_row(Table::kEffects, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kEffects, key};
    auto row = decode_effect_key(key);
    if (!row) return add(StoreFault::kRowKey, place, row.error().message);
    note_given(Counter::kEffects, row->number, place);
    check_position(row->at, place);
    if (!numbers.insert(row->number)) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("another row has the number {}", row->number));
    }
    if (const Status decoded = decode_effects(value, *row); !decoded) {
      return add(StoreFault::kRowRecord, place, decoded.error().message);
    }
    if (row->effects.empty()) add(StoreFault::kRowValue, place, "the row has no effect");
    check_effects_of(*row, place);
  });
  check_started_twice();
}

/// Finds instances that two events started. Only if parts of two ids are equal, the rows are read
/// again. An event that is applied again, after its instance was deleted, starts an instance with
/// the same id.
void Checker::check_started_twice() {
  std::sort(starts_of_events_.begin(), starts_of_events_.end());
  std::set<uint64_t> repeated;
  for (size_t i = 1; i < starts_of_events_.size(); ++i) {
    const auto& [part, position] = starts_of_events_[i];
    const auto& [part_before, position_before] = starts_of_events_[i - 1];
    if (part == part_before && position != position_before) repeated.insert(part);
  }
  if (repeated.empty() || is_over()) return;
  std::map<InstanceId, EventPosition> seen;
  view_.scan(Table::kEffects, {}, [&](std::string_view key, std::string_view value) {
    auto row = decode_effect_key(key);
    if (!row || !decode_effects(value, *row)) return true;
    std::set<InstanceId> of_row;  // check_effects_of() reports two starts in one row
    for (const auto& [event, effect] : row->effects) {
      if (effect.kind != EventEffect::Kind::kStarted) continue;
      if (!repeated.contains(id_part(effect.instance))) continue;
      if (!of_row.insert(effect.instance).second) continue;
      const auto [first, is_new] = seen.emplace(effect.instance, event);
      if (is_new || first->second == event) continue;
      add(StoreFault::kRowValue, {Table::kEffects, key},
          fmt::format("the event with sequence {} started instance {}, but so did the event with "
                      "sequence {}",
                      event.sequence, to_string(effect.instance), first->second.sequence));
    }
    return !is_over();
  });
  note_failed_read(Table::kEffects);
}

/// Checks the effects of one row. Another effect than a start may be there twice: if the broker has
/// lost the end of the stream, it stores another event under the same sequence.
void Checker::check_effects_of(const EffectRow& row, const Place& place) {
  bool has_position = row.at.stream > 0 && row.at.sequence > 0;
  std::set<InstanceId> started;
  for (const auto& [event, effect] : row.effects) {
    has_position &= event.sequence > 0;
    const auto workflow = static_cast<uint32_t>(effect.workflow);
    note_given(Counter::kWorkflow, workflow, place);
    if (workflow == 0 && names_workflow(effect.kind)) {
      add(StoreFault::kRowValue, place, "an effect has the workflow 0, expected 1 or more");
    }
    const bool is_start = effect.kind == EventEffect::Kind::kStarted;
    if (!is_start) continue;
    if (started.insert(effect.instance).second) {
      starts_of_events_.emplace_back(id_part(effect.instance), packed(event));
      continue;
    }
    add(StoreFault::kRowValue, place,
        fmt::format("two events of the row started instance {}", to_string(effect.instance)));
  }
  if (has_position) return;
  add(StoreFault::kRowValue, place,
      "an event of the row has stream 0 or sequence 0, but the numbers of streams and sequences "
      "begin with 1");
}

/// Checks the position of a stored event. An event that an earlier format stored has no stream, and
/// in `recent` no sequence either.
void Checker::check_event_position(const EventPosition& position, const Place& place) {
  check_position(position, place);
  const bool has_stream = position.stream > 0;
  const bool has_sequence = position.sequence > 0;
  if (has_stream == has_sequence || (place.table == Table::kGroups && !has_stream)) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the event has stream {} and sequence {}: expected both, or 0 for both",
                  position.stream, position.sequence));
}

/// Checks that the stream of a position has a number.
void Checker::check_position(const EventPosition& position, const Place& place) {
  if (position.stream == 0 || streams_.contains(position.stream)) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the row names event stream {}, and meta has no row of this number",
                  position.stream));
}

}  // namespace millrace
