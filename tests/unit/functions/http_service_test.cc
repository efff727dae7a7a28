#include "functions/http_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Hears each report as a word: `started`, `alive`, and `ended` with the result or the error.
class HearingSink : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()>) override {
    std::string word = "?";
    if (std::holds_alternative<TaskStarted>(report.what)) word = "started";
    if (std::holds_alternative<TaskAlive>(report.what)) word = "alive";
    if (auto* const ended = std::get_if<TaskEnded>(&report.what)) {
      word = ended->result ? "ended " + *ended->result
                           : ended->result.error().code + ": " + ended->result.error().message;
      for (const TaskVariable& variable : ended->variables) word += " +" + variable.key;
    }
    heard.add(std::move(word));
  }

  Heard<std::string> heard;
};

Task task_for(std::string url, uint8_t number = 1) {
  Task task;
  task.id = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000000");
  task.id.bytes[15] = number;
  task.instance = *parse_instance_id("0190b5a4-7c1e-7f2a-8000-000000000002");
  task.space = "shop";
  task.state = "charge";
  task.attempt = 3;
  task.target = HttpService{std::move(url)};
  task.input = R"({"total":12})";
  return task;
}

/// What is told at last of one task whose service does that.
std::string end_of(HttpPeer::Handler handler) {
  HttpPeer peer(std::move(handler));
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url()));
  return sink.heard.wait_for(2).back();
}

HttpPeer::Handler answers(int status, std::string body = "", Headers headers = {}) {
  return [=](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(status, body, headers);
  };
}

bool hangs(const HttpPeer::Request&, HttpPeer::Connection& connection) {
  connection.hang();
  return false;
}

TEST(HttpServices, PostTheInputAndSayWhatOf) {
  HttpPeer peer(answers(200, R"({"paid":true})"));
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  Task task = task_for(peer.url("/pay"));
  task.deadline = *parse_rfc3339("2021-09-01T12:00:00Z");
  services.run(task);
  EXPECT_THAT(sink.heard.wait_for(2), ElementsAre("started", R"(ended {"paid":true})"));

  const HttpPeer::Request request = peer.requests(1).front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/pay");
  EXPECT_EQ(request.body, R"({"total":12})");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.header("Direktiv-ActionID"), "0190b5a4-7c1e-7f2a-8000-000000000001");
  EXPECT_EQ(request.header("Direktiv-InstanceID"), "0190b5a4-7c1e-7f2a-8000-000000000002");
  EXPECT_EQ(request.header("Direktiv-Namespace"), "shop");
  EXPECT_EQ(request.header("Direktiv-Step"), "charge");
  EXPECT_EQ(request.header("Direktiv-Attempt"), "3");
  EXPECT_EQ(request.header("Direktiv-Deadline"), "2021-09-01T12:00:00.000Z");
  EXPECT_EQ(find_header(request.headers, "Direktiv-TempDir"), nullptr);
}

TEST(HttpServices, AnErrorCodeIsTheFunctionsErrorWhateverTheStatus) {
  const Headers error = {{"direktiv-errorcode", "card.declined"},
                         {"direktiv-errormessage", "no funds"}};
  EXPECT_EQ(end_of(answers(200, "ignored", error)), "card.declined: no funds");
  EXPECT_EQ(end_of(answers(500, "ignored", error)), "card.declined: no funds");
  EXPECT_EQ(end_of(answers(200, "", {{"Direktiv-ErrorCode", "alone"}})), "alone: ");
  const std::string text(4000, 'x');
  EXPECT_EQ(
      end_of(answers(200, "", {{"Direktiv-ErrorCode", "a"}, {"Direktiv-ErrorMessage", text}})),
      "a: " + text);
  EXPECT_EQ(
      end_of(answers(200, "", {{"Direktiv-ErrorCode", "a"}, {"Direktiv-ErrorMessage", "caf\xE9"}})),
      "a: caf?");
  EXPECT_EQ(end_of(answers(200, "fine", {{"Direktiv-ErrorCode", ""}})), "ended fine");
  EXPECT_EQ(end_of(answers(200, "fine", {{"Direktiv-ErrorMessage", "of nothing"}})), "ended fine");
}

TEST(HttpServices, AnErrorCodeMustBeAnIdentifier) {
  EXPECT_THAT(
      end_of(answers(200, "",
                     {{"Direktiv-ErrorCode", "no code!"}, {"Direktiv-ErrorMessage", "it broke"}})),
      AllOf(StartsWith("millrace.function.status: "), HasSubstr("\"no code!\""),
            HasSubstr("it broke")));
  EXPECT_THAT(end_of(answers(200, "", {{"Direktiv-ErrorCode", std::string(129, 'x')}})),
              StartsWith("millrace.function.status: "));
}

TEST(HttpServices, AnotherStatusThanSuccessIsAnErrorThatShowsTheHeadOfTheAnswer) {
  EXPECT_EQ(end_of(answers(500, "out of paper")),
            "millrace.function.status: the function answered with HTTP 500: out of paper");
  EXPECT_THAT(end_of(answers(404)), StartsWith("millrace.function.status: "));
  EXPECT_THAT(end_of(answers(302, "", {{"Location", "/there"}})),
              StartsWith("millrace.function.status: "));
  EXPECT_EQ(end_of(answers(204)), "ended ");
  // Cut between two characters; what is no UTF-8 becomes ASCII.
  EXPECT_EQ(end_of(answers(500, std::string(255, 'a') + "\xC3\xA4 and so on")),
            "millrace.function.status: the function answered with HTTP 500: " +
                std::string(255, 'a') + "...");
  EXPECT_EQ(end_of(answers(500, "caf\xE9")),
            "millrace.function.status: the function answered with HTTP 500: caf?");
}

TEST(HttpServices, AServiceThatGivesNoAnswerIsUnavailable) {
  const auto sends = [](std::string bytes) {
    return end_of([=](const HttpPeer::Request&, HttpPeer::Connection& connection) {
      connection.send(bytes);
      return false;
    });
  };
  const auto is_unavailable = StartsWith("millrace.function.unavailable: POST http://127.0.0.1:");
  EXPECT_THAT(sends(""), is_unavailable);
  EXPECT_THAT(sends("HTTP/1.1 200 Fine\r\nContent-Length: 9\r\n\r\nhal"), is_unavailable);
  EXPECT_THAT(sends("what?\r\n\r\n"), is_unavailable);

  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for("http://127.0.0.1:1"));  // where nobody listens
  EXPECT_THAT(sink.heard.wait_for(1), ElementsAre(is_unavailable));
  services.run(task_for("gopher://127.0.0.1", 2));
  EXPECT_THAT(sink.heard.wait_for(2).back(), StartsWith("millrace.function.unavailable: "));
}

TEST(HttpServices, AnAttemptIsOneRequestWhateverBecomesOfItsConnection) {
  constexpr size_t kIdle = 6;
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.target == "/dies") return false;
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  for (uint8_t i = 0; i < kIdle; ++i) services.run(task_for(peer.url("/warms"), i));
  ASSERT_EQ(peer.requests(kIdle).size(), kIdle);
  gate.open();
  ASSERT_EQ(sink.heard.wait_for(2 * kIdle).size(), 2 * kIdle);
  ASSERT_EQ(peer.connections(), kIdle) << "they stay, and may be used again";

  services.run(task_for(peer.url("/dies"), 100));
  EXPECT_THAT(sink.heard.wait_for(2 * kIdle + 2).back(),
              StartsWith("millrace.function.unavailable: "));
  EXPECT_EQ(peer.requests(kIdle + 1).size(), kIdle + 1);
}

TEST(HttpServices, AnAnswerMayBeOfTheLargestSizeAndNoLarger) {
  const std::string largest(kMaxAnswerBytes, 'x');
  EXPECT_EQ(end_of(answers(200, largest)), "ended " + largest);
  EXPECT_THAT(end_of(answers(200, largest + "x")), StartsWith("millrace.function.tooLarge: "));
}

TEST(HttpServices, SilenceIsCountedFromTheLastByteOfTheAnswer) {
  constexpr Duration kQuiet{5};
  Gate byte;
  Gate end;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.send("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\n") && byte.pass() &&
           connection.send("a") && end.pass() && connection.send("b");
  });
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  const Task task = task_for(peer.url());
  EXPECT_EQ(services.silence(task.id), std::nullopt);
  services.run(task);
  sink.heard.wait_for(1);
  const auto comes_to = [&](const auto& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  };
  ASSERT_TRUE(comes_to([&] { return services.silence(task.id) >= kQuiet; }));
  const auto before = std::chrono::steady_clock::now();
  byte.open();
  EXPECT_TRUE(comes_to([&] {
    const auto since = std::chrono::steady_clock::now() - before;
    return services.silence(task.id) < std::chrono::floor<Duration>(since) + kQuiet;
  })) << "the byte is not a sign of life";
  end.open();
  EXPECT_THAT(sink.heard.wait_for(2), ElementsAre("started", "ended ab"));
  EXPECT_TRUE(comes_to([&] { return !services.silence(task.id); }));
}

TEST(HttpServices, LookReportsAStartedTaskAgain) {
  HttpPeer peer(hangs);
  HttpClient client({.connections_per_host = 1});
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url()));
  services.run(task_for(peer.url(), 2));
  sink.heard.wait_for(1);
  EXPECT_TRUE(services.look(task_for("").id));
  EXPECT_FALSE(services.look(task_for("", 2).id)) << "it waits for a connection";
  EXPECT_FALSE(services.look(task_for("", 3).id));
  EXPECT_THAT(sink.heard.wait_for(2), ElementsAre("started", "started"));
}

TEST(HttpServices, RetryAfterIsReadFromA429AndA503) {
  const auto retry_after = [](int status, Headers headers) {
    HttpAnswer answer{.status = status, .headers = std::move(headers)};
    answer.retry_after = std::chrono::seconds(30);
    return read_answer(std::move(answer)).retry_after;
  };
  EXPECT_EQ(retry_after(429, {}), std::chrono::seconds(30));
  EXPECT_EQ(retry_after(503, {}), std::chrono::seconds(30));
  EXPECT_EQ(retry_after(503, {{"Direktiv-ErrorCode", "busy"}}), std::chrono::seconds(30));
  EXPECT_EQ(retry_after(500, {}), std::nullopt);
  EXPECT_EQ(retry_after(200, {}), std::nullopt);
}

TEST(HttpServices, TheDeadlineIsThatOfTheAttempt) {
  const auto deadline = [](Task task) {
    HttpPeer peer(answers(200, "done"));
    task.target = HttpService{peer.url()};
    HttpClient client;
    HearingSink sink;
    HttpServices services(client, sink);
    services.run(std::move(task));
    return parse_rfc3339(peer.requests(1).front().header("Direktiv-Deadline"));
  };
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  Task task = task_for("");
  task.start_to_close = std::chrono::hours(1);
  EXPECT_GE(*deadline(task), now + std::chrono::hours(1));
  EXPECT_LE(*deadline(task), now + std::chrono::hours(2));
  task.deadline = now + std::chrono::minutes(1);
  EXPECT_EQ(*deadline(task), *task.deadline);
}

TEST(HttpServices, ATaskHasStartedWhenItsRequestGoesOut) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client({.connections_per_host = 1});
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url("/first")));
  services.run(task_for(peer.url("/second"), 2));
  peer.requests(1);
  EXPECT_THAT(sink.heard.wait_for(1), ElementsAre("started"));
  gate.open();
  EXPECT_THAT(sink.heard.wait_for(4),
              ElementsAre("started", "ended done", "started", "ended done"));
}

TEST(HttpServices, ATaskThatIsRunTwiceAtATimeIsSentOnce) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return gate.pass() && connection.answer(200, "done");
  });
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url()));
  services.run(task_for(peer.url()));
  gate.open();
  sink.heard.wait_for(2);
  services.run(task_for(peer.url(), 2));
  EXPECT_THAT(sink.heard.wait_for(4),
              ElementsAre("started", "ended done", "started", "ended done"));
  EXPECT_EQ(peer.requests(2).size(), 2u);
}

TEST(HttpServices, StopEndsTheRequestAndAsksTheServiceToEndToo) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return request.method == "DELETE" ? connection.answer(204) : hangs(request, connection);
  });
  HttpClient client({.connections_per_host = 1});
  HearingSink sink;
  HttpServices services(client, sink);
  services.run(task_for(peer.url("/pay")));
  const Task waiting = task_for(peer.url("/pay"), 2);
  services.run(waiting);
  sink.heard.wait_for(1);
  peer.requests(1);
  services.stop(waiting.id);  // nothing was sent of it, so nobody is asked to end it
  services.stop(task_for("").id);
  services.stop(*parse_instance_id("0190b5a4-7c1e-7f2a-8000-00000000ffff"));

  const auto requests = peer.requests(2);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests.back().method, "DELETE");
  EXPECT_EQ(requests.back().target, "/pay");
  EXPECT_EQ(requests.back().header("Direktiv-ActionID"), to_string(task_for("").id));
  EXPECT_THAT(sink.heard.all(), ElementsAre("started"));
}

TEST(HttpServices, AtItsEndNobodyIsAskedToEndAndNothingIsTold) {
  HttpPeer peer(hangs);
  HttpClient client;
  HearingSink sink;
  {
    HttpServices services(client, sink);
    services.run(task_for(peer.url()));
    sink.heard.wait_for(1);
  }
  EXPECT_THAT(sink.heard.all(), ElementsAre("started"));
  EXPECT_EQ(peer.requests(1).size(), 1u);
}

TEST(HttpServices, FilesNeedAFolderThatIsShared) {
  HttpPeer peer(answers(200));
  HttpClient client;
  HearingSink sink;
  HttpServices services(client, sink);
  Task task = task_for(peer.url());
  task.files.push_back({.name = "order.json"});
  services.run(task);
  EXPECT_THAT(sink.heard.wait_for(1), ElementsAre(StartsWith("millrace.function.files: ")));
}

TEST(HttpServices, TasksThatAreRunAndStoppedByManyThreadsEachEndOnce) {
  HttpPeer peer(answers(200, "done"));
  HttpClient client;
  HearingSink sink;
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
    // Those that are not stopped end; of the others some may have been quicker.
    const auto ends = [](const std::vector<std::string>& all) {
      return std::count(all.begin(), all.end(), "ended done");
    };
    sink.heard.wait_until([&](const auto& all) { return ends(all) >= 300; });
    EXPECT_GE(ends(sink.heard.all()), 300);
    EXPECT_LE(ends(sink.heard.all()), 400);
  }
}

}  // namespace
}  // namespace millrace
