// How fast events find their listeners, and what a listener costs in memory.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include "matchers/listener_index.h"
#include "matchers/naive_matcher.h"

namespace millrace {
namespace {

/// 20 bytes, as an order's number may be.
std::string order_id(uint64_t number) { return fmt::format("order-{:014}", number); }

EventFilter waits_for_order(uint64_t number) {
  return {"com.example.order.paid", {{"orderid", Predicate::Kind::kEquals, order_id(number)}}};
}

Event order_paid(uint64_t number) {
  return {.id = "1",
          .source = "https://shop.example/orders",
          .type = "com.example.order.paid",
          .extensions = {{"orderid", order_id(number)}, {"region", std::string("eu")}}};
}

/// 1024 events over all listeners, so that making them is not measured.
std::vector<Event> events_for(uint64_t listeners) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 1024; ++i) events.push_back(order_paid(i * 7919 % listeners));
  return events;
}

template <class T>
void equality(benchmark::State& state) {
  const auto listeners = static_cast<uint64_t>(state.range(0));
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  T matcher;
  for (uint64_t i = 0; i < listeners; ++i) {
    benchmark::DoNotOptimize(matcher.add("default", waits_for_order(i), i));
  }
  const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  const std::vector<Event> events = events_for(listeners);
  std::vector<uint64_t> targets;
  size_t next = 0;
  for (auto _ : state) {
    matcher.match("default", events[next++ % events.size()], targets);
    benchmark::DoNotOptimize(targets.data());
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_per_listener"] =
      static_cast<double>(after - before) / static_cast<double>(listeners);
}
BENCHMARK_TEMPLATE(equality, ListenerIndex)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_TEMPLATE(equality, NaiveMatcher)->Arg(1'000);

void unmatched_type(benchmark::State& state) {
  ListenerIndex index;
  for (uint64_t i = 0; i < 100'000; ++i) {
    benchmark::DoNotOptimize(index.add("default", waits_for_order(i), i));
  }
  Event event = order_paid(1);
  event.type = "com.example.order.shipped";
  std::vector<uint64_t> targets;
  for (auto _ : state) {
    index.match("default", event, targets);
    benchmark::DoNotOptimize(targets.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(unmatched_type);

/// Listeners that share 16 patterns, each with an equality of its own beside.
void shared_patterns(benchmark::State& state) {
  ListenerIndex index;
  for (uint64_t i = 0; i < 100'000; ++i) {
    EventFilter filter = waits_for_order(i);
    filter.predicates.push_back(
        {"region", Predicate::Kind::kPattern, fmt::format("^(eu|us|x{})", i % 16)});
    benchmark::DoNotOptimize(index.add("default", filter, i));
  }
  const std::vector<Event> events = events_for(100'000);
  std::vector<uint64_t> targets;
  size_t next = 0;
  for (auto _ : state) {
    index.match("default", events[next++ % events.size()], targets);
    benchmark::DoNotOptimize(targets.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(shared_patterns);

/// Distinct patterns without an equality: each runs for each event.
void distinct_patterns(benchmark::State& state) {
  ListenerIndex index;
  for (int64_t i = 0; i < state.range(0); ++i) {
    benchmark::DoNotOptimize(
        index.add("default",
                  {"com.example.order.paid",
                   {{"orderid", Predicate::Kind::kPattern, fmt::format("^order-0*{}[0-9]$", i)}}},
                  static_cast<uint64_t>(i)));
  }
  const Event event = order_paid(5);
  std::vector<uint64_t> targets;
  for (auto _ : state) {
    index.match("default", event, targets);
    benchmark::DoNotOptimize(targets.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(distinct_patterns)->Arg(10)->Arg(1'000);

void add_and_remove(benchmark::State& state) {
  ListenerIndex index;
  for (uint64_t i = 0; i < 100'000; ++i) {
    benchmark::DoNotOptimize(index.add("default", waits_for_order(i), i));
  }
  uint64_t next = 100'000;
  for (auto _ : state) {
    index.remove(*index.add("default", waits_for_order(next), next));
    ++next;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(add_and_remove);

}  // namespace
}  // namespace millrace

BENCHMARK_MAIN();
