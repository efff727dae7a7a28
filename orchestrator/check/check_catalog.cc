// What the catalog is made of: meta, namespaces, workflows, revisions, schedules, groups.
#include <algorithm>

#include "base/bytes.h"
#include "matchers/correlation.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/group_rows.h"
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

/// The first byte of a key in `groups` tells which of its three kinds of rows it is.
constexpr uint8_t kCountsRow = 1;
constexpr uint8_t kQueueRow = 2;
constexpr uint8_t kNumberRow = 3;

std::optional<uint64_t> number_of(std::string_view value) {
  Reader reader(value);
  const uint64_t number = reader.u64();
  return reader.done() ? std::optional(number) : std::nullopt;
}

std::string group_key(uint8_t kind, WorkflowNumber workflow, const Fingerprint& group) {
  Writer key;
  key.u8(kind);
  key.u32(static_cast<uint32_t>(workflow));
  key.id(group);
  return key.take();
}

}  // namespace

// Meta.

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

// Namespaces, workflows, revisions.

void Checker::check_namespaces() {
  each_row(Table::kNamespaces, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kNamespaces, key};
    if (!is_identifier(key)) add(StoreFault::kRowKey, place, "the key is not a name");
    const auto record = decode(place, value, decode_namespace);
    if (!record) return;
    const auto number = static_cast<uint32_t>(record->number);
    if (number == 0) add(StoreFault::kRowValue, place, "its number is 0");
    note_given(Counter::kNamespace, number, place);
    if (purged_.contains(record->number)) {
      add(StoreFault::kRowValue, place, fmt::format("a purge erases namespace {}", number));
    }
    const auto [known, is_first] = spaces_.emplace(record->number, key);
    if (!is_first) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("its number is {}, as that of {}", number, known->second));
    }
    // The first start makes `default` before there is a time.
    if (key != "default") check_time(record->created_at, place, "its creation");
    if (record->settings.empty()) return;
    if (!check_json(record->settings, place, "the settings")) return;
    const Status read =
        options_.check_settings ? options_.check_settings(record->settings) : Status();
    if (!read) add(StoreFault::kNamespaceSettings, place, read.error().message);
  });
  if (is_over() || counters_[index_of(Counter::kNamespace)] == 0) return;
  if (!view_.get(Table::kNamespaces, "default")) {
    add(StoreFault::kNamespaceMissing, {Table::kNamespaces, "default"},
        "the namespace `default` does not exist");
  }
}

void Checker::check_workflows() {
  each_row(Table::kWorkflows, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kWorkflows, key};
    Reader reader(key);
    const auto space = NamespaceNumber(reader.u32());
    const std::string id(reader.rest());
    if (!reader.ok() || !is_identifier(id)) {
      add(StoreFault::kRowKey, place, "the key is not a namespace and the id of a workflow");
      return;
    }
    const auto record = decode(place, value, decode_workflow);
    if (!record) return;
    const auto number = static_cast<uint32_t>(record->number);
    if (number == 0 || record->latest == 0 || record->groups_from > record->latest) {
      add(StoreFault::kRowValue, place,
          fmt::format("its number is {}, its newest revision {}, the first with its groups {}",
                      number, record->latest, record->groups_from));
    }
    note_given(Counter::kWorkflow, number, place);
    if (purged_.contains(space)) {  // its definitions may be gone
      purged_workflows_.insert(record->number);
      return;
    }
    check_namespace(space, place);
    const WorkflowRow row{
        .space = space, .id = id, .latest = record->latest, .groups_from = record->groups_from};
    const auto [known, is_first] = workflows_.emplace(record->number, row);
    homes_.emplace(record->number, space);
    if (!is_first) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("its number is {}, as that of workflow {} in {}", number, known->second.id,
                      name_of(known->second.space)));
    }
  });
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

void Checker::check_definitions() {
  WorkflowNumber of{};  // whose revisions come by,
  uint32_t last = 0;    // and the last of them
  std::set<WorkflowNumber> without;
  for (const auto& [number, row] : workflows_) without.insert(number);
  const auto missing = [&](WorkflowNumber number, uint32_t revision) {
    Writer key;
    key.u32(static_cast<uint32_t>(number));
    key.u32(revision);
    add(StoreFault::kDefinitionMissing, {Table::kDefinitions, key.view()},
        fmt::format("revision {} of workflow {} is not there", revision,
                    static_cast<uint32_t>(number)));
  };
  const auto end = [&] {
    const auto workflow = workflows_.find(of);
    if (workflow != workflows_.end() && last < workflow->second.latest) missing(of, last + 1);
  };
  each_row(Table::kDefinitions, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDefinitions, key};
    Reader reader(key);
    const Revision revision{WorkflowNumber(reader.u32()), reader.u32()};
    if (!reader.done() || revision.number == 0 || static_cast<uint32_t>(revision.workflow) == 0) {
      add(StoreFault::kRowKey, place, "the key is not the numbers of a workflow and a revision");
      return;
    }
    if (purged_workflows_.contains(revision.workflow)) return;
    if (revision.workflow != of) {
      end();
      of = revision.workflow;
      last = 0;
      without.erase(of);
      note_given(Counter::kWorkflow, static_cast<uint32_t>(of), place);
    }
    if (revision.number != last + 1) missing(of, last + 1);
    if (last == 0 && !workflows_.contains(of) && !retired_.contains(of)) {
      add(StoreFault::kWorkflowMissing, place,
          "its workflow does not exist, and meta has no row `retired/` of it");
    }
    last = revision.number;
    // That of a workflow which was deleted stays for the instances that have ended.
    const auto workflow = workflows_.find(of);
    if (workflow != workflows_.end() && revision.number > workflow->second.latest) {
      add(StoreFault::kDefinitionUnknown, place,
          fmt::format("the newest revision of the workflow is {}", workflow->second.latest));
    }
    const auto record = decode(place, value, decode_definition);
    if (!record) return;
    check_time(record->created_at, place, "its creation");
    if (!options_.load) return;
    const auto loaded = options_.load(record->text);
    if (!loaded) {
      add(StoreFault::kDefinitionUnloadable, place, loaded.error().message);
    } else if (workflow != workflows_.end() && (*loaded)->id != workflow->second.id) {
      add(StoreFault::kDefinitionUnloadable, place,
          fmt::format("its id is {}, and that of the workflow {}", (*loaded)->id,
                      workflow->second.id));
    }
  });
  if (is_over()) return;
  end();
  for (const WorkflowNumber number : without) missing(number, 1);
}

// Schedules.

void Checker::check_schedules() {
  std::set<WorkflowNumber> without;
  for (const auto& [number, row] : workflows_) {
    const auto workflow = newest(number);
    if (workflow != nullptr && workflow->start.cron) without.insert(number);
  }
  each_row(Table::kSchedules, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSchedules, key};
    Reader reader(key);
    const auto number = WorkflowNumber(reader.u32());
    if (!reader.done()) {
      add(StoreFault::kRowKey, place, "the key is not the number of a workflow");
      return;
    }
    if (purged_workflows_.contains(number)) return;
    without.erase(number);
    note_given(Counter::kWorkflow, static_cast<uint32_t>(number), place);
    if (!workflows_.contains(number)) {
      add(StoreFault::kWorkflowMissing, place, "the workflow of the schedule does not exist");
    } else if (const auto workflow = newest(number); workflow != nullptr && !workflow->start.cron) {
      add(StoreFault::kScheduleUnknown, place, "the newest revision has no schedule");
    }
    const auto record = decode(place, value, decode_schedule);
    if (!record) return;
    check_time(record->from, place, "the time from which it counts");
    if (record->last) check_time(*record->last, place, "its last tick");
    if (record->first && (!record->last || *record->first > *record->last)) {
      add(StoreFault::kRowValue, place, "its first tick is later than its last one");
    }
  });
  if (is_over()) return;
  for (const WorkflowNumber number : without) {
    add(StoreFault::kScheduleMissing, {Table::kSchedules, rows::workflow_prefix(number)},
        fmt::format("workflow {} has a schedule and no row", workflows_.at(number).id));
  }
}

// Groups of eventsAnd starts.

void Checker::check_groups() {
  each_row(Table::kGroups, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kGroups, key};
    switch (key.empty() ? 0 : static_cast<uint8_t>(key.front())) {
      case kCountsRow:
        return check_group_counts(place, value);
      case kQueueRow:
        return check_group_event(place, value);
      case kNumberRow:
        return check_group_number(place, value);
      default:
        add(StoreFault::kRowKey, place, "the key begins with none of 1, 2 and 3");
    }
  });
}

void Checker::check_group_counts(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const auto number = WorkflowNumber(reader.u32());
  const Fingerprint group = reader.id();
  if (!reader.done()) {
    add(StoreFault::kRowKey, place, "the key is not a workflow and a group");
    return;
  }
  const auto counts = decode(place, value, decode_counts);
  if (!counts || purged_workflows_.contains(number)) return;
  std::vector<uint32_t> waiting(counts->size(), 0);
  bool closes = false;
  view_.scan(Table::kGroups, group_key(kQueueRow, number, group), [&](std::string_view key, auto) {
    Reader queue(key.substr(place.key.size()));
    const uint8_t high = queue.u8();
    const auto entry = static_cast<size_t>(high) << 8 | queue.u8();
    if (entry < waiting.size()) ++waiting[entry];
    closes |= is_closed(number, queue.u64());
    return true;
  });
  if (!closes && !workflows_.contains(number)) {
    add(StoreFault::kWorkflowMissing, place, "the workflow of the group does not exist");
  } else if (const auto workflow = closes ? nullptr : newest(number)) {
    const Start& start = workflow->start;
    if (start.kind != Start::Kind::kEventsAnd || start.events.size() != counts->size()) {
      add(StoreFault::kGroupCounts, place,
          fmt::format("the group has {} entries, and the start of its workflow {}", counts->size(),
                      start.kind == Start::Kind::kEventsAnd ? start.events.size() : 0));
      return;
    }
  }
  // What is complete starts an instance, and what is empty goes.
  const bool is_empty =
      std::all_of(counts->begin(), counts->end(), [](uint32_t count) { return count == 0; });
  if (is_empty || is_complete(*counts)) {
    add(StoreFault::kGroupCounts, place,
        is_empty ? "no entry of the group has an event" : "each entry of the group has an event");
  }
  if (waiting != *counts) {
    add(StoreFault::kGroupCounts, place,
        fmt::format("the group counts [{}], and [{}] events wait", fmt::join(*counts, ", "),
                    fmt::join(waiting, ", ")));
  }
}

void Checker::check_group_event(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const auto number = WorkflowNumber(reader.u32());
  const Fingerprint group = reader.id();
  const uint8_t high = reader.u8();
  const auto entry = static_cast<size_t>(high) << 8 | reader.u8();
  const uint64_t event_number = reader.u64();
  if (!reader.done() || event_number == 0) {
    add(StoreFault::kRowKey, place, "the key is not a workflow, a group, an entry and a number");
    return;
  }
  note_given(Counter::kGrouped, event_number, place);
  Writer by_number;
  by_number.u8(kNumberRow);
  by_number.u64(event_number);
  if (view_.get(Table::kGroups, by_number.view()) != place.key) {
    add(StoreFault::kGroupEvent, place, "the row of its number does not lead to it");
  }
  const bool closes = purged_workflows_.contains(number) || is_closed(number, event_number);
  const auto counts = view_.get(Table::kGroups, group_key(kCountsRow, number, group));
  if (!counts) {  // it goes with the first event of a group that is closed
    if (!closes) add(StoreFault::kGroupEvent, place, "its group has no row of counts");
  } else if (const auto waiting = decode_counts(*counts); waiting && entry >= waiting->size()) {
    add(StoreFault::kGroupEvent, place, fmt::format("its group has {} entries", waiting->size()));
  }
  const auto record = decode(place, value, decode_grouped);
  if (!record) return;
  const auto event = check_event(record->event, place);
  if (purged_workflows_.contains(number)) return;
  const auto workflow = newest(number);
  if (!event || workflow == nullptr || workflow->start.kind != Start::Kind::kEventsAnd) return;
  const auto key = correlation_key(Attributes(*event), workflow->start.correlate);
  const uint32_t from = workflows_.at(number).groups_from;
  const auto expected = [&] {
    return from == 0 ? fingerprint({*key}) : fingerprint({*key, std::to_string(from)});
  };
  if (closes) {
    if (key && expected() == group) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("the event waits in a group of its workflow as it is, and a purge up to "
                      "event {} erases it",
                      closing_.at(number)));
    }
    return;
  }
  if (!record->expires && must_expire(number)) {
    add(StoreFault::kGroupEvent, place,
        "the event has no end of its lifespan, and its workflow gives one in each revision with "
        "these groups");
  }
  if (!key || expected() != group) {
    add(StoreFault::kGroupEvent, place, "the event does not correlate with its group");
  } else if (entry < workflow->start.events.size() &&
             workflow->start.events[entry].filter.type != event->type) {
    add(StoreFault::kGroupEvent, place,
        fmt::format("its entry waits for {}, and its type is {}",
                    workflow->start.events[entry].filter.type, event->type));
  }
}

/// Whether each revision with the groups that the workflow has gives their events a lifespan.
bool Checker::must_expire(WorkflowNumber number) {
  const WorkflowRow& row = workflows_.at(number);
  constexpr uint32_t kMostRevisions = 16;
  const uint32_t first = std::max<uint32_t>(row.groups_from, 1);
  if (row.latest - first >= kMostRevisions) return false;
  for (uint32_t revision = first; revision <= row.latest; ++revision) {
    const auto workflow = definition({number, revision});
    if (workflow == nullptr || !workflow->start.lifespan) return false;
  }
  return true;
}

bool Checker::is_closed(WorkflowNumber workflow, uint64_t event) const {
  const auto found = closing_.find(workflow);
  return found != closing_.end() && event <= found->second;
}

void Checker::check_group_number(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const uint64_t number = reader.u64();
  if (!reader.done() || number == 0) {
    add(StoreFault::kRowKey, place, "the key is not a number");
    return;
  }
  note_given(Counter::kGrouped, number, place);
  const bool is_key = value.size() > 1 && value.size() <= kMaxKeySize &&
                      value.front() == static_cast<char>(kQueueRow) &&
                      value.ends_with(rows::key_of(number));
  if (!is_key || !view_.get(Table::kGroups, value)) {
    add(StoreFault::kGroupNumber, place, "it does not lead to a waiting event of that number");
  }
}

}  // namespace millrace
