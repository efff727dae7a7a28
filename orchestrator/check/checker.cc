#include "orchestrator/check/checker.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/time.h"
#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/tables.h"

namespace millrace {
namespace {

/// How many rows are checked between two calls of `progress`.
constexpr uint64_t kRowsOfAStep = 4096;

/// How many loaded workflows are cached.
constexpr size_t kMostDefinitions = 256;

/// What the key of a row of `queues` says behind the fingerprint. Reads the rest of the key.
std::string rest_of_queue_key(QueueRow kind, Reader& key) {
  const auto numbered = [&](std::string_view what) {
    return fmt::format(" {} {}", what, key.u64());
  };
  const auto ranked = [&](std::string_view what) {
    const uint32_t rank = key.u32();
    return fmt::format(" rank {}{}", rank, numbered(what));
  };
  switch (kind) {
    case QueueRow::kCounts:
    case QueueRow::kCallCounts:
      return "";
    case QueueRow::kThrottleCounts:
    case QueueRow::kCallThrottleCounts:
      return " throttle";
    case QueueRow::kHolder:
    case QueueRow::kCallHolder:
      return numbered("slot");
    case QueueRow::kWaiting:
    case QueueRow::kCallWaiting:
      return ranked("waiting");
    case QueueRow::kThrottled:
    case QueueRow::kCallThrottled:
      return ranked("throttled");
    case QueueRow::kCallPaused:
      return numbered("paused");
    case QueueRow::kCallThrottlePaused:
      return numbered("throttle paused");
  }
  key.fail();
  return "";
}

}  // namespace

std::string part_name(uint8_t part) {
  static constexpr const char* kNames[] = {"head",        "input",          "data",
                                           "slots",       "found data",     "call",
                                           "failed data", "starting event", "compensation"};
  return part < std::size(kNames) ? kNames[part] : fmt::format("part {}", part);
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      out.push_back(c);
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

Result<StoreReport> Checker::run() {
  about_rows_ = about_rows_of(view_);
  check_meta();
  if (format_ == kStoreFormat && options_.has_tree) {
    for (const auto& [table, name, since] : kTables) {
      if (options_.has_tree(table)) continue;
      if (since > kStoreFormat && read_minor(view_).value_or(0) < kMinorOfQueues) continue;
      add(StoreFault::kTreeMissing, {table, {}}, "the tree is missing, with all its rows");
    }
  }
  const Status known = check_known_numbers(view_);
  if (!known && !note_failed_read(Table::kMeta)) {
    // A damaged row of `meta` has a finding, and so has the format 0. A store that lacks rows may
    // lack its format, too.
    const bool is_joining = known.error().code == "store.joining";
    const bool has_finding =
        !is_joining && (format_.value_or(0) == 0 || is_damaged_row(known.error()));
    if (!has_finding) return tl::unexpected(known.error());
  }
  report_unknown_trees();
  using Step = void (Checker::*)();
  static constexpr Step kCatalog[] = {&Checker::check_namespaces,
                                      &Checker::check_workflows,
                                      &Checker::check_retired_workflows,
                                      &Checker::check_group_purges,
                                      &Checker::check_instance_purges,
                                      &Checker::check_archives,
                                      &Checker::find_owners,
                                      &Checker::check_definitions,
                                      &Checker::check_group_revisions,
                                      &Checker::check_schedules,
                                      &Checker::check_groups,
                                      &Checker::check_inbox,
                                      &Checker::check_pending_starts,
                                      &Checker::check_delayed};
  static constexpr Step kOthers[] = {
      &Checker::check_first_starts, &Checker::check_orphans,     &Checker::check_unrecorded_events,
      &Checker::check_tasks,        &Checker::check_outbox,      &Checker::check_event_ids,
      &Checker::check_sent,         &Checker::check_kept_events, &Checker::check_fan_outs,
      &Checker::check_dedupe,       &Checker::check_webhooks,    &Checker::check_variables,
      &Checker::check_idempotency,  &Checker::check_secrets,     &Checker::check_dead_letters,
      &Checker::check_index,        &Checker::check_effects,     &Checker::check_listen_from,
      &Checker::check_queues,       &Checker::check_minor};
  for (const Step step : kCatalog) {
    if (!is_over()) (this->*step)();
  }
  for (const Table table : {Table::kLive, Table::kEnded}) {
    if (!is_over()) check_instances(table);
  }
  for (const Step step : kOthers) {
    if (!is_over()) (this->*step)();
  }
  if (stopped_) return fail("check.stopped", "the check was stopped before its end");
  return std::move(report_);
}

// Reporting.

std::string Checker::name_of(NamespaceNumber ns) const {
  const auto found = spaces_.find(ns);
  if (found != spaces_.end()) return printable(found->second);  // the key may be damaged
  return fmt::format("number {}", static_cast<uint32_t>(ns));
}

void Checker::add(StoreFault fault, const Place& place, std::string found) {
  if (!note_failed_read(place.table)) report(fault, place, std::move(found));
}

bool Checker::note_failed_read(Table table) {
  if (view_.status()) return false;
  if (!std::exchange(failed_, true)) {
    report(StoreFault::kStoreDamaged, {table, {}}, view_.status().error().message);
  }
  return true;
}

void Checker::report(StoreFault fault, const Place& place, std::string found) {
  ++report_.codes[std::string(kind_of(fault).code)];
  if (report_.findings.size() >= options_.most_findings) return;
  StoreFinding finding{.fault = fault, .table = table_name(place.table), .found = std::move(found)};
  describe(place, finding);
  report_.findings.push_back(std::move(finding));
}

/// A tree that belongs to no table has no Place, and the tree of the journal belongs to none.
void Checker::report_unknown_trees() {
  const auto report_one = [&](StoreFinding finding) {
    ++report_.codes[std::string(kind_of(finding.fault).code)];
    if (report_.findings.size() >= options_.most_findings) return;
    report_.findings.push_back(std::move(finding));
  };
  for (const std::string& name : options_.unknown_trees) {
    report_one({.fault = StoreFault::kTreeUnknown,
                .table = printable(name),
                .found = "no release creates a tree of this name"});
  }
  for (const std::string& key : options_.unknown_journal_keys) {
    report_one({.fault = StoreFault::kRowKey,
                .table = "journal",
                .key = printable(key),
                .found = "no release writes a row with this key into the tree"});
  }
}

void Checker::describe(const Place& place, StoreFinding& finding) const {
  if (place.key.empty()) return;
  Reader key(place.key);
  const auto ns = [&] {
    finding.ns = name_of(NamespaceNumber(key.u32()));
    return finding.ns;
  };
  const auto instance = [&] {
    finding.instance = InstanceId{key.id()};
    return to_string(*finding.instance);
  };
  const auto workflow = [&] { return fmt::format("workflow {}", key.u32()); };
  switch (place.table) {
    case Table::kMeta:
    case Table::kNamespaces:
      finding.key = printable(key.rest());
      break;
    case Table::kWorkflows:
    case Table::kSecrets: {
      const std::string of = ns();
      finding.key = fmt::format("{}/{}", of, printable(key.rest()));
      break;
    }
    case Table::kDefinitions: {
      const std::string of = workflow();
      finding.key = fmt::format("{} revision {}", of, key.u32());
      break;
    }
    case Table::kLive:
    case Table::kEnded: {
      const std::string of = ns();
      const std::string id = instance();
      const uint8_t part = key.u8();
      finding.key = fmt::format("{}/{} {}", of, id, part_name(part));
      const bool has_number = part == static_cast<uint8_t>(Part::kCall) ||
                              part == static_cast<uint8_t>(Part::kCompensation);
      if (has_number) finding.key += fmt::format(" {}", key.u32());
      break;
    }
    case Table::kGroups: {
      const uint8_t kind = key.u8();
      if (kind == 3) {
        finding.key = fmt::format("number {}", key.u64());
        break;
      }
      const std::string of = workflow();
      const InstanceId group{key.id()};
      finding.key = fmt::format("{} group {}", of, to_string(group));
      if (kind != 2) break;
      const uint8_t high = key.u8();
      const unsigned entry = static_cast<unsigned>(high) << 8 | key.u8();
      finding.key += fmt::format(" entry {} number {}", entry, key.u64());
      break;
    }
    case Table::kKeptEvents: {
      const std::string of = ns();
      const InstanceId type{key.id()};
      finding.key = fmt::format("{}/{} number {}", of, to_string(type), key.u64());
      break;
    }
    case Table::kVariables: {
      const std::string of = ns();
      const uint8_t scope = key.u8();
      std::string owner;
      if (scope == 0) owner = instance() + "/";
      if (scope == 1) owner = workflow() + "/";
      const auto piece = value_piece_place(place.key);
      const std::string name = printable(key.rest());
      finding.key = fmt::format("{}/{}{}", of, owner, piece ? to_string(*piece) : name);
      break;
    }
    case Table::kByStatus: {
      const std::string of = ns();
      const std::string by = workflow();
      const uint8_t status = key.u8();
      finding.key = fmt::format("{}/{} status {} {}", of, by, status, instance());
      break;
    }
    case Table::kCounts: {
      const std::string of = ns();
      const std::string by = workflow();
      const uint32_t revision = key.u32();
      const uint32_t state = key.u32();
      finding.key =
          fmt::format("{}/{} revision {} state {} status {}", of, by, revision, state, key.u8());
      break;
    }
    case Table::kUsage:
      finding.key = ns();
      break;
    case Table::kEffects: {
      const uint32_t stream = key.u32();
      const uint64_t sequence = key.u64();
      finding.key = fmt::format("stream {} sequence {} number {}", stream, sequence, key.u64());
      break;
    }
    case Table::kQueues: {
      const bool is_of_calls = is_call_row(place.key);
      const auto kind = static_cast<QueueRow>(key.u8());
      const std::string of = is_of_calls ? ns() : workflow();
      const InstanceId slots{key.id()};
      finding.key = fmt::format("{}{} key {}{}", of, is_of_calls ? " calls" : "", to_string(slots),
                                rest_of_queue_key(kind, key));
      break;
    }
    case Table::kTasks:
      finding.key = to_string(InstanceId{key.id()});
      break;
    case Table::kSchedules:
      finding.key = workflow();
      break;
    case Table::kIdempotency: {
      const std::string of = workflow();
      finding.key = fmt::format("{} key {}", of, printable(key.rest()));
      break;
    }
    case Table::kDedupe: {
      const uint64_t time = key.u64();
      finding.key = fmt::format("{} sequence {}", time, key.u64());
      break;
    }
    default:
      finding.key = std::to_string(key.u64());
  }
  if (key.done()) return;
  finding.key = "0x" + to_hex(place.key);
  finding.ns.clear();
  finding.instance.reset();
}

// Reading rows.

void Checker::each_row(Table table, const Row& row) {
  if (is_over()) return;
  uint64_t& count = report_.rows[table_name(table)];
  const bool is_counted = owners_ && is_counted_table(table);
  view_.scan(table, {}, [&](std::string_view key, std::string_view value) {
    ++count;
    if (++rows_ % kRowsOfAStep == 0 && options_.progress) {
      stopped_ = !options_.progress(rows_, std::max(rows_, about_rows_));
    }
    if (is_over()) return false;
    const uint64_t findings = is_counted ? report_.count() : 0;
    row(key, value);
    if (is_counted) note_counted({table, key}, value, report_.count() == findings);
    return true;
  });
  note_failed_read(table);
}

bool Checker::has_row(Table table) const {
  bool has = false;
  view_.scan(table, {}, [&](auto, auto) {
    has = true;
    return false;
  });
  return has;
}

std::optional<std::string> Checker::open(const Place& place, std::string_view value) {
  if (!Seal::is_sealed(value)) return std::string(value);
  if (Seal::is_masked(value)) note_minor(1, "sealed rows that begin with 254");
  auto opened = view_.seal().open(value, rows::seal_context(place.table, place.key));
  if (!opened && has_key_) {
    add(StoreFault::kRowSeal, place, "the row is sealed, but does not open");
  } else if (!opened) {
    ++report_.unreadable;
  }
  return opened;
}

std::optional<uint64_t> Checker::number_key(const Place& place) {
  Reader reader(place.key);
  const uint64_t number = reader.u64();
  if (reader.done() && number > 0 && number <= kMostNumber) return number;
  add(StoreFault::kRowKey, place,
      fmt::format("the key of {} bytes is not a number from 1 to {}", place.key.size(),
                  kMostNumber));
  return std::nullopt;
}

// Checks for many kinds of rows.

void Checker::note_given(Counter counter, uint64_t number, const Place& place) {
  const size_t index = index_of(counter);
  if (number <= counters_[index] || behind_[index]) return;
  behind_[index] = true;
  add(StoreFault::kCounterBehind, place,
      fmt::format("number {} was assigned, but the counter `{}` is at {}", number,
                  static_cast<char>(counter), counters_[index]));
}

void Checker::check_time(TimePoint time, const Place& place, std::string_view what) {
  if (!time_ || (to_millis(time) >= 0 && time <= *time_)) return;
  add(StoreFault::kRowTime, place,
      fmt::format("{} is at {} ms, but the store's time is {} ms", what, to_millis(time),
                  to_millis(*time_)));
}

bool Checker::check_json(std::string_view text, const Place& place, std::string_view what) {
  if (is_json(text) || parse_own_json(text)) return true;  // parse_own_json() has no limit of depth
  // The finding does not have the parser's message, which quotes the text: the text may come from a
  // sealed row.
  add(StoreFault::kRowJson, place, fmt::format("{} is not JSON", what));
  return false;
}

void Checker::check_utf8(std::string_view text, const Place& place, std::string_view what) {
  if (!is_utf8(text)) {
    add(StoreFault::kRowValue, place, fmt::format("{} is not UTF-8", what));
  }
}

std::optional<Event> Checker::check_event(std::string_view text, const Place& place) {
  Result<Event> event = decode_json_event(text, kStoredEvents);
  if (event) return std::move(*event);
  add(StoreFault::kRowEvent, place,
      fmt::format("the event does not decode: {}", event.error().code));
  return std::nullopt;
}

void Checker::check_hops(uint32_t hops, const Place& place) {
  if (hops <= kMaxHops + 1) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the number of hops is {}, expected at most {}", hops, kMaxHops + 1));
}

/// Checks that a generated event may be published: an event with more hops becomes a dead letter.
void Checker::check_hops_of(const Event& generated, const Place& place) {
  if (hops_of(generated) <= kMaxHops) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the event {} has more than {} hops, so it should be a dead letter",
                  printable(generated.id), kMaxHops));
}

/// The time of an event that millrace has made; nullopt: the event has no time, and check_time_of()
/// has added a finding. Every release gives such an event a time.
std::optional<TimePoint> Checker::check_time_of(const Event& generated, const Place& place) {
  const auto at = parse_rfc3339(generated.time.value_or(""));
  if (at) return *at;
  add(StoreFault::kRowValue, place,
      fmt::format("the event {} has no time, but millrace gives a time to each event that it makes",
                  printable(generated.id)));
  return std::nullopt;
}

bool Checker::check_namespace(NamespaceNumber ns, const Place& place) {
  if (spaces_.contains(ns)) return true;
  if (purged_.contains(ns)) return false;
  const auto number = static_cast<uint32_t>(ns);
  note_given(Counter::kNamespace, number, place);
  add(StoreFault::kNamespaceMissing, place, fmt::format("no namespace has the number {}", number));
  return false;
}

// Definitions.

bool Checker::has_definition(Revision revision) const {
  Writer key;
  key.u32(static_cast<uint32_t>(revision.workflow));
  key.u32(revision.number);
  return view_.get(Table::kDefinitions, key.view()).has_value();
}

std::shared_ptr<const Workflow> Checker::definition(Revision revision) {
  if (const auto found = definitions_.find(revision); found != definitions_.end()) {
    return found->second;
  }
  if (definitions_.size() >= kMostDefinitions) definitions_.clear();
  std::shared_ptr<const Workflow>& workflow = definitions_[revision];
  if (!options_.load) return workflow;
  const auto record = read_definition(view_, revision);
  if (!record || !*record) return workflow;
  if (auto loaded = options_.load((*record)->text)) workflow = std::move(*loaded);
  return workflow;
}

std::shared_ptr<const Workflow> Checker::newest(WorkflowNumber workflow) {
  const auto found = workflows_.find(workflow);
  if (found == workflows_.end()) return nullptr;
  return definition({workflow, found->second.latest});
}

// Instances.

Checker::Known Checker::find(Table table, NamespaceNumber ns, const InstanceId& id) const {
  std::string key = rows::instance_prefix(ns, id);
  key.push_back(static_cast<char>(Part::kHead));
  const auto value = view_.get(table, key);
  if (!value) return {.exists = unsound_.contains(id)};
  const Result<Instance> head = rows::decode(view_, table, key, *value, decode_head);
  return {.exists = true, .head = head ? std::optional(*head) : std::nullopt};
}

const Checker::Known& Checker::find_live(NamespaceNumber ns, const InstanceId& id) {
  const std::pair place{ns, id};
  if (!last_live_ || last_live_->first != place) {
    last_live_ = {place, find(Table::kLive, ns, id)};
  }
  return last_live_->second;
}

bool Checker::exists(NamespaceNumber ns, const InstanceId& id) const {
  return find(Table::kLive, ns, id).exists || find(Table::kEnded, ns, id).exists;
}

// The interface.

Result<StoreReport> check_store(const View& view, const StoreCheckOptions& options) {
  return Checker(view, options).run();
}

}  // namespace millrace
