// Measures how fast the router finds the listeners that an event matches.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>
#include <simdjson.h>
#include <time.h>

#include "base/check.h"
#include "bench/harness.h"
#include "bench/rows.h"
#include "cloudevents/encoded_event.h"
#include "matchers/listener_index.h"
#include "matchers/naive_matcher.h"

namespace millrace {
namespace {

constexpr const char* kType = "com.example.order.paid";
constexpr size_t kDigits = 14;

/// An attribute value of 20 bytes, like the number of an order.
std::string order_id(uint64_t number) { return fmt::format("order-{:014}", number); }

EventFilter waits_for(Predicate::Kind kind, std::string text) {
  return {kType, {{"orderid", kind, std::move(text)}}};
}

EventFilter waits_for_order(uint64_t number) {
  return waits_for(Predicate::Kind::kEquals, order_id(number));
}

/// Messages of one size, each with the id of a random order, out of `orders` orders. Each message
/// is made in the memory of the message before it, like messages from a socket, so that the bytes
/// of the message are in the processor's cache.
class Messages {
 public:
  Messages(size_t bytes, uint64_t orders) : orders_(orders) {
    text_ = fmt::format(
        R"({{"specversion":"1.0","id":"a1","source":"https://shop.example/orders","type":"{}",)"
        R"("orderid":"{}","time":"2021-09-01T12:00:00Z","datacontenttype":"application/json",)"
        R"("data":{{"filler":")",
        kType, order_id(0));
    text_ += std::string(bytes - text_.size() - 3, 'x') + "\"}}";
    digits_at_ = text_.find(order_id(0)) + order_id(0).size() - kDigits;
  }

  /// Makes the next message, in the memory of the previous message.
  NatsMessage& next() {
    message_.data.assign(text_);
    uint64_t order = random_() % orders_;
    for (size_t i = kDigits; i > 0; --i, order /= 10) {
      message_.data[digits_at_ + i - 1] = static_cast<char>('0' + order % 10);
    }
    return message_;
  }

 private:
  uint64_t orders_;
  std::string text_;
  size_t digits_at_ = 0;
  std::mt19937_64 random_{1};
  NatsMessage message_;
};

/// The processor time of one call of `work`, in seconds: the best of many short measurements,
/// because other processes use this machine, too.
double cost_of(size_t rounds, const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < 30; ++run) {
    const double started = now();
    for (size_t i = 0; i < rounds; ++i) work();
    best = std::min(best, (now() - started) / static_cast<double>(rounds));
  }
  return best;
}

/// The cost of `work` for one message, in seconds, without the cost of making the message.
template <class Work>
double cost_a_message(Messages messages, size_t rounds, const Work& work) {
  const double of_all = cost_of(rounds, [&] { work(messages.next()); });
  return of_all - cost_of(rounds, [&] { messages.next(); });
}

std::string rate(double cost) { return fmt::format("{:.2f} M/s", 1e-6 / cost); }

/// The cost of reading a message and matching it, in seconds.
double match_messages(Matcher& matcher, const Messages& messages, size_t rounds) {
  std::vector<uint64_t> targets;
  return cost_a_message(messages, rounds, [&](NatsMessage& message) {
    const Result<EncodedEvent> event = EncodedEvent::take(message);
    CHECK(event.has_value());
    matcher.match("default", event->attributes(), targets);
  });
}

/// The cost of the least possible work for one message, in seconds: reads two attributes with
/// simdjson and looks them up in one hash table.
double bare_loop(const Messages& messages, uint64_t listeners, size_t rounds) {
  std::unordered_map<std::string, uint64_t> table;
  for (uint64_t i = 0; i < listeners; ++i) table.emplace(kType + order_id(i), i);
  simdjson::dom::parser parser;
  std::string padded;
  std::string key;
  uint64_t found = 0;
  const double cost = cost_a_message(messages, rounds, [&](const NatsMessage& message) {
    padded.assign(message.data);
    padded.reserve(padded.size() + simdjson::SIMDJSON_PADDING);
    simdjson::dom::element event;
    CHECK(parser.parse(padded.data(), padded.size(), false).get(event) == simdjson::SUCCESS);
    key.assign(std::string_view(event["type"]));
    key.append(std::string_view(event["orderid"]));
    found += table.contains(key) ? 1 : 0;
  });
  CHECK(found > 0);
  return cost;
}

void equalities() {
  for (const uint64_t listeners : {1'000, 100'000, 1'000'000}) {
    const size_t before = heap_bytes();
    const auto index = std::make_unique<ListenerIndex>();
    for (uint64_t i = 0; i < listeners; ++i) {
      CHECK(index->add("default", waits_for_order(i), i).has_value());
    }
    const double bytes =
        static_cast<double>(heap_bytes() - before) / static_cast<double>(listeners);
    for (const size_t size : {264, 512}) {
      const Messages messages(size, listeners);
      const double cost = match_messages(*index, messages, 4'000);
      const double bare = bare_loop(messages, listeners, 4'000);
      row(fmt::format("events of {} B read and matched, {} listeners (type, one equality)", size,
                      listeners),
          rate(cost),
          fmt::format("simdjson and a hash table alone {}: {:.2f}; {:.0f} B a listener", rate(bare),
                      bare / cost, bytes));
    }
  }
  NaiveMatcher naive;
  for (uint64_t i = 0; i < 1'000; ++i) {
    CHECK(naive.add("default", waits_for_order(i), i).has_value());
  }
  row("events of 264 B read and matched, 1000 listeners one by one",
      fmt::format("{:.0f}/s", 1 / match_messages(naive, Messages(264, 1'000), 20)));
}

/// The filter of listener `number`. Of ten listeners, seven compare a text for equality, two match
/// a pattern that is the literal text of an order, and one matches one of 50 regular expressions.
EventFilter mixed(uint64_t number) {
  const std::string id = order_id(number);
  switch (number % 10) {
    case 7:
      return waits_for(Predicate::Kind::kPattern, "^" + quote_pattern(id));
    case 8:
      return waits_for(Predicate::Kind::kPattern, quote_pattern(id.substr(3)));
    case 9:
      return waits_for(Predicate::Kind::kPattern,
                       fmt::format("^order-[0-9]+-(eu|us){}$", number / 10 % 50));
    default:
      return waits_for(Predicate::Kind::kEquals, id);
  }
}

/// The cost of a linear matcher, in seconds for each event: the matcher tries the regular
/// expressions of all listeners in turn.
double linear_scan(size_t listeners) {
  RE2::Options options;
  options.set_max_mem(64 << 10);
  const RE2 type("com\\.example\\.order\\.paid", options);
  std::vector<std::unique_ptr<RE2>> expressions;
  for (size_t i = 0; i < listeners; ++i) {
    expressions.push_back(std::make_unique<RE2>(order_id(i), options));
  }
  const std::string id = order_id(listeners / 2);
  size_t found = 0;
  const double cost = cost_of(1, [&] {
    for (const auto& expression : expressions) {
      found += RE2::FullMatch(kType, type) && RE2::FullMatch(id, *expression) ? 1 : 0;
    }
  });
  CHECK(found > 0);
  return cost;
}

void mixtures() {
  constexpr uint64_t kListeners = 100'000;
  ListenerIndex index;
  for (uint64_t i = 0; i < kListeners; ++i) {
    CHECK(index.add("default", mixed(i), i).has_value());
  }
  const double scan = linear_scan(10'000);
  for (const size_t size : {264, 512}) {
    row(fmt::format("events of {} B, 100000 listeners: 70 % equality, 20 % text, 10 % regex", size),
        rate(match_messages(index, Messages(size, kListeners), 4'000)),
        fmt::format("10000 pairs of RE2 one by one: {:.0f}/s", 1 / scan));
  }
}

void additions_and_removals() {
  constexpr uint64_t kListeners = 100'000;
  ListenerIndex index;
  std::unordered_multimap<std::string, uint64_t> table;
  for (uint64_t i = 0; i < kListeners; ++i) {
    CHECK(index.add("default", waits_for_order(i), i).has_value());
    table.emplace(kType + order_id(i), i);
  }
  uint64_t next = kListeners;
  const auto time = [&](const auto& turn) {
    std::vector<EventFilter> filters;
    for (size_t i = 0; i < 4'000; ++i) filters.push_back(waits_for_order(next++));
    size_t at = 0;
    return cost_of(filters.size(), [&] { turn(filters[at++ % filters.size()]); });
  };
  const double cost =
      time([&](const EventFilter& filter) { index.remove(*index.add("default", filter, 1)); });
  const double bare = time([&](const EventFilter& filter) {
    table.erase(table.emplace(filter.type + filter.predicates[0].text, 1));
  });
  row("a listener added and removed, among 100000", rate(cost),
      fmt::format("std::unordered_multimap {}: {:.2f}", rate(bare), bare / cost));
}

/// The cost of reading an event that matches nothing, compared with decoding the event.
void reading() {
  const Messages messages(512, 1'000);
  const double plain = cost_a_message(messages, 4'000, [](NatsMessage& message) {
    CHECK(EncodedEvent::take(message).has_value());
  });
  const double decoded = cost_a_message(
      messages, 1'000, [](NatsMessage& message) { CHECK(decode_nats(message).has_value()); });
  row("attributes of an event of 512 B read, all of it checked",
      fmt::format("{:.0f} ns", plain * 1e9),
      fmt::format("the whole event decoded {:.0f} ns", decoded * 1e9));
}

}  // namespace

void matching() {
  reading();
  equalities();
  mixtures();
  additions_and_removals();
}

}  // namespace millrace
