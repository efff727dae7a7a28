// What the tests of the search for early events share: a stream in memory, its reader, and searches
// whose answers are texts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cloudevents/encoded_event.h"
#include "orchestrator/service/early_event_feed.h"
#include "orchestrator/service/early_event_search.h"

namespace millrace {

/// When the fake stream was created, as Cursor::stream_created.
inline constexpr int64_t kFakeStream = 5;

/// A stream in memory that counts what is read, a few messages a page.
class FakeStream final : public StoredEvents {
 public:
  /// `bytes`: the size of an attribute.
  void add(const std::string& ns, TimePoint stamped, const std::string& type = "a",
           size_t bytes = 0) {
    ++last_;
    Event event{.id = std::to_string(last_), .source = "/s", .type = type};
    if (bytes > 0) event.subject = std::string(bytes, 's');
    events_.push_back(
        {.ns = ns, .sequence = last_, .stamped = stamped, .message = encode_nats(event)});
    kept_.push_back(events_.back());
  }
  /// The message can still be read by its sequence.
  void lose_first(TimePoint complete_since) {
    events_.erase(events_.begin());
    complete_since_ = complete_since;
  }
  /// The next message gets the sequence of the last one.
  void lose_last() {
    events_.pop_back();
    kept_.pop_back();
    --last_;
  }
  void replace() { ++created_; }

  Result<StreamSpan> span() override {
    ++requests_;
    if (is_away) return fail("broker.unreachable", "away");
    return StreamSpan{.created = created_,
                      .first = events_.empty() ? last_ + 1 : events_.front().sequence,
                      .last = last_,
                      .complete_since = complete_since_};
  }
  Result<StoredEvent> get(uint64_t sequence) override {
    ++requests_;
    for (const StoredEvent& one : kept_) {
      if (one.sequence == sequence) return one;
    }
    return fail("event.not_found", "gone");
  }
  Result<Page> read(const Range& range) override {
    ++requests_;
    if (is_away) return fail("broker.unreachable", "away");
    Page page;
    for (const StoredEvent& one : events_) {
      if (one.ns != range.ns || one.sequence < range.first || one.sequence > range.last) continue;
      if (range.since && one.stamped < *range.since) continue;
      if (page.events.size() == 3) {
        page.next = one.sequence;
        break;
      }
      read_.push_back(one.sequence);
      page.events.push_back(one);
    }
    return page;
  }
  /// The sequences that were read since the last call.
  std::vector<uint64_t> take_read() { return std::exchange(read_, {}); }
  /// The number of requests since the last call.
  int take_requests() { return std::exchange(requests_, 0); }
  uint64_t last() const { return last_; }
  const std::vector<StoredEvent>& events() const { return events_; }

  bool is_away = false;

 private:
  std::vector<StoredEvent> events_;
  std::vector<StoredEvent> kept_;  ///< those that get() finds
  uint64_t last_ = 0;
  int64_t created_ = kFakeStream;
  TimePoint complete_since_ = TimePoint::min();
  std::vector<uint64_t> read_;
  int requests_ = 0;
};

/// A sink that counts what it gets.
class CountingSink final : public DeliverySink {
 public:
  bool deliver(std::vector<Delivery> deliveries) override {
    delivered += deliveries.size();
    return !is_closed;
  }
  void opening() override { ++openings; }

  bool is_closed = false;
  size_t delivered = 0;
  int openings = 0;
};

class EarlyEventFixture : public testing::Test {
 protected:
  /// `is_fed`: the reader feeds the search.
  explicit EarlyEventFixture(bool is_fed) : is_fed_(is_fed) {}

  /// Asks for the first event of the type within five minutes before `now`.
  void ask(const std::string& name, TimePoint now = from_millis(1'700'000'000'000),
           const std::string& ns = "default", const std::string& type = "a") {
    ask(search_, name, now, ns, type);
  }
  void ask(EarlyEventSearch& search, const std::string& name, TimePoint now, const std::string& ns,
           const std::string& type) {
    search.ask({.listeners = {{.filter = {.type = type}, .since = now - std::chrono::minutes(5)}},
                .until = {.stream = 1, .sequence = stream_.last()},
                .space = ns,
                .stream_created = created_},
               [this, name](const EarlyEvents& found) {
                 answers_ += name +
                             (!found           ? " " + found.error().code
                              : found->empty() ? " none"
                                               : fmt::format(" {}", found->at(0).sequence)) +
                             "; ";
               });
  }
  /// Does all work; returns the answers since the last call.
  std::string work() { return work(search_); }
  std::string work(EarlyEventSearch& search) {
    for (int i = 0; i < 1'000 && search.has_work(); ++i) EXPECT_TRUE(search.turn(Duration(i)));
    EXPECT_FALSE(search.has_work());
    return std::exchange(answers_, {});
  }

  /// The reader opens the stream after that position.
  void open(uint64_t position) {
    read_to_ = position;
    EXPECT_TRUE(feed_.deliver(
        {StreamOpened{.position = {.stream_created = created_, .sequence = position}}}));
  }
  /// The reader delivers what it has not delivered since the stream was opened.
  void deliver() {
    std::vector<Delivery> deliveries;
    for (const StoredEvent& one : stream_.events()) {
      if (one.sequence <= read_to_) continue;
      NatsMessage message = one.message;
      deliveries.emplace_back(EventInput{.ns = one.ns,
                                         .sequence = one.sequence,
                                         .stamped = one.stamped,
                                         .event = EncodedEvent::take(message).value()});
      read_to_ = one.sequence;
    }
    EXPECT_TRUE(feed_.deliver(std::move(deliveries)));
  }

  const bool is_fed_;
  FakeStream stream_;
  CountingSink sink_;
  /// Has room for two events with a thousand bytes of each namespace.
  EarlyEventFeed feed_{sink_, {.namespace_bytes = 3'000}};
  EarlyEventSearch search_{
      stream_, {.window_bytes = 10'000, .all_bytes = 15'000}, is_fed_ ? &feed_ : nullptr};
  int64_t created_ = kFakeStream;
  uint64_t read_to_ = 0;
  std::string answers_;
};

}  // namespace millrace
