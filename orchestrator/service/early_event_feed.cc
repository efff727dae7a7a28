#include "orchestrator/service/early_event_feed.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace millrace {
namespace {

/// The memory of an event besides the bytes of its attributes, about.
constexpr size_t kBytesOfAFedEvent = 96;

}  // namespace

/// The events are copied before they are passed on: so the feed has each event that the engine has
/// applied.
bool EarlyEventFeed::deliver(std::vector<Delivery> deliveries) {
  if (followed_.load(std::memory_order_relaxed) == 0) {
    for (const Delivery& one : deliveries) note(one);
  } else {
    const std::lock_guard lock(mutex_);
    begin_followed();
    for (const Delivery& one : deliveries) {
      if (const std::optional<uint64_t> first = note(one)) begin_anew(*first);
      if (const auto* const event = std::get_if<EventInput>(&one)) add(*event);
    }
    fed_to_ = reader_;
  }
  return sink_.deliver(std::move(deliveries));
}

/// Notes how far the stream was delivered. Returns the sequence from which all namespaces begin
/// anew, 0 if it is not known yet; nullopt: the delivery continues the earlier ones.
std::optional<uint64_t> EarlyEventFeed::note(const Delivery& delivery) {
  if (const auto* const event = std::get_if<EventInput>(&delivery)) {
    return note_message(event->sequence, event->stamped);
  }
  if (const auto* const unreadable = std::get_if<UnreadableInput>(&delivery)) {
    return note_message(unreadable->sequence, unreadable->stamped);
  }
  if (const auto* const opened = std::get_if<StreamOpened>(&delivery)) {
    const Cursor& at = opened->position;
    reader_ = {.created = at.stream_created,
               .sequence = at.sequence,
               .stamped = std::nullopt,
               .stretch = reader_.stretch + 1};
    return at.sequence + 1;
  }
  if (std::holds_alternative<StreamLost>(delivery)) {
    reader_ = {
        .created = 0, .sequence = 0, .stamped = std::nullopt, .stretch = reader_.stretch + 1};
    return 0;
  }
  return std::nullopt;
}

std::optional<uint64_t> EarlyEventFeed::note_message(uint64_t sequence, TimePoint stamped) {
  const bool goes_back = sequence <= reader_.sequence;
  if (goes_back || sequence > reader_.sequence + 1) ++reader_.stretch;
  reader_.sequence = sequence;
  reader_.stamped = stamped;
  return goes_back ? std::optional(sequence) : std::nullopt;
}

/// The namespaces that are followed since the latest delivery begin with the next message.
void EarlyEventFeed::begin_followed() {
  if (!has_new_ || reader_.created == 0) return;
  has_new_ = false;
  for (auto& [ns, queue] : queues_) {
    if (queue.first == 0) queue.first = reader_.sequence + 1;
  }
}

void EarlyEventFeed::begin_anew(uint64_t first) {
  for (auto& [ns, queue] : queues_) drop(queue, first);
}

void EarlyEventFeed::add(const EventInput& event) {
  const auto found = queues_.find(event.ns);
  if (found == queues_.end() || found->second.first == 0) return;
  FedQueue& queue = found->second;
  const Attributes& attributes = event.event.attributes();
  queue.events.push_back(
      {.sequence = event.sequence, .stamped = event.stamped, .attributes = attributes});
  const size_t bytes = kBytesOfAFedEvent + attributes.size();
  queue.bytes += bytes;
  bytes_ += bytes;
  if (queue.bytes > limits_.namespace_bytes) {
    drop(queue, event.sequence + 1);
  } else if (bytes_ > limits_.all_bytes) {
    const auto largest = std::max_element(
        queues_.begin(), queues_.end(),
        [](const auto& one, const auto& two) { return one.second.bytes < two.second.bytes; });
    drop(largest->second, event.sequence + 1);
  }
}

void EarlyEventFeed::drop(FedQueue& queue, uint64_t next_first) {
  bytes_ -= queue.bytes;
  queue = FedQueue{.first = next_first, .events = {}, .bytes = 0};
}

void EarlyEventFeed::follow(const std::string& ns) {
  const std::lock_guard lock(mutex_);
  has_new_ |= queues_.try_emplace(ns).second;
  followed_.store(queues_.size(), std::memory_order_relaxed);
}

void EarlyEventFeed::forget(const std::string& ns) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(ns);
  if (found == queues_.end()) return;
  bytes_ -= found->second.bytes;
  queues_.erase(found);
  followed_.store(queues_.size(), std::memory_order_relaxed);
}

FedEvents EarlyEventFeed::take(const std::string& ns, int64_t created, uint64_t read_to) {
  FedEvents fed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = queues_.find(ns);
    if (found == queues_.end() || found->second.first == 0 || fed_to_.created != created) return {};
    FedQueue& queue = found->second;
    fed.created = created;
    fed.first = queue.first;
    fed.last = fed_to_.sequence;
    fed.stamped = fed_to_.stamped;
    fed.stretch = fed_to_.stretch;
    fed.continues = fed.first <= read_to + 1 && read_to <= fed.last;
    if (!fed.continues) return fed;
    fed.events.swap(queue.events);
    drop(queue, fed.last + 1);
  }
  while (!fed.events.empty() && fed.events.front().sequence <= read_to) fed.events.pop_front();
  return fed;
}

}  // namespace millrace
