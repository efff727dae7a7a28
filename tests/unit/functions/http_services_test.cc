#include "functions/http_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "tests/support/patience.h"
#include "tests/unit/functions/service_peer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

/// Records each report as a word: `started`, `alive`, or `ended` with the result or the error.
class RecordingSink : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()>) override {
    std::string word = "?";
    if (std::holds_alternative<TaskStarted>(report.what)) word = "started";
    if (std::holds_alternative<TaskHeartbeat>(report.what)) word = "alive";
    if (std::holds_alternative<TaskAccepted>(report.what)) word = "accepted";
    if (auto* const ended = std::get_if<TaskEnded>(&report.what)) {
      word = in_words(*ended);
      for (const TaskVariable& variable : ended->variables) word += " +" + variable.key;
    }
    words.add(std::move(word));
  }

  Heard<std::string> words;
};

bool hangs(const HttpPeer::Request&, HttpPeer::Connection& connection) {
  connection.hang();
  return false;
}

TEST(HttpServices, SendsOneRequestForAnAttemptEvenIfItsConnectionBreaks) {
  constexpr size_t kIdle = 6;
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.target == "/dies") return false;
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink);
  for (uint8_t i = 0; i < kIdle; ++i) services.run(task_for(peer.url("/warms"), i));
  ASSERT_EQ(peer.requests(kIdle).size(), kIdle);
  gate.open();
  ASSERT_EQ(sink.words.wait_for(2 * kIdle).size(), 2 * kIdle);
  ASSERT_EQ(peer.connections(), kIdle) << "the connections stay open and may be reused";

  services.run(task_for(peer.url("/dies"), 100));
  EXPECT_THAT(sink.words.wait_for(2 * kIdle + 2).back(),
              StartsWith("millrace.function.unavailable: "));
  EXPECT_EQ(peer.requests(kIdle + 1).size(), kIdle + 1);
}

TEST(HttpServices, CountsEachByteOfTheAnswerAsAHeartbeat) {
  constexpr Duration kQuiet{5};
  Gate byte;
  Gate end;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.send("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\n") && byte.pass() &&
           connection.send("a") && end.pass() && connection.send("b");
  });
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink);
  const Task task = task_for(peer.url());
  EXPECT_EQ(services.since_heartbeat(task.id), std::nullopt);
  services.run(task);
  sink.words.wait_for(1);
  const auto comes_to = [&](const auto& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  };
  ASSERT_TRUE(comes_to([&] { return services.since_heartbeat(task.id) >= kQuiet; }));
  const auto before = std::chrono::steady_clock::now();
  byte.open();
  EXPECT_TRUE(comes_to([&] {
    const auto since = std::chrono::steady_clock::now() - before;
    return services.since_heartbeat(task.id) < std::chrono::floor<Duration>(since) + kQuiet;
  })) << "the byte does not count as a heartbeat";
  end.open();
  EXPECT_THAT(sink.words.wait_for(2), ElementsAre("started", "ended ab"));
  EXPECT_TRUE(comes_to([&] { return !services.since_heartbeat(task.id); }));
}

TEST(HttpServices, ReportsTheStartOfATaskAgainWhenItsStartIsChecked) {
  HttpPeer peer(hangs);
  HttpClient client({.connections_per_host = 1});
  RecordingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url()));
  services.run(task_for(peer.url(), 2));
  sink.words.wait_for(1);
  EXPECT_TRUE(services.check_started(task_for("").id));
  EXPECT_FALSE(services.check_started(task_for("", 2).id)) << "the task waits for a connection";
  EXPECT_FALSE(services.check_started(task_for("", 3).id));
  EXPECT_THAT(sink.words.wait_for(2), ElementsAre("started", "started"));
}

TEST(HttpServices, ReportsTheStartOfATaskWhenItsRequestIsSent) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client({.connections_per_host = 1});
  RecordingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url("/first")));
  services.run(task_for(peer.url("/second"), 2));
  peer.requests(1);
  EXPECT_THAT(sink.words.wait_for(1), ElementsAre("started"));
  gate.open();
  EXPECT_THAT(sink.words.wait_for(4),
              ElementsAre("started", "ended done", "started", "ended done"));
}

TEST(HttpServices, SendsATaskOnceIfItIsHandedOutTwice) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url()));
  services.run(task_for(peer.url()));
  gate.open();
  sink.words.wait_for(2);
  services.run(task_for(peer.url(), 2));
  EXPECT_THAT(sink.words.wait_for(4),
              ElementsAre("started", "ended done", "started", "ended done"));
  EXPECT_EQ(peer.requests(2).size(), 2u);
}

TEST(HttpServices, EndsTheRequestOfAStoppedTaskAndSendsAnHttpDelete) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return request.method == "DELETE" ? connection.answer(204) : hangs(request, connection);
  });
  HttpClient client({.connections_per_host = 1});
  RecordingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url("/pay")));
  const Task waiting = task_for(peer.url("/pay"), 2);
  services.run(waiting);
  sink.words.wait_for(1);
  peer.requests(1);
  services.stop(waiting.id);  // it was not sent, so no DELETE is sent
  services.stop(task_for("").id);
  services.stop(*parse_instance_id("0190b5a4-7c1e-7f2a-8000-00000000ffff"));

  const auto requests = peer.requests(2);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests.back().method, "DELETE");
  EXPECT_EQ(requests.back().target, "/pay");
  EXPECT_EQ(requests.back().header("Direktiv-ActionID"), to_string(task_for("").id));
  EXPECT_THAT(sink.words.all(), ElementsAre("started"));
}

TEST(HttpServices, EndsACallWithoutATimeoutAfterTheTimeForSuchCalls) {
  Heard<std::string> deleted;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.method != "DELETE") return hangs(request, connection);
    deleted.add(request.header("Direktiv-ActionID"));
    return connection.answer(204);
  });
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink, Duration(50));
  // On a busy machine the time may pass before the request is sent; then another call is made.
  std::string end;
  uint8_t number = 0;
  for (size_t words = 0; number < 100 && !end.starts_with("millrace.timeout."); ++number) {
    services.run(task_for(peer.url("/pay"), number));
    do {
      end = sink.words.wait_for(words + 1).at(words);
      ++words;
    } while (end == "started");
  }
  EXPECT_THAT(end, StartsWith("millrace.timeout.startToClose: the service did not answer within "));
  const std::string id = to_string(task_for("", static_cast<uint8_t>(number - 1)).id);
  EXPECT_THAT(deleted.wait_for(1), testing::Contains(id)) << "the service may stop its work";
}

TEST(HttpServices, SendsAndReportsNothingMoreWhenItIsDestroyed) {
  HttpPeer peer(hangs);
  HttpClient client;
  RecordingSink sink;
  {
    HttpServices services(client, sink);
    services.run(task_for(peer.url()));
    sink.words.wait_for(1);
  }
  EXPECT_THAT(sink.words.all(), ElementsAre("started"));
  EXPECT_EQ(peer.requests(1).size(), 1u);
}

TEST(HttpServices, ReportsThatAServiceHasAcceptedATaskThatHasACallback) {
  const Headers accepted = {{"Millrace-Answer", "accepted"}};
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.target == "/fails") return connection.answer(500, "no", accepted);
    if (request.target == "/later")
      return connection.answer(200, "later", {{"Millrace-Answer", "x"}});
    return connection.answer(202, "yes", accepted);
  });
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink);
  size_t words = 0;
  const auto last_word = [&](Task task, const std::string& url) {
    if (!url.empty()) task.callback = {.url = url, .key = "k"};
    services.run(task);
    return sink.words.wait_for(words += 2).back();
  };
  const std::string url = "http://millrace/v1/ns/shop/callbacks/k";
  EXPECT_EQ(last_word(task_for(peer.url()), url), "accepted");
  EXPECT_EQ(peer.requests(1)[0].header("Millrace-Callback"), url);
  EXPECT_EQ(last_word(task_for(peer.url(), 2), ""), "ended yes") << "it cannot answer later";
  EXPECT_EQ(last_word(task_for(peer.url("/later"), 3), url),
            "millrace.function.status: the header Millrace-Answer of the answer is \"x\"; "
            "expected: \"accepted\"");
  EXPECT_THAT(last_word(task_for(peer.url("/fails"), 4), url),
              StartsWith("millrace.function.status: "));
}

TEST(HttpServices, RefusesATaskWithFiles) {
  HttpPeer peer(answers(200));
  HttpClient client;
  RecordingSink sink;
  HttpServices services(client, sink);
  Task task = task_for(peer.url());
  task.files.push_back({.name = "order.json"});
  services.run(task);
  EXPECT_THAT(sink.words.wait_for(1), ElementsAre(StartsWith("millrace.function.files: ")));
}

TEST(HttpServices, EndsEachTaskAtMostOnceWhenManyThreadsRunAndStopTasks) {
  HttpPeer peer(answers(200, "done"));
  HttpClient client;
  RecordingSink sink;
  {
    HttpServices services(client, sink);
    std::vector<std::thread> threads;
    for (uint8_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (uint8_t i = 0; i < 100; ++i) {
          Task task = task_for(peer.url(), i);
          task.id.bytes[14] = thread;
          services.run(task);
          if (i % 4 == 0) services.stop(task.id);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Tasks that are not stopped must end. Some of the stopped tasks may end before they are
    // stopped.
    const auto ends = [](const std::vector<std::string>& all) {
      return std::count(all.begin(), all.end(), "ended done");
    };
    sink.words.wait_until([&](const auto& all) { return ends(all) >= 300; });
    EXPECT_GE(ends(sink.words.all()), 300);
    EXPECT_LE(ends(sink.words.all()), 400);
  }
}

}  // namespace
}  // namespace millrace
