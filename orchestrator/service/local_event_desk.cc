#include "orchestrator/service/local_event_desk.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "matchers/glob.h"
#include "model/hops.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/service/awaited_publish.h"
#include "orchestrator/service/event_effects.h"
#include "orchestrator/service/event_item.h"
#include "orchestrator/service/event_replay.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/walk_back.h"
#include "orchestrator/service/why_parts.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// After this time a request reads no further window of the stream.
constexpr Duration kListTime{2'000};

/// What to do about an event whose id is known.
constexpr std::string_view kUseNewId = "replay it under a new id";

/// A random id of a replayed event.
std::string random_event_id() {
  std::array<uint8_t, 16> id{};
  randombytes_buf(id.data(), id.size());
  return "replay-" + to_hex(id);
}

bool glob_fits(const std::string& glob, const std::string& text) {
  return glob.empty() || glob_matches(glob, text);
}

/// Whether a generateEvent state has published the event: only those have hops.
bool is_generated(const Event& event) { return hops_of(event) > 0; }

bool has_attributes(const Event& event,
                    const std::vector<std::pair<std::string, std::string>>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const auto& one) { return attribute(event, one.first) == one.second; });
}

/// The values that the event has of the wanted attributes, without those that are equal; nullopt:
/// one differs in more than upper and lower case (of ASCII letters), or is missing.
std::optional<Json> values_in_other_case(
    const Event& event, const std::vector<std::pair<std::string, std::string>>& wanted) {
  Json values = Json::object();
  for (const auto& [name, value] : wanted) {
    std::optional<std::string> got = attribute(event, name);
    if (!got || got->size() != value.size()) return std::nullopt;
    if (in_small_letters(*got) != in_small_letters(value)) return std::nullopt;
    if (*got != value) values[name] = *std::move(got);
  }
  return values;
}

}  // namespace

/// A page of a list while it is made.
struct EventPage {
  std::string_view ns;
  const EventListFilter& filter;
  std::optional<TimePoint> since;
  StreamSpan span;
  EventEffects effects;
  Json items = Json::array();
  size_t looked = 0;
  Json next = nullptr;
  Json in_other_case = nullptr;  ///< see EventDesk::list(); of the first such event
  Status failed = {};            ///< of a read of the store

  bool is_full() const { return items.size() >= filter.limit; }
  /// Adds the event, if the filter fits.
  void add(StoredEvent& stored);

 private:
  Status add_checked(StoredEvent& stored);
  void note_case(uint64_t sequence, const Event& event);
};

void EventPage::add(StoredEvent& stored) {
  if (failed) failed = add_checked(stored);
}

/// Notes an event that has the wanted attributes apart from upper and lower case.
void EventPage::note_case(uint64_t sequence, const Event& event) {
  if (!in_other_case.is_null() || !items.empty()) return;
  std::optional<Json> values = values_in_other_case(event, filter.attributes);
  if (values) in_other_case = {{"sequence", sequence}, {"attributes", *std::move(values)}};
}

Status EventPage::add_checked(StoredEvent& stored) {
  if (filter.until && stored.stamped >= *filter.until) return {};
  const size_t size = stored.message.data.size();
  const Result<Event> event = read_attributes(stored.message);
  if (event) {
    if (!glob_fits(filter.type, event->type) || !glob_fits(filter.source, event->source)) return {};
    if (!filter.id.empty() && filter.id != event->id) return {};
    if (filter.generated && *filter.generated != is_generated(*event)) return {};
    if (!has_attributes(*event, filter.attributes)) {
      note_case(stored.sequence, *event);
      return {};
    }
  } else if (!filter.type.empty() || !filter.source.empty() || !filter.id.empty() ||
             !filter.attributes.empty() || filter.generated == true) {
    return {};
  }
  const std::vector<EventEffect> found = TRY(effects.of(stored.sequence));
  if (filter.effect && *filter.effect != has_effect(found)) return {};
  Json item = event_item(stored, size, event);
  TRY(effects.add_to(item, stored.sequence, found));
  if (event) TRY(effects.add_target(item, *event));
  items.push_back(std::move(item));
  return {};
}

Result<Json> LocalEventDesk::list(std::string_view ns, const EventListFilter& filter) {
  const StreamSpan span = TRY(parts_.events.span());
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  EventPage page{.ns = ns,
                 .filter = filter,
                 .since = std::max(filter.since.value_or(record.created_at), record.created_at),
                 .span = span,
                 .effects = TRY(EventEffects::make(view, record.number, span.created, applied))};
  TRY(filter.after ? list_forwards(page) : list_backwards(page));
  TRY(page.failed);
  const bool is_empty = page.items.empty();
  Json answer{{"items", std::move(page.items)},
              {"complete", true},
              {"looked", page.looked},
              {"newest", span.last},
              {"next", std::move(page.next)}};
  if (is_empty && !page.in_other_case.is_null()) {
    answer["inOtherCase"] = std::move(page.in_other_case);
  }
  return answer;
}

Status LocalEventDesk::list_backwards(EventPage& page) {
  const EventListFilter& filter = page.filter;
  BackwardRange range{.first = page.span.first,
                      .last = page.span.last,
                      .most = kMostEventsLooked,
                      .window = std::max<size_t>(filter.limit, 64)};
  if (filter.before > 0) range.last = std::min(range.last, filter.before - 1);
  if (filter.until) {
    range.last = TRY(last_before(parts_.events, page.ns, range, *filter.until));
  }
  const TimePoint began = parts_.clock.now();
  range.is_late = [&] { return parts_.clock.now() - began >= kListTime; };
  bool is_before_since = false;
  const BackwardEnd end = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.events.read({.ns = std::string(page.ns), .first = first, .last = last});
      },
      [&](StoredEvent& stored) {
        is_before_since = stored.stamped < *page.since;
        if (!is_before_since) page.add(stored);
        return !is_before_since && page.failed && !page.is_full();
      }));
  page.looked = end.looked;
  if (!is_before_since && end.before != 0) page.next = std::to_string(end.before);
  return {};
}

Status LocalEventDesk::list_forwards(EventPage& page) {
  const EventListFilter& filter = page.filter;
  // A stream that was created again has lower sequences.
  uint64_t last = std::min(*filter.after, page.span.last);
  const uint64_t end = filter.before > 0 ? filter.before - 1 : page.span.last;
  if (end > last) {
    StoredEvents::Page read = TRY(parts_.events.read({.ns = std::string(page.ns),
                                                      .first = last + 1,
                                                      .since = page.since,
                                                      .last = end,
                                                      .limit = kMostEventsLooked}));
    bool is_at_end = read.next == 0;
    for (StoredEvent& stored : read.events) {
      if (page.is_full()) {
        is_at_end = false;
        break;
      }
      ++page.looked;
      last = stored.sequence;
      page.add(stored);
    }
    if (is_at_end) last = end;
  }
  page.next = std::to_string(last);
  return {};
}

Result<StoredEvent> LocalEventDesk::event_of(std::string_view ns, const NamespaceRecord& record,
                                             uint64_t sequence) {
  StoredEvent stored = TRY(parts_.events.get(sequence));
  if (stored.ns == ns && stored.stamped >= record.created_at) return stored;
  return fail("event.not_found",
              fmt::format("message {} of the event stream is not an event of namespace \"{}\"",
                          sequence, ns));
}

Result<Json> LocalEventDesk::get(std::string_view ns, uint64_t sequence) {
  const StreamSpan span = TRY(parts_.events.span());
  const Cursor applied = parts_.applied();  // before the snapshot, which has its effects
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  StoredEvent stored = TRY(event_of(ns, record, sequence));
  EventEffects effects = TRY(EventEffects::make(view, record.number, span.created, applied));
  Json item = {{"sequence", sequence},
               {"time", format_rfc3339(stored.stamped)},
               {"size", stored.message.data.size()},
               {"position", {{"stream", effects.stream()}, {"sequence", sequence}}}};
  const Result<Event> event = decode_nats(stored.message);
  if (event) {
    item.update(attributes_item(*event));
    item["event"] = event_to_json(*event);
    TRY(effects.add_target(item, *event));
    const auto replayed = event->extensions.find(std::string(kReplayAttribute));
    if (replayed != event->extensions.end()) item["replayof"] = attribute_json(replayed->second);
  } else {
    item["error"] = to_json(event.error());
    Json headers = Json::array();
    for (const auto& [name, value] : stored.message.headers) headers.push_back({name, value});
    item["headers"] = std::move(headers);
    const bool is_text = is_utf8(stored.message.data);
    item["data"] = is_text ? stored.message.data : base64_encode(stored.message.data);
    item["encoding"] = is_text ? "utf-8" : "base64";
  }
  TRY(effects.add_to(item, sequence, TRY(effects.of(sequence))));
  return item;
}

Result<Event> LocalEventDesk::planned_replay(std::string_view ns, const EventReplay& replay) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const bool moves = !replay.to_ns.empty();
  const NamespaceRecord to = moves ? TRY(namespace_record(view, replay.to_ns)) : record;
  const std::string target =
      TRY(target_text(view, to.number, moves ? replay.to_ns : ns, replay.target));
  const StoredEvent stored = TRY(event_of(ns, record, replay.sequence));
  const Result<Event> original = decode_nats(stored.message);
  if (!original) {
    return fail(
        "event.unreadable",
        fmt::format("message {} is not an event ({}), so it cannot be replayed; publish the "
                    "corrected event, or replay its dead letter",
                    replay.sequence, original.error().message));
  }
  const bool same_id = replay.same_id && !replay.is_corrected();
  if (same_id && TRY(is_known(view, ns, *original))) {
    return fail(
        "event.id_known",
        fmt::format("event {} had an effect within the deduplication window, so it would be "
                    "a duplicate; {}",
                    replay.sequence, kUseNewId));
  }
  const Event event = TRY(corrected(*original, replay.attributes));
  return replay_of(event, same_id ? std::string() : random_event_id(), target);
}

Result<Json> LocalEventDesk::replay(std::string_view ns, const EventReplay& replay) {
  const Event event = TRY(planned_replay(ns, replay));
  const std::string_view to = replay.to_ns.empty() ? ns : replay.to_ns;
  TRY(parts_.admit(to, 1));
  const std::string_view key = parts_.environment.seal().message_key();
  std::vector<NatsMessage> messages = {message_to_publish(key, to, event)};
  const PublishAck ack =
      TRY(std::move(publish_and_wait(parts_.publisher, std::move(messages)).front()));
  if (ack.duplicate) {
    return fail("event.id_known",
                fmt::format("the event stream still has an event with the id of event {} in its "
                            "duplicate window, and did not store it again; {}",
                            replay.sequence, kUseNewId));
  }
  return Json{{"sequence", ack.sequence}, {"id", event.id}};
}

}  // namespace millrace
