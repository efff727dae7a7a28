// The table meta: the format, the key, engine time, cursor and counters, and what deletions have
// left to erase (purges, and workflows whose definitions stay).
#include <chrono>

#include "base/bytes.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/identity.h"

namespace millrace {
namespace {

constexpr std::string_view kCounterKey = "counter/";
constexpr std::string_view kPurgeKey = "purge/";
constexpr std::string_view kRetiredKey = "retired/";

/// The end of the year 9999, in ms: no time lies behind it.
constexpr uint64_t kLastMillis = 253'402'300'799'999;

/// A counter has a number left to give, or the start is refused (next_number); those of namespaces
/// and workflows have 32 bits.
constexpr uint64_t kMostOfCounter = kMostNumber - 1;
constexpr uint64_t kMostOfShort = UINT32_MAX - 1;

std::optional<uint64_t> number_of(std::string_view value) {
  Reader reader(value);
  const uint64_t number = reader.u64();
  return reader.done() ? std::optional(number) : std::nullopt;
}

}  // namespace

void Checker::check_meta() {
  // The key first: whether sealed rows can be looked into.
  if (const auto seal = view_.get(Table::kMeta, "seal")) {
    const auto context = rows::seal_context(Table::kMeta, "seal");
    has_key_ = view_.seal().open(*seal, context).has_value();
  }
  each_row(Table::kMeta, [&](std::string_view key, std::string_view value) {
    check_meta_row({Table::kMeta, key}, value);
  });
  if (is_over()) return;
  if (!format_) {
    if (about_rows_ > 0 || rows_ > 0) {
      add(StoreFault::kMetaMissing, {Table::kMeta, "format"}, "the store has no format");
    }
    return;
  }
  for (const Table table : {Table::kTasks, Table::kHooks}) {
    if (*format_ == 0 || *format_ >= kStoreFormat || !has_row(table)) continue;
    add(StoreFault::kRowValue, {Table::kMeta, "format"},
        fmt::format("the format is {}, and the tree {}, which came with format 5, has rows",
                    *format_, table_name(table)));
  }
  constexpr Duration kYear = std::chrono::days(366);
  // The broker's time, which need not be ours.
  if (cursor_ && time_ && cursor_->stamped > *time_ + kYear) {
    add(StoreFault::kRowTime, {Table::kMeta, "cursor"},
        fmt::format("its last event was stamped at {} ms, and the store's time is {} ms",
                    to_millis(cursor_->stamped), to_millis(*time_)));
  }
  if (*format_ == kStoreFormat && !view_.get(Table::kMeta, "seal")) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "seal"},
        "the row by which the store's key is known is missing");
  }
  // A batch that an event had an effect in writes both.
  const bool has_taken_events = counters_[index_of(Counter::kGrouped)] > 0 ||
                                counters_[index_of(Counter::kRecent)] > 0 ||
                                has_row(Table::kDedupe);
  if (has_taken_events && !view_.get(Table::kMeta, "cursor")) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "cursor"},
        "the store has taken events, and does not tell up to which one");
  }
  if (!view_.get(Table::kMeta, "time") && counters_[index_of(Counter::kHistory)] > 0) {
    add(StoreFault::kMetaMissing, {Table::kMeta, "time"}, "the time of the last commit is missing");
  }
}

void Checker::check_meta_row(const Place& place, std::string_view value) {
  const std::string_view key = place.key;
  const auto number = [&]() -> std::optional<uint64_t> {
    const auto found = number_of(value);
    if (!found) {
      add(StoreFault::kRowRecord, place, fmt::format("{} bytes, and a number has 8", value.size()));
    }
    return found;
  };
  if (key == "format") {
    format_ = number();
    if (format_ && *format_ == 0) add(StoreFault::kFormat, place, "the format is 0");
  } else if (key == "time") {
    const auto millis = number();
    if (!millis) return;
    if (*millis > kLastMillis) {
      add(StoreFault::kRowValue, place,
          fmt::format("the time of the last commit is {} ms, behind the year 9999", *millis));
      return;
    }
    time_ = from_millis(static_cast<int64_t>(*millis));
  } else if (key == "cursor") {
    const auto cursor = decode(place, value, decode_cursor);
    if (!cursor) return;
    if (cursor->stream_created < 0 || to_millis(cursor->stamped) < 0 ||
        (cursor->stream_created == 0 && cursor->sequence > 0)) {
      add(StoreFault::kRowValue, place,
          fmt::format("stream created {}, sequence {}, stamped {}", cursor->stream_created,
                      cursor->sequence, to_millis(cursor->stamped)));
    }
    cursor_ = *cursor;
  } else if (key == "seal") {
    if (!Seal::is_sealed(value)) {
      add(StoreFault::kRowRecord, place, "the row is not sealed");
    } else if (!has_key_ && options_.has_key) {
      add(StoreFault::kStoreKey, place, "the key that was given does not open it");
    }
  } else if (key == "store") {
    decode(place, value, decode_store_identity);
  } else if (key.starts_with(kCounterKey) && key.size() == kCounterKey.size() + 1 &&
             key.back() >= 'a' && key.back() < 'a' + static_cast<char>(counters_.size())) {
    const auto last = number();
    counters_[index_of(Counter(key.back()))] = last.value_or(UINT64_MAX);
    const bool is_short =
        Counter(key.back()) == Counter::kNamespace || Counter(key.back()) == Counter::kWorkflow;
    const uint64_t most = is_short ? kMostOfShort : kMostOfCounter;
    if (last && *last > most) {
      add(StoreFault::kRowValue, place,
          fmt::format("the counter is at {}, and no store can come beyond {}", *last, most));
    }
  } else if (key.starts_with(kPurgeKey)) {
    check_purge(place, value);
  } else if (key.starts_with(kRetiredKey)) {
    check_retired(place, value);
  } else {
    add(StoreFault::kMetaUnknown, place,
        fmt::format("{} bytes under an unknown key", value.size()));
  }
}

/// What a deletion has left to erase. Counters come before it, by their keys.
void Checker::check_purge(const Place& place, std::string_view value) {
  Reader reader(place.key.substr(kPurgeKey.size()));
  const auto kind = Purge::Kind(reader.u8());
  const uint64_t number = reader.u64();
  const bool is_namespace = kind == Purge::Kind::kNamespace;
  const bool is_short = number <= UINT32_MAX;  // as are the numbers of namespaces and workflows
  if (!reader.done() || number == 0 || kind > Purge::Kind::kGroups ||
      (kind != Purge::Kind::kHistory && !is_short)) {
    add(StoreFault::kRowKey, place, "the key is not the kind of a purge and a number");
    return;
  }
  const Counter counter = is_namespace                    ? Counter::kNamespace
                          : kind == Purge::Kind::kHistory ? Counter::kHistory
                                                          : Counter::kWorkflow;
  note_given(counter, number, place);
  const auto record = decode(place, value, decode_purge);
  if (is_namespace) {
    purged_.insert(NamespaceNumber(static_cast<uint32_t>(number)));
  } else if (kind == Purge::Kind::kGroups && record) {
    note_given(Counter::kGrouped, record->up_to, place);
    closing_[WorkflowNumber(static_cast<uint32_t>(number))] = record->up_to;
  }
  if (!record) return;
  if (kind != Purge::Kind::kHistory && !record->space.empty() && !is_identifier(record->space)) {
    add(StoreFault::kRowValue, place, "the name of its namespace is not a name");
  }
  if (kind == Purge::Kind::kGroups) {
    group_purges_.emplace(WorkflowNumber(static_cast<uint32_t>(number)), *record);
  }
  if (kind != Purge::Kind::kHistory) return;
  for (uint64_t next = number; next != 0;) {
    const std::string key = rows::key_of(next);
    const auto bytes = view_.get(Table::kHistory, key);
    if (!bytes) {
      if (next == number) {
        add(StoreFault::kPurgeTarget, place, fmt::format("history row {} is not there", number));
      }
      return;
    }
    chained_.insert(next);
    if (!erased_.insert(next)) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("another purge erases history row {} as well", next));
      return;
    }
    const auto row = rows::decode(view_, Table::kHistory, key, *bytes, decode_history);
    if (!row || row->previous >= next) return;  // the walk over all history tells of it
    next = row->previous;
  }
}

/// Purges of groups name a workflow as it is, and begin when its groups have become others.
void Checker::check_group_purges() {
  for (const auto& [number, record] : group_purges_) {
    const auto workflow = workflows_.find(number);
    if (workflow == workflows_.end()) continue;  // it was deleted
    Writer key;
    key.raw(kPurgeKey);
    key.u8(static_cast<uint8_t>(Purge::Kind::kGroups));
    key.u64(static_cast<uint32_t>(number));
    const Place place{Table::kMeta, key.view()};
    const WorkflowRow& row = workflow->second;
    if (record.workflow != row.id || record.space != name_of(row.space)) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("it names workflow {} in {}, and the number is that of {} in {}",
                      record.workflow, record.space, row.id, name_of(row.space)));
    } else if (row.groups_from == 0) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("workflow {} has the groups that it began with", row.id));
    }
  }
}

void Checker::check_retired(const Place& place, std::string_view value) {
  Reader key(place.key.substr(kRetiredKey.size()));
  const auto workflow = WorkflowNumber(key.u32());
  if (!key.done() || static_cast<uint32_t>(workflow) == 0) {
    add(StoreFault::kRowKey, place, "the key is not the number of a workflow");
    return;
  }
  note_given(Counter::kWorkflow, static_cast<uint32_t>(workflow), place);
  Reader reader(value);
  const auto space = NamespaceNumber(reader.u32());
  if (!reader.done()) {
    add(StoreFault::kRowRecord, place,
        fmt::format("{} bytes, and the number of a namespace has 4", value.size()));
    return;
  }
  retired_.emplace(workflow, space);
  homes_.emplace(workflow, space);
  if (purged_.contains(space)) purged_workflows_.insert(workflow);  // purges come first, by key
}

void Checker::check_retired_workflows() {
  for (const auto& [number, space] : retired_) {
    const std::string key = std::string(kRetiredKey).append(rows::workflow_prefix(number));
    const Place place{Table::kMeta, key};
    check_namespace(space, place);
    if (!workflows_.contains(number)) continue;
    add(StoreFault::kNumberTwice, place,
        fmt::format("workflow {} has the number of a deleted one", workflows_.at(number).id));
  }
}

}  // namespace millrace
