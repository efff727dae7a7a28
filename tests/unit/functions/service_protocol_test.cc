#include "functions/service_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/functions/service_peer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The end of a call, as in_words() gives it.
std::string call(const std::string& url, const Task& task = task_for(""),
                 const std::string& folder = "") {
  Heard<std::string> heard;
  HttpClient client;
  call_service(client, url, task, folder,
               {.done = [&](const TaskEnded& ended) { heard.add(in_words(ended)); }});
  const auto all = heard.wait_for(1);
  return all.empty() ? "" : all.front();
}

/// The end of a call that `handler` answers.
std::string end_of(HttpPeer::Handler handler) {
  HttpPeer peer(std::move(handler));
  return call(peer.url());
}

TEST(ServiceProtocol, PostsTheInputWithTheHeadersOfTheTask) {
  HttpPeer peer(answers(200, R"({"paid":true})"));
  Task task = task_for(peer.url("/pay"));
  task.call = "i-7-0";
  task.deadline = *parse_rfc3339("2021-09-01T12:00:00Z");
  EXPECT_EQ(call(peer.url("/pay"), task), R"(ended {"paid":true})");

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
  EXPECT_EQ(request.header("Millrace-Call"), "i-7-0");
  EXPECT_EQ(request.header("Direktiv-Deadline"), "2021-09-01T12:00:00.000Z");
  EXPECT_EQ(find_header(request.headers, "Direktiv-TempDir"), nullptr);

  EXPECT_EQ(find_header(request.headers, "Millrace-Epoch"), nullptr);

  EXPECT_EQ(find_header(request.headers, "Millrace-Files"), nullptr);
  EXPECT_EQ(find_header(request.headers, "Millrace-Key"), nullptr);

  EXPECT_EQ(find_header(request.headers, "Millrace-Last-Progress"), nullptr);

  task.epoch = 18;
  task.progress = R"({"done":3})";
  task.folder = {.url = "http://m/v1/tasks/1/files", .key = "0f"};
  call(peer.url("/pay"), task, "/mnt/files");
  EXPECT_EQ(peer.requests(2).back().header("Direktiv-TempDir"), "/mnt/files");
  EXPECT_EQ(peer.requests(2).back().header("Millrace-Epoch"), "18");
  EXPECT_EQ(peer.requests(2).back().header("Millrace-Last-Progress"), R"({"done":3})");
  EXPECT_EQ(peer.requests(2).back().header("Millrace-Files"), "http://m/v1/tasks/1/files");
  EXPECT_EQ(peer.requests(2).back().header("Millrace-Key"), "0f");
}

TEST(ServiceProtocol, TakesAnErrorCodeWhateverTheHttpStatusIs) {
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

TEST(ServiceProtocol, RefusesAMalformedErrorCode) {
  EXPECT_THAT(
      end_of(answers(200, "",
                     {{"Direktiv-ErrorCode", "no code!"}, {"Direktiv-ErrorMessage", "it broke"}})),
      AllOf(StartsWith("millrace.function.status: "), HasSubstr("\"no code!\""),
            HasSubstr("it broke")));
  EXPECT_THAT(end_of(answers(200, "", {{"Direktiv-ErrorCode", std::string(129, 'x')}})),
              StartsWith("millrace.function.status: "));
}

TEST(ServiceProtocol, FailsOnAnHttpErrorStatusAndShowsTheFirstBytesOfTheAnswer) {
  EXPECT_EQ(end_of(answers(500, "out of paper")),
            "millrace.function.status: the function answered with HTTP 500: out of paper");
  EXPECT_THAT(end_of(answers(404)), StartsWith("millrace.function.status: "));
  EXPECT_THAT(end_of(answers(302, "", {{"Location", "/there"}})),
              StartsWith("millrace.function.status: "));
  EXPECT_EQ(end_of(answers(204)), "ended ");
  // The text is cut between two characters; bytes that are not UTF-8 are replaced.
  EXPECT_EQ(end_of(answers(500, std::string(255, 'a') + "\xC3\xA4 and so on")),
            "millrace.function.status: the function answered with HTTP 500: " +
                std::string(255, 'a') + "...");
  EXPECT_EQ(end_of(answers(500, "caf\xE9")),
            "millrace.function.status: the function answered with HTTP 500: caf?");
}

TEST(ServiceProtocol, ReportsAServiceWithoutAnAnswerAsUnavailable) {
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

  EXPECT_THAT(call("http://127.0.0.1:1"), is_unavailable);  // no process listens there
  EXPECT_THAT(call("gopher://127.0.0.1"), StartsWith("millrace.function.unavailable: "));
}

TEST(ServiceProtocol, AcceptsAnAnswerUpToTheMaximumSize) {
  const std::string largest(kMaxAnswerBytes, 'x');
  EXPECT_EQ(end_of(answers(200, largest)), "ended " + largest);
  EXPECT_THAT(end_of(answers(200, largest + "x")), StartsWith("millrace.function.tooLarge: "));
}

TEST(ServiceProtocol, ReadsRetryAfterFromA429AndA503) {
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

TEST(ServiceProtocol, SendsTheDeadlineOfTheAttempt) {
  const auto deadline = [](const Task& task) {
    HttpPeer peer(answers(200, "done"));
    call(peer.url(), task);
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

TEST(ServiceProtocol, SendsAnHttpDeleteToStopATask) {
  HttpPeer peer(answers(204));
  HttpClient client;
  stop_service(client, peer.url("/pay"), task_for(""));
  const auto requests = peer.requests(1);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests.front().method, "DELETE");
  EXPECT_EQ(requests.front().target, "/pay");
  EXPECT_EQ(requests.front().header("Direktiv-ActionID"), to_string(task_for("").id));
}

}  // namespace
}  // namespace millrace
