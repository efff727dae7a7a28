#include "orchestrator/service/local_letter_desk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/whole_number.h"
#include "cloudevents/json_format.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/service/awaited_publish.h"
#include "orchestrator/service/event_admission.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/walk_back.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// After this time a request reads no further window of the queue.
constexpr Duration kLetterListTime{2'000};

/// After this time a search reads no further window of the queue.
constexpr Duration kLetterFindTime{50};

}  // namespace

Result<std::optional<NamespaceIdentity>> LocalLetterDesk::identity_of(std::string_view ns) const {
  std::optional<NamespaceIdentity> identity;
  if (!is_identifier(ns)) return identity;
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  if (const auto record = TRY(read_namespace(view, ns))) {
    identity = {.number = record->number, .created_at = record->created_at};
  }
  return identity;
}

Result<NamespaceIdentity> LocalLetterDesk::existing(std::string_view ns) const {
  if (const auto identity = TRY(identity_of(ns))) return *identity;
  return tl::unexpected(no_namespace(ns));
}

Result<StoredEvent> LocalLetterDesk::letter_of(std::string_view ns, uint64_t id) const {
  const std::optional<NamespaceIdentity> identity = TRY(identity_of(ns));
  StoredEvent letter = TRY(parts_.letters.get(ns, id));
  if (!identity || is_letter_of(letter, *identity)) return letter;
  return fail("dlq.not_found",
              fmt::format("dead letter {} belongs to an earlier namespace \"{}\"", id, ns));
}

Result<uint64_t> LocalLetterDesk::left(std::string_view ns, const std::string& reason) const {
  uint64_t sum = 0;
  for (const auto& [one, count] : TRY(parts_.letters.count(ns))) {
    if (reason.empty() || one == reason) sum += count;
  }
  return sum;
}

Result<Json> LocalLetterDesk::list(std::string_view ns, const LetterFilter& filter) {
  const std::optional<NamespaceIdentity> identity = TRY(identity_of(ns));
  const StreamSpan span = TRY(parts_.letters.span());
  const TimePoint began = parts_.clock.now();
  BackwardRange range{.first = span.first,
                      .last = span.last,
                      .window = std::max<size_t>(filter.limit, 64),
                      .is_late = [&] { return parts_.clock.now() - began >= kLetterListTime; }};
  if (filter.before > 0) range.last = std::min(range.last, filter.before - 1);
  Json items = Json::array();
  const BackwardEnd end = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.letters.read(
            {.ns = std::string(ns), .reason = filter.reason, .first = first, .last = last});
      },
      [&](StoredEvent& letter) {
        const bool is_wanted = filter.source.empty() || source_of_letter(letter) == filter.source;
        if (is_wanted && (!identity || is_letter_of(letter, *identity))) {
          items.push_back(letter_item(letter));
        }
        return items.size() < filter.limit;
      }));
  Json reasons = Json::array();
  for (const auto& [reason, count] : TRY(parts_.letters.count(ns))) {
    reasons.push_back({{"reason", reason}, {"count", count}});
  }
  // An event for a namespace that does not exist becomes a dead letter under the name of that
  // namespace.
  if (!identity && items.empty() && filter.before == 0) return tl::unexpected(no_namespace(ns));
  return Json{{"items", std::move(items)},
              {"reasons", std::move(reasons)},
              {"complete", true},
              {"next", end.before == 0 ? Json() : Json(std::to_string(end.before))}};
}

Result<Json> LocalLetterDesk::get(std::string_view ns, uint64_t id) {
  return whole_letter(TRY(letter_of(ns, id)));
}

Result<FoundLetters> LocalLetterDesk::find(std::string_view ns, std::string_view text) const {
  const NamespaceIdentity identity = TRY(existing(ns));
  const StreamSpan span = TRY(parts_.letters.span());
  FoundLetters found;
  const auto add = [&](const StoredEvent& letter, const std::string& reason) {
    found.items.push_back(
        {{"kind", "deadLetter"},
         {"id", std::to_string(letter.sequence)},
         {"label", fmt::format("{}, {}", reason, format_rfc3339(letter.stamped))}});
  };
  const uint64_t id = whole_number(text).value_or(0);  // 0: the text is no id
  if (id > 0) {
    const Result<StoredEvent> letter = parts_.letters.get(ns, id);
    if (!letter && letter.error().code != "dlq.not_found") return tl::unexpected(letter.error());
    if (letter && is_letter_of(*letter, identity)) add(*letter, names_of_letter(*letter).reason);
  }
  const TimePoint began = parts_.clock.now();
  const BackwardRange range{.first = span.first, .last = span.last, .is_late = [&] {
                              return parts_.clock.now() - began >= kLetterFindTime;
                            }};
  const BackwardEnd end = TRY(walk_back(
      range,
      [&](uint64_t first, uint64_t last) {
        return parts_.letters.read(
            {.ns = std::string(ns), .reason = {}, .first = first, .last = last});
      },
      [&](StoredEvent& letter) {
        if (letter.sequence == id || !is_letter_of(letter, identity)) return true;
        const LetterNames names = names_of_letter(letter);
        if (names.reason != text && names.event != text) return true;
        if (found.items.size() == kMostFoundLetters) found.is_complete = false;
        if (found.is_complete) add(letter, names.reason);
        return found.is_complete;
      }));
  if (end.before != 0) found.is_complete = false;
  return found;
}

/// The id of the message follows from the dead letter and the event: if the same replay is sent
/// twice within the duplicate window of the stream, the stream stores it once. It is not the id
/// that the event had before, which may still be in that window.
NatsMessage LocalLetterDesk::message_of(std::string_view ns, uint64_t id, int64_t created,
                                        const Event& event) const {
  NatsMessage message = event_message(ns, event);
  message.headers.emplace_back("Nats-Msg-Id", fmt::format("replay-{}-{}-{}", created, id,
                                                          to_hex(fingerprint({message.data}))));
  return message;
}

Result<Json> LocalLetterDesk::replay(std::string_view ns, uint64_t id,
                                     const std::optional<Event>& corrected) {
  TRY(existing(ns));
  const StreamSpan span = TRY(parts_.letters.span());
  const StoredEvent letter = TRY(letter_of(ns, id));
  if (corrected && !is_of_source(letter)) TRY(check_is_from_events(letter, parts_.prefix));
  const Event event = corrected ? *corrected : TRY(event_of_letter(letter, parts_.prefix));
  TRY(parts_.admit(ns, 1));
  std::vector<NatsMessage> messages = {message_of(ns, id, span.created, event)};
  const PublishAck ack =
      TRY(std::move(publish_and_wait(parts_.publisher, std::move(messages)).front()));
  TRY(parts_.letters.remove(id));
  return Json{{"id", std::to_string(id)}, {"event", event.id}, {"sequence", ack.sequence}};
}

Result<Json> LocalLetterDesk::replay_all(std::string_view ns, const std::string& reason,
                                         uint64_t from) {
  const NamespaceIdentity identity = TRY(existing(ns));
  const StreamSpan span = TRY(parts_.letters.span());
  const StoredEvents::Page page = TRY(parts_.letters.read({.ns = std::string(ns),
                                                           .reason = reason,
                                                           .first = from,
                                                           .last = span.last,
                                                           .limit = kMostLettersReplayed}));
  std::vector<std::pair<uint64_t, Error>> refused;
  std::vector<uint64_t> ids;
  std::vector<NatsMessage> messages;
  for (const StoredEvent& letter : page.events) {
    if (!is_letter_of(letter, identity)) continue;
    const Result<Event> event = event_of_letter(letter, parts_.prefix);
    if (!event) {
      refused.emplace_back(letter.sequence, event.error());
      continue;
    }
    ids.push_back(letter.sequence);
    messages.push_back(message_of(ns, letter.sequence, span.created, *event));
  }
  uint64_t next = page.next;
  if (const size_t admitted = TRY(admit_some(ns, ids.size())); admitted < ids.size()) {
    next = ids[admitted];
    ids.resize(admitted);
    messages.resize(admitted);
    std::erase_if(refused, [&](const auto& one) { return one.first > next; });
  }
  const auto outcomes = publish_and_wait(parts_.publisher, std::move(messages));
  uint64_t done = 0;
  Status removes;  // after an error, no further request waits for the broker
  for (size_t i = 0; i < ids.size(); ++i) {
    if (outcomes[i] && removes) removes = parts_.letters.remove(ids[i]);
    if (outcomes[i] && removes) {
      ++done;
    } else {
      refused.emplace_back(ids[i], outcomes[i] ? removes.error() : outcomes[i].error());
    }
  }
  Json items = Json::array();
  for (const auto& [id, error] : refused) {
    items.push_back({{"id", std::to_string(id)}, {"code", error.code}, {"msg", error.message}});
  }
  return Json{{"done", done},
              {"refused", std::move(items)},
              {"left", TRY(left(ns, reason))},
              {"next", next == 0 ? Json() : Json(std::to_string(next))}};
}

/// How many of `count` events the quota of the namespace permits now. Error: it permits none.
Result<size_t> LocalLetterDesk::admit_some(std::string_view ns, size_t count) const {
  while (count > 0) {
    const Status admitted = parts_.admit(ns, count);
    if (admitted) break;
    if (count == 1 || admitted.error().code != kOverRate) return tl::unexpected(admitted.error());
    count /= 2;
  }
  return count;
}

Result<Json> LocalLetterDesk::remove(std::string_view ns, uint64_t id) {
  TRY(letter_of(ns, id));
  TRY(parts_.letters.remove(id));
  return Json{{"id", std::to_string(id)}, {"deleted", true}};
}

Result<Json> LocalLetterDesk::remove_all(std::string_view ns, const std::string& reason) {
  const StreamSpan span = TRY(parts_.letters.span());
  const uint64_t done = TRY(parts_.letters.remove_all(ns, reason, span.last));
  return Json{{"done", done},
              {"refused", Json::array()},
              {"left", TRY(left(ns, reason))},
              {"next", nullptr}};
}

}  // namespace millrace
