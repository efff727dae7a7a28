#include "broker/memory_broker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "broker/incoming.h"
#include "broker/resume.h"
#include "broker/wire.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

constexpr size_t kMaxPayload = size_t{1} << 20;

}  // namespace

MemoryBroker::MemoryBroker(const Clock& clock, Duration duplicate_window, Duration ack_timeout)
    : clock_(clock),
      duplicate_window_(duplicate_window),
      ack_timeout_(ack_timeout),
      created_(to_millis(clock.now()) * 1'000'000) {}

void MemoryBroker::start(const Cursor& cursor, DeliverySink& sink) {
  CHECK(sink_ == nullptr, "started twice");
  sink_ = &sink;
  position_ = cursor;
  opened_ = false;
  lost_is_pending_ = false;
}

void MemoryBroker::stop() { sink_ = nullptr; }

void MemoryBroker::stop(const DeliverySink& sink) {
  if (sink_ == &sink) stop();
}

void MemoryBroker::publish(NatsMessage message, Done done) {
  InFlight flight{.message = std::move(message), .done = std::move(done)};
  flight.fate = decide_ ? decide_(flight.message) : PublishFate();
  flight.deadline = clock_.now() + ack_timeout_;
  flight.delay = flight.fate.delay;
  if (Status checked = check_message(flight.message, kMaxPayload); !checked) {
    flight.fate.refused = std::move(checked).error();
  } else if (!connected_) {
    flight.fate.refused = Error{"broker.unreachable", "not connected"};
  }
  in_flight_.push_back(std::move(flight));
}

bool MemoryBroker::pump(size_t most) {
  const bool moved = move_publishes();
  return deliver(most) || moved;
}

std::optional<TimePoint> MemoryBroker::next_deadline() const {
  std::optional<TimePoint> next;
  for (const InFlight& flight : in_flight_) {
    if (!next || flight.deadline < *next) next = flight.deadline;
  }
  return next;
}

void MemoryBroker::decide_fates(std::function<PublishFate(const NatsMessage&)> decide) {
  decide_ = std::move(decide);
}

void MemoryBroker::inject(NatsMessage message) { store(std::move(message), false); }

void MemoryBroker::disconnect() {
  if (!connected_) return;
  connected_ = false;
  lost_is_pending_ = lost_is_pending_ || opened_;
  opened_ = false;
  for (InFlight& flight : in_flight_) {
    if (!flight.fate.refused) flight.fate.refused = Error{"broker.unreachable", "disconnected"};
    flight.phase = Phase::kOnTheWay;
    flight.delay = 0;
  }
}

void MemoryBroker::reconnect() { connected_ = true; }

void MemoryBroker::lose_tail(size_t messages) {
  disconnect();
  for (; messages > 0 && !events_.empty(); --messages) {
    next_sequence_ = events_.back().sequence;
    events_.pop_back();
  }
  std::erase_if(seen_, [this](const Seen& seen) { return seen.sequence >= next_sequence_; });
}

void MemoryBroker::recreate_stream() {
  disconnect();
  events_.clear();
  seen_.clear();
  next_sequence_ = 1;
  created_ = std::max(created_ + 1, to_millis(clock_.now()) * 1'000'000);
}

void MemoryBroker::drop_oldest(size_t messages) {
  for (; messages > 0 && !events_.empty(); --messages) events_.pop_front();
}

void MemoryBroker::lose_consumer() { opened_ = false; }

uint64_t MemoryBroker::first_sequence() const {
  return events_.empty() ? next_sequence_ : events_.front().sequence;
}

PublishAck MemoryBroker::store(NatsMessage message, bool forget_id) {
  const TimePoint now = clock_.now();
  while (!seen_.empty() && seen_.front().at + duplicate_window_ <= now) seen_.pop_front();
  const bool event = message.subject.starts_with(kEventSubjectPrefix);
  const std::string* const id = find_header(message.headers, "Nats-Msg-Id");
  // Ids are unique per stream, so the key of another stream's message has its subject too.
  const std::string key = id == nullptr ? "" : (event ? "e" : "o" + message.subject + " ") + *id;
  if (!key.empty() && !forget_id) {
    for (const Seen& seen : seen_) {
      if (seen.id == key) return {.sequence = seen.sequence, .duplicate = true};
    }
  }
  const uint64_t sequence = event ? next_sequence_++ : others_.size() + 1;
  if (!key.empty()) seen_.push_back({key, now, sequence});
  if (event) {
    events_.push_back({sequence, now, std::move(message)});
  } else {
    others_.push_back({sequence, now, std::move(message)});
  }
  return {.sequence = sequence};
}

bool MemoryBroker::move_publishes() {
  const TimePoint now = clock_.now();
  const Error timeout{"broker.timeout", "no acknowledgement came in time"};
  std::vector<std::pair<Done, Result<PublishAck>>> finished;
  for (InFlight& flight : in_flight_) {
    const auto finish = [&](Result<PublishAck> result) {
      finished.emplace_back(std::exchange(flight.done, nullptr), std::move(result));
    };
    if (flight.fate.refused) {
      finish(tl::unexpected(*flight.fate.refused));
      continue;
    }
    if (flight.phase == Phase::kOnTheWay && flight.fate.arrives && flight.delay-- <= 0) {
      flight.phase = Phase::kArrived;
      flight.delay = flight.fate.ack_delay;
      flight.ack = store(flight.message, false);
      if (flight.fate.twice) store(flight.message, true);
    }
    if (flight.phase == Phase::kArrived && flight.fate.acked && flight.delay-- <= 0) {
      finish(flight.ack);
    } else if (flight.deadline <= now) {
      finish(tl::unexpected(timeout));
    }
  }
  std::erase_if(in_flight_, [](const InFlight& flight) { return !flight.done; });
  for (auto& [done, result] : finished) done(std::move(result));
  return !finished.empty();
}

StreamOpened MemoryBroker::open() {
  sink_->opening();
  const StreamState state{created_, first_sequence(), last_sequence()};
  std::optional<TimePoint> stamped;
  if (must_ask_for_stamp(position_, state)) {
    for (const Stored& stored : events_) {
      if (stored.sequence == position_.sequence) stamped = stored.stamped;
    }
  }
  const ResumePoint point = resume_point(position_, state, stamped);
  position_ = position_at(point, position_, state);
  if (point.since) {
    const auto found = std::find_if(events_.begin(), events_.end(), [&](const Stored& stored) {
      return stored.stamped >= *point.since;
    });
    position_.sequence = (found == events_.end() ? next_sequence_ : found->sequence) - 1;
    const auto before = std::find_if(events_.begin(), events_.end(), [&](const Stored& stored) {
      return stored.sequence == position_.sequence;
    });
    position_.stamped = before == events_.end() ? *point.since : before->stamped;
  }
  opened_ = true;
  caught_up_ = false;
  const bool lost_tail = point.loss && point.loss->kind == BrokerLoss::Kind::kTail;
  return {.position = position_,
          .first_sequence = first_sequence(),
          .last_sequence = last_sequence(),
          .intact_to = lost_tail ? position_.sequence : last_sequence()};
}

bool MemoryBroker::deliver(size_t most) {
  if (sink_ == nullptr) return false;
  std::vector<Delivery> deliveries;
  if (std::exchange(lost_is_pending_, false)) deliveries.emplace_back(StreamLost{});
  if (connected_) {
    if (!opened_) {
      deliveries.emplace_back(open());
    }
    // Sequences increase but may have gaps, so the next message is found by a search.
    auto next = std::upper_bound(
        events_.begin(), events_.end(), position_.sequence,
        [](uint64_t sequence, const Stored& stored) { return sequence < stored.sequence; });
    if (next != events_.end() && most > 0) caught_up_ = false;
    for (; next != events_.end() && most > 0; ++next, --most) {
      const bool more = std::next(next) != events_.end();
      deliveries.push_back(read_delivery(
          next->message, {.sequence = next->sequence, .stamped = next->stamped, .more = more}));
      position_.sequence = next->sequence;
      position_.stamped = next->stamped;
    }
    if (next == events_.end() && !caught_up_) {
      caught_up_ = true;
      deliveries.emplace_back(CaughtUp{});
    }
  }
  if (deliveries.empty()) return false;
  if (!sink_->deliver(std::move(deliveries))) sink_ = nullptr;
  return true;
}

}  // namespace millrace
