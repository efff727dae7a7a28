#include "orchestrator/service/early_event_thread.h"

#include <cstddef>
#include <filesystem>
#include <future>
#include <iterator>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

LookBack one_search(const MemoryBroker& broker) {
  return {.listeners = {{.filter = {.type = "a"}, .since = TimePoint()}},
          .until = {.stream = 1, .sequence = broker.last_sequence()},
          .space = "default",
          .stream_created = broker.created()};
}

/// How many threads the process has.
ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

TEST(EarlyEventThread, StartsNoThreadForASearch) {
  const VirtualClock clock;
  MemoryBroker broker(clock);
  MemoryStoredEvents events(broker);
  broker.inject({"millrace.events.default.a", {}, "x"});
  broker.disconnect();
  EarlyEventThread thread(events, clock);
  const ptrdiff_t before = threads();
  thread.ask(one_search(broker), [](const EarlyEvents&) {});
  EXPECT_EQ(threads(), before);
}

TEST(EarlyEventThread, AnswersSearches) {
  const VirtualClock clock;
  MemoryBroker broker(clock);
  MemoryStoredEvents events(broker);
  NatsMessage message = encode_nats(Event{.id = "1", .source = "/s", .type = "a"});
  message.subject = "millrace.events.default.a";
  broker.inject(message);
  EarlyEventThread thread(events, clock);
  for (int i = 0; i < 2; ++i) {
    std::promise<size_t> found;
    thread.ask(one_search(broker),
               [&](const EarlyEvents& early) { found.set_value(early ? early->size() : 0); });
    EXPECT_EQ(found.get_future().get(), 1U);
  }
}

TEST(EarlyEventThread, EndsWithSearchesThatWaitForTheBroker) {
  const VirtualClock clock;
  MemoryBroker broker(clock);
  MemoryStoredEvents events(broker);
  broker.inject({"millrace.events.default.a", {}, "x"});
  broker.disconnect();
  bool answered = false;
  {
    EarlyEventThread thread(events, clock);
    EXPECT_EQ(thread.waiting(), 0U);
    thread.ask(one_search(broker), [&](const EarlyEvents&) { answered = true; });
    EXPECT_EQ(thread.waiting(), 1U);
  }
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace millrace
