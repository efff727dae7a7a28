#include "http/request_queue.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A queue whose requests have names.
class NamedQueue {
 public:
  explicit NamedQueue(RequestQueue::Limits limits) : queue_(limits) {}

  void add(const std::string& name, const std::string& ns, const std::string& host,
           bool urgent = false) {
    const auto ticket = static_cast<RequestQueue::Ticket>(names_.size() + 1);
    names_.push_back(name);
    queue_.add(ticket, ns, host, urgent);
  }
  /// Adds `count` requests, each named like its namespace, to different hosts.
  void add_many(const std::string& ns, int count) {
    for (int i = 0; i < count; ++i) add(ns, ns, fmt::format("{}{}", ns, i));
  }
  /// The names of all requests that may be sent now.
  std::vector<std::string> take_all() {
    std::vector<std::string> taken;
    while (const auto ticket = queue_.take()) taken.push_back(names_[*ticket - 1]);
    return taken;
  }
  /// Ends the first request with that name, which may run or wait.
  void end(const std::string& name) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name) continue;
      queue_.end(i + 1);
      names_[i] = "ended";
      return;
    }
  }
  HttpLoad load() const { return queue_.load(); }

 private:
  RequestQueue queue_;
  std::vector<std::string> names_;
};

TEST(RequestQueue, SendsTheRequestsToOneHostInTheirOrderUrgentOnesFirst) {
  NamedQueue queue({.total = 8, .per_host = 1});
  queue.add("first", "", "h");
  queue.add("second", "", "h");
  queue.add("third", "", "h");
  EXPECT_THAT(queue.take_all(), ElementsAre("first"));
  queue.add("urgent", "", "h", true);
  std::string before = "first";
  for (const std::string next : {"urgent", "second", "third"}) {
    queue.end(before);
    EXPECT_THAT(queue.take_all(), ElementsAre(next));
    before = next;
  }
  queue.end("third");
  EXPECT_THAT(queue.take_all(), IsEmpty());
}

TEST(RequestQueue, LetsANamespaceUseAsManyConnectionsAsAreFree) {
  NamedQueue queue({.total = 8, .per_host = 8});
  queue.add_many("a", 10);
  EXPECT_THAT(queue.take_all(), ElementsAre("a", "a", "a", "a")) << "half of them";
  queue.add_many("b", 10);
  EXPECT_THAT(queue.take_all(), ElementsAre("b", "b"));
  queue.add_many("c", 10);
  EXPECT_THAT(queue.take_all(), ElementsAre("c"));
  queue.add_many("d", 10);
  EXPECT_THAT(queue.take_all(), ElementsAre("d")) << "although no request of the others ended";
  queue.end("a");
  queue.end("a");
  queue.end("a");
  EXPECT_THAT(queue.take_all(), ElementsAre("a", "c")) << "b has as many as are free";
}

TEST(RequestQueue, LetsANamespaceUseAsManyConnectionsToAHostAsThatHostHasFree) {
  NamedQueue queue({.total = 100, .per_host = 4});
  for (int i = 0; i < 10; ++i) queue.add("a", "a", "h");
  EXPECT_THAT(queue.take_all(), ElementsAre("a", "a"));
  queue.add("a elsewhere", "a", "i");
  queue.add("b", "b", "h");
  queue.add("b", "b", "h");
  EXPECT_THAT(queue.take_all(), ElementsAre("a elsewhere", "b"));
  queue.end("a");
  EXPECT_THAT(queue.take_all(), ElementsAre("a")) << "one of a and one of b ran at h";
}

TEST(RequestQueue, GivesTurnsToNamespacesAndThenToTheHostsOfANamespace) {
  NamedQueue queue({.total = 1, .per_host = 1});
  queue.add("busy", "z", "z");
  EXPECT_THAT(queue.take_all(), ElementsAre("busy"));
  for (int i = 0; i < 3; ++i) queue.add("a to h", "a", "h");
  queue.add("a to i", "a", "i");
  queue.add("b to h", "b", "h");
  std::vector<std::string> order;
  std::string last = "busy";
  for (int i = 0; i < 5; ++i) {
    queue.end(last);
    const auto taken = queue.take_all();
    ASSERT_EQ(taken.size(), 1U);
    last = taken.front();
    order.push_back(last);
  }
  EXPECT_THAT(order, ElementsAre("a to h", "b to h", "a to i", "a to h", "a to h"));
}

TEST(RequestQueue, LimitsTheRequestsOfMillraceOnlyInTotalAndToAHost) {
  NamedQueue queue({.total = 5, .per_host = 3});
  for (int i = 0; i < 4; ++i) queue.add("h", "", "h");
  for (int i = 0; i < 4; ++i) queue.add("i", "", "i");
  EXPECT_THAT(queue.take_all(), ElementsAre("h", "i", "h", "i", "h"));
}

TEST(RequestQueue, CountsTheRequestsThatRunAndWaitByNamespace) {
  NamedQueue queue({.total = 4, .per_host = 4});
  queue.add("own", "", "h");
  queue.add_many("a", 3);
  queue.take_all();
  using Requests = HttpLoad::Requests;
  EXPECT_EQ(queue.load().total, (Requests{.running = 3, .waiting = 1}));
  EXPECT_THAT(queue.load().namespaces,
              ElementsAre(std::pair("a", Requests{.running = 2, .waiting = 1})));
  queue.end("a");
  queue.end("a");
  queue.end("a");  // while it waits
  queue.end("own");
  EXPECT_EQ(queue.load().total, Requests());
  EXPECT_THAT(queue.load().namespaces, IsEmpty());
  EXPECT_THAT(queue.take_all(), IsEmpty());
}

TEST(RequestQueue, KeepsItsLimitsAndLosesNoRequestInRandomOrders) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    const RequestQueue::Limits limits{.total = 1 + random() % 8, .per_host = 1 + random() % 4};
    RequestQueue queue(limits);
    std::map<RequestQueue::Ticket, std::string> waiting;  // by their hosts
    std::map<RequestQueue::Ticket, std::string> running;
    RequestQueue::Ticket last = 0;
    const auto take_all = [&] {
      while (const auto ticket = queue.take()) {
        ASSERT_TRUE(waiting.contains(*ticket)) << seed;
        running.insert(waiting.extract(*ticket));
        std::map<std::string, size_t> at;
        for (const auto& [one, host] : running) ASSERT_LE(++at[host], limits.per_host) << seed;
        ASSERT_LE(running.size(), limits.total) << seed;
      }
    };
    const auto end_one = [&](std::map<RequestQueue::Ticket, std::string>& of) {
      if (of.empty()) return;
      const auto one = std::next(of.begin(), static_cast<ptrdiff_t>(random() % of.size()));
      queue.end(one->first);
      of.erase(one);
    };
    for (int step = 0; step < 300; ++step) {
      const uint32_t what = random() % 4;
      if (what < 2) {
        const std::string host = fmt::format("h{}", random() % 3);
        const std::string ns = random() % 5 == 0 ? "" : fmt::format("n{}", random() % 3);
        queue.add(++last, ns, host, random() % 7 == 0);
        waiting.emplace(last, host);
      } else {
        end_one(what == 2 ? running : waiting);
      }
      take_all();
      EXPECT_EQ(queue.load().total,
                (HttpLoad::Requests{.running = running.size(), .waiting = waiting.size()}))
          << seed;
    }
    while (!running.empty()) {
      end_one(running);
      take_all();
    }
    EXPECT_THAT(waiting, IsEmpty()) << seed;
    EXPECT_EQ(queue.load().total, HttpLoad::Requests()) << seed;
  }
}

}  // namespace
}  // namespace millrace
