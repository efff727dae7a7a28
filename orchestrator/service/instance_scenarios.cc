#include "orchestrator/service/instance_scenarios.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cloudevents/nats_binding.h"
#include "language/document.h"
#include "orchestrator/made_scenario/made_scenario.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/service/missing_instance.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// The most bytes of a history from which a scenario is made; the scenario itself is smaller.
constexpr uint64_t kMostPlayedBytes = uint64_t{8} << 20;
/// How many pages of the event stream are searched for events whose positions are not known.
constexpr size_t kMostSearchedPages = 40;
/// An event is searched from so long before the time at which it was applied: the clocks of the
/// broker and of the server may differ.
constexpr Duration kClockDifference{10'000};

/// An event that the history names.
struct NamedEvent {
  std::string id;
  std::string source;
  EventPosition at;  ///< where it probably is
  /// The sequence that a wait for it began with; nullopt: the instance did not wait for it.
  std::optional<uint64_t> after;
  TimePoint applied;
};

NamedEvent named_event(const std::vector<HistoryRecord>& history, size_t index,
                       const Instance& instance) {
  const HistoryRecord& record = history[index];
  const Json detail = record.detail.value();
  const Json event = record.kind == HistoryKind::kStarted ? detail.value("event", Json()) : detail;
  NamedEvent named{.id = event.value("id", ""),
                   .source = event.value("source", ""),
                   .at = instance.listen_from.event,
                   .applied = record.time};
  // From this event on, the instance listens to later ones only, as it notes in the next state.
  const auto here = history.begin() + static_cast<std::ptrdiff_t>(index);
  const auto is_entry = [](const HistoryRecord& one) { return one.kind == HistoryKind::kEntered; };
  const auto next = std::find_if(here + 1, history.end(), is_entry);
  if (next != history.end()) named.at = next->event;
  const auto last = std::find_if(std::make_reverse_iterator(here), history.rend(), is_entry);
  if (last != history.rend()) {
    named.after = last->event.stream == named.at.stream ? last->event.sequence : 0;
  }
  return named;
}

/// Finds the events of one instance in the event stream.
class EventFinder {
 public:
  EventFinder(StoredEvents& events, std::string_view ns, const Instance& instance,
              const std::vector<NamedEvent>& wanted)
      : events_(events), ns_(ns), instance_(instance) {
    for (const NamedEvent& one : wanted) wanted_.emplace(one.source, one.id);
  }

  /// One of the wanted events; nullopt: the stream no longer has it.
  Result<std::optional<Event>> find(const NamedEvent& named) {
    TRY(look_at(named.at.sequence));
    if (const auto found = known(named)) return found;
    if (!std::exchange(has_read_consumed_, true)) TRY(read_consumed());
    if (const auto found = known(named)) return found;
    TRY(search(named, {.since = named.applied - kClockDifference}));
    // It may have come long before the instance took it, while the instance waited for a call.
    if (!known(named) && named.after) TRY(search(named, {.first = *named.after + 1}));
    return known(named);
  }

 private:
  std::optional<Event> known(const NamedEvent& named) const {
    const auto found = known_.find({named.source, named.id});
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  void note(const StoredEvent& stored) {
    if (stored.ns != ns_) return;
    Result<Event> event = decode_nats(stored.message);
    if (!event) return;
    std::pair key(event->source, event->id);
    if (wanted_.contains(key)) known_.emplace(std::move(key), *std::move(event));
  }

  Status look_at(uint64_t sequence) {
    if (sequence == 0) return {};
    const Result<StoredEvent> stored = events_.get(sequence);
    if (stored) note(*stored);
    if (stored || stored.error().code == "event.not_found") return {};
    return tl::unexpected(stored.error());
  }

  /// The events that an instance with `lookback` has taken.
  Status read_consumed() {
    const auto& taken = instance_.consumed.events;
    const size_t count = std::min(taken.size(), kMostPlayedEvents);
    for (size_t i = taken.size() - count; i < taken.size(); ++i) TRY(look_at(taken[i].sequence));
    return {};
  }

  /// Searches the messages of the namespace in the range, up to the time at which the event was
  /// applied.
  Status search(const NamedEvent& named, StoredEvents::Range range) {
    range.ns = std::string(ns_);
    range.limit = kMostStoredEvents;
    while (pages_ < kMostSearchedPages) {
      ++pages_;
      const StoredEvents::Page page = TRY(events_.read(range));
      for (const StoredEvent& stored : page.events) {
        note(stored);
        if (stored.stamped > named.applied + kClockDifference) return {};
      }
      if (page.next == 0 || known(named)) return {};
      range.first = page.next;
    }
    return fail("scenario.too_large",
                fmt::format("the event \"{}\" is among too many others in the event stream; looked "
                            "at {} pages of it",
                            named.id, pages_));
  }

  StoredEvents& events_;
  const std::string_view ns_;
  const Instance& instance_;
  std::set<std::pair<std::string, std::string>> wanted_;        ///< sources and ids
  std::map<std::pair<std::string, std::string>, Event> known_;  ///< by source and id
  bool has_read_consumed_ = false;
  size_t pages_ = 0;
};

Result<std::map<size_t, Event>> events_of(StoredEvents& events, std::string_view ns,
                                          const Instance& instance,
                                          const std::vector<HistoryRecord>& history) {
  std::map<size_t, Event> found;
  const std::vector<size_t> needed = needed_events(history);
  if (needed.size() > kMostPlayedEvents) {
    return fail("scenario.too_large",
                fmt::format("instance {} has taken {} events; a scenario has at most {}",
                            to_string(instance.id), needed.size(), kMostPlayedEvents));
  }
  std::vector<NamedEvent> named;
  for (const size_t index : needed) named.push_back(named_event(history, index, instance));
  EventFinder finder(events, ns, instance, named);
  size_t bytes = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    auto event = TRY(finder.find(named[i]));
    if (!event) continue;  // make_scenario() names the event that is missing
    bytes += event->data ? event->data->size() : 0;
    found.emplace(needed[i], *std::move(event));
    if (bytes <= kMaxDocumentSize) continue;
    return fail("scenario.too_large",
                fmt::format("the events that instance {} has taken have more than {} bytes",
                            to_string(instance.id), kMaxDocumentSize));
  }
  return found;
}

/// What the instances of subflows have returned, as far as they still exist and were not started
/// again.
Result<std::map<InstanceId, Json>> outputs_of(const View& view, NamespaceNumber ns,
                                              const std::vector<HistoryRecord>& history) {
  std::map<InstanceId, Json> outputs;
  size_t bytes = 0;
  for (const InstanceId& id : needed_outputs(history)) {
    const auto child = TRY(read_instance(view, ns, id));
    const bool has_output = child && child->status == InstanceStatus::kComplete && child->caller;
    if (!has_output || child->sealed) continue;
    bytes += child->data.text().size();
    if (bytes > kMaxDocumentSize) {
      return fail("scenario.too_large", "the results of subflows have more bytes than a scenario");
    }
    outputs.emplace(id, child->data.value());
  }
  return outputs;
}

/// The instance and its history with masks, as queries show them. The names of the events stay: a
/// scenario gives the events.
void mask_played(const Disclosure& disclosure, Instance& instance,
                 std::vector<HistoryRecord>& history) {
  if (disclosure.shows_all()) return;
  const auto mask = [&](LazyJson& value) { value = shown(value, disclosure); };
  mask(instance.input);
  mask(instance.data);
  if (auto& error = instance.error) {
    error->message = disclosure.over(error->message).get<std::string>();
  }
  for (HistoryRecord& record : history) {
    const bool names_event = record.kind == HistoryKind::kStarted ||
                             record.kind == HistoryKind::kWoken ||
                             record.kind == HistoryKind::kPublished;
    if (!names_event) record.detail = shown_detail(record.detail.value(), disclosure);
    if (record.data) mask(*record.data);
  }
}

}  // namespace

Result<NamedText> InstanceScenarios::make(std::string_view ns, const InstanceId& id) {
  const Snapshot view = TRY(Snapshot::take(environment_));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  auto instance = TRY(read_instance(view, record.number, id));
  if (!instance) return tl::unexpected(missing_instance(view, definitions_, ns, record.number, id));
  const auto workflow = TRY(definitions_.find_or_load(view, instance->revision));
  const auto definition = TRY(read_definition(view, instance->revision));
  const bool is_too_large =
      instance->history_bytes > kMostPlayedBytes || instance->history_count > kMostPlayedRecords;
  if (is_too_large && instance->history_trimmed == 0) {
    return fail("scenario.too_large",
                fmt::format("the history of instance {} has {} records and {} bytes; a scenario is "
                            "made of at most {} records and {} bytes",
                            to_string(id), instance->history_count, instance->history_bytes,
                            kMostPlayedRecords, kMostPlayedBytes));
  }
  // A scenario is made only of a whole history that may be shown.
  const bool is_whole = instance->history_trimmed == 0 && !instance->sealed;
  std::vector<HistoryRecord> history;
  if (is_whole) history = TRY(read_history(view, *instance));
  std::map<size_t, Event> events;
  std::map<InstanceId, Json> outputs;
  if (is_whole) {
    events = TRY(events_of(events_, ns, *instance, history));
    outputs = TRY(outputs_of(view, record.number, history));
    Disclosures disclosures = TRY(Disclosures::read(view, ns, record.number));
    const Disclosure disclosure = disclosures.of(Sealing::kNone);
    mask_played(disclosure, *instance, history);
    for (auto& [child, output] : outputs) output = disclosure.over(std::move(output));
  }
  const PlayedInstance played{.instance = *instance,
                              .workflow = *workflow,
                              .definition = definition ? std::string_view(definition->text) : "",
                              .history = history,
                              .events = std::move(events),
                              .outputs = std::move(outputs)};
  return NamedText{.name = fmt::format("{}-{}.test.yaml", workflow->id, to_string(id)),
                   .text = TRY(make_scenario(played))};
}

}  // namespace millrace
