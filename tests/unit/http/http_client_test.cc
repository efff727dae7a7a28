#include "http/http_client.h"

#include <atomic>
#include <cstdlib>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.h"
#include "tests/support/patience.h"
#include "tests/support/process.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Answer = Result<HttpAnswer>;

/// Sends a request and waits for its result.
Answer ask(HttpClient& client, HttpRequest request) {
  std::promise<Answer> answer;
  client.send(std::move(request),
              {.done = [&](Answer result) { answer.set_value(std::move(result)); }});
  return answer.get_future().get();
}

HttpPeer::Handler answers_with(std::string bytes, bool stays = false) {
  return [bytes, stays](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    connection.send(bytes);
    return stays;
  };
}

bool hangs(const HttpPeer::Request&, HttpPeer::Connection& connection) {
  connection.hang();
  return false;
}

std::string code_of(const Answer& answer) { return answer ? "" : answer.error().code; }

/// The code of a request to a peer that does not answer, after a timeout. If the time passes before
/// the request is sent, as on a busy machine, another request gets twice the time.
std::string code_after_timeout(HttpClient& client, const std::string& url) {
  std::string code(kHttpUnreachable);
  for (Duration time(50); code == kHttpUnreachable && time < kPatience; time *= 2) {
    code = code_of(ask(client, {.url = url, .timeout = time}));
  }
  return code;
}

TEST(HttpClient, SendsTheWholeRequestAndReturnsTheWholeResponse) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(418, "short and stout", {{"X-Kind", "tea"}, {"X-Kind", "pot"}});
  });
  HttpClient client;
  const Answer answer = ask(client, {.method = "PUT",
                                     .url = peer.url("/pots/1?full=yes"),
                                     .headers = {{"X-Name", "a value"}, {"X-Empty", ""}},
                                     .body = std::string("with a \0 byte", 13)});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 418);
  EXPECT_EQ(answer->body, "short and stout");
  EXPECT_THAT(answer->headers, testing::IsSupersetOf({testing::Pair("X-Kind", "tea"),
                                                      testing::Pair("X-Kind", "pot")}));
  EXPECT_FALSE(answer->retry_after);

  const HttpPeer::Request request = peer.requests(1).front();
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/pots/1?full=yes");
  EXPECT_EQ(request.header("X-Name"), "a value");
  EXPECT_NE(find_header(request.headers, "X-Empty"), nullptr);
  EXPECT_EQ(request.body, std::string("with a \0 byte", 13));
  EXPECT_EQ(find_header(request.headers, "Content-Type"), nullptr);
  EXPECT_EQ(find_header(request.headers, "Expect"), nullptr);
}

TEST(HttpClient, SendsALargeBodyWithoutAnExpectHeaderAndAnEmptyBodyWithItsLength) {
  HttpPeer peer(answers_with("HTTP/1.1 204 Fine\r\n\r\n", true));
  HttpClient client;
  const std::string large(size_t{3} << 20, 'x');
  EXPECT_TRUE(ask(client, {.url = peer.url(), .body = large}));
  EXPECT_TRUE(ask(client, {.url = peer.url()}));
  EXPECT_TRUE(ask(client, {.method = "OPTIONS", .url = peer.url()}));
  const auto requests = peer.requests(3);
  EXPECT_EQ(requests.at(0).body, large);
  EXPECT_EQ(requests.at(0).header("Expect"), "");
  EXPECT_EQ(requests.at(1).header("Content-Length"), "0");
  EXPECT_EQ(find_header(requests.at(2).headers, "Content-Length"), nullptr);
}

TEST(HttpClient, ReusesAConnection) {
  HttpPeer peer(answers_with("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok", true));
  HttpClient client;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(client, {.url = peer.url()})->body, "ok");
  EXPECT_EQ(peer.connections(), 1u);
}

TEST(HttpClient, ClosesAnIdleConnectionToReachAnotherHost) {
  const auto fine = answers_with("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok", true);
  HttpPeer one(fine);
  HttpPeer other(fine);
  HttpClient client({.connections = 1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(client, {.url = one.url()})->body, "ok");
    EXPECT_EQ(ask(client, {.url = other.url()})->body, "ok");
  }
}

TEST(HttpClient, SendsARequestAgainIfThePeerClosedTheConnectionThatItReuses) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return connection.answer(200, "ok") &&
           request.connection != 1;  // closes the first connection after the response
  });
  HttpClient client;
  EXPECT_EQ(ask(client, {.url = peer.url()})->body, "ok");
  EXPECT_EQ(ask(client, {.url = peer.url()})->body, "ok");
  EXPECT_EQ(peer.connections(), 2u);
}

TEST(HttpClient, NeverRepeatsARequestThatIsMarkedAsSendOnce) {
  constexpr size_t kIdle = 6;
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return request.target != "/dies" && gate.pass() && connection.answer(200, "ok");
  });
  HttpClient client;
  Heard<std::string> heard;
  const auto warm = [&] {
    for (size_t i = 0; i < kIdle; ++i) {
      client.send({.url = peer.url(), .body = "x"},
                  {.done = [&](const Answer& answer) { heard.add(answer->body); }});
    }
  };
  warm();
  ASSERT_EQ(peer.requests(kIdle).size(), kIdle);
  gate.open();
  ASSERT_EQ(heard.wait_for(kIdle).size(), kIdle);
  const Answer large = ask(
      client, {.url = peer.url("/dies"), .body = std::string(size_t{2} << 20, 'x'), .once = true});
  EXPECT_EQ(code_of(large), kHttpClosed);
  size_t sent = kIdle + 1;
  // Only a connection that was in use less than a second ago is reused.
  for (std::string why; why.find("the request is not sent again") == std::string::npos;) {
    const size_t before = heard.all().size();
    warm();
    ASSERT_EQ(heard.wait_for(before + kIdle).size(), before + kIdle);
    const Answer small = ask(client, {.url = peer.url("/dies"), .body = "{}", .once = true});
    ASSERT_EQ(code_of(small), kHttpClosed);
    why = small.error().message;
    sent += kIdle + 1;
  }
  const Answer empty = ask(client, {.url = peer.url("/dies"), .once = true});
  EXPECT_EQ(code_of(empty), kHttpClosed);
  ++sent;
  EXPECT_EQ(peer.requests(sent).size(), sent);
  EXPECT_EQ(ask(client, {.url = peer.url(), .body = "x", .once = true})->body, "ok");
  EXPECT_EQ(peer.requests(sent + 1).back().body, "x");
}

TEST(HttpClient, SendsARequestMarkedAsSendOnceEvenIfAnEarlierConnectionClosed) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return connection.answer(200, request.body) && request.connection != 1;
  });
  HttpClient client;
  EXPECT_EQ(ask(client, {.url = peer.url(), .body = "1", .once = true})->body, "1");
  peer.await_end(1);
  EXPECT_EQ(ask(client, {.url = peer.url(), .body = "2", .once = true})->body, "2");
  EXPECT_EQ(ask(client, {.url = peer.url(), .body = "3", .once = true})->body, "3");
}

TEST(HttpClient, ReportsAnErrorCodeForEachKindOfBadResponse) {
  const auto code = [](std::string bytes) {
    HttpPeer peer(answers_with(std::move(bytes)));
    HttpClient client;
    return code_of(ask(client, {.url = peer.url()}));
  };
  EXPECT_EQ(code(""), kHttpClosed);
  EXPECT_EQ(code("HTTP/1.1 200 Fi"), kHttpClosed);
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\nab"), kHttpClosed);
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), kHttpClosed);
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"),
            kHttpClosed);
  EXPECT_EQ(code("220 mail.example.com ESMTP\r\n"), kHttpProtocol);
  EXPECT_EQ(code("HTTP/7.5 200 Fine\r\n\r\n"), kHttpProtocol);
  EXPECT_EQ(code("HTTP/1.1 twenty\r\n\r\n"), kHttpProtocol);
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\nContent-Length: -7\r\n\r\n"), kHttpProtocol);
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok"), "");
  EXPECT_EQ(code("HTTP/1.1 200 Fine\r\n\r\nto the end"), "");
}

TEST(HttpClient, LimitsTheSizeOfAResponse) {
  const auto outcome = [](std::string bytes) {
    HttpPeer peer(answers_with(std::move(bytes)));
    HttpClient client;
    return ask(client, {.url = peer.url()});
  };
  const std::string fine = "HTTP/1.1 200 Fine\r\n";
  EXPECT_EQ(outcome(fine + "\r\n" + std::string(kMaxAnswerBytes, 'x'))->body.size(),
            kMaxAnswerBytes);
  EXPECT_EQ(code_of(outcome(fine + "\r\n" + std::string(kMaxAnswerBytes + 1, 'x'))), kHttpTooLarge);
  EXPECT_EQ(code_of(outcome(fine + "X: " + std::string(kMaxHeaderBytes, 'x') + "\r\n\r\n")),
            kHttpTooLarge);
  EXPECT_EQ(code_of(outcome(fine + "X: " + std::string(size_t{1} << 20, 'x'))), kHttpTooLarge);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "HTTP/1.1 102 Soon\r\n\r\n";
  EXPECT_EQ(code_of(outcome(many + fine + "\r\n")), kHttpTooLarge);
}

TEST(HttpClient, ReportsActivityForEveryByteOfAResponse) {
  Heard<std::string> heard;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    // The peer sends each byte only after the client has reported the previous one.
    connection.send("HTTP/1.1 102 Soon\r\n\r\n");
    const size_t before = heard.wait_for(2).size();
    connection.send("HTTP/1.1 200 Fine\r\nContent-Length: 3\r\n\r\n");
    size_t reported = heard.wait_for(before + 1).size();
    for (const char* byte : {"a", "b", "c"}) {
      connection.send(byte);
      reported = heard.wait_for(reported + 1).size();
    }
    return true;
  });
  HttpClient client;
  std::promise<Answer> answer;
  client.send({.url = peer.url()}, {.sent = [&] { heard.add("sent"); },
                                    .alive = [&] { heard.add("alive"); },
                                    .done = [&](Answer result) { answer.set_value(result); }});
  EXPECT_EQ(answer.get_future().get()->body, "abc");
  const auto all = heard.all();
  EXPECT_EQ(all.front(), "sent");
  EXPECT_EQ(std::count(all.begin(), all.end(), "sent"), 1);
}

TEST(HttpClient, DistinguishesATimeoutFromAnUnreachableHost) {
  HttpPeer peer(hangs);
  HttpClient client;
  EXPECT_EQ(code_after_timeout(client, peer.url()), kHttpTimeout);
  // No process listens on port 1.
  const Answer refused = ask(client, {.url = "http://user:word@127.0.0.1:1/path?token=t"});
  EXPECT_EQ(code_of(refused), kHttpUnreachable);
  EXPECT_THAT(refused.error().message, HasSubstr("POST http://127.0.0.1:1"));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("word")));
  EXPECT_THAT(refused.error().message, Not(HasSubstr("token")));
  EXPECT_EQ(code_of(ask(client, {.url = "http://unknown.invalid/"})), kHttpUnreachable);
}

TEST(HttpClient, RefusesInvalidRequests) {
  HttpClient client;
  for (const char* url : {"", "no url", "ftp://x", "file:///x", "http://", "http://x:99999/"}) {
    EXPECT_EQ(code_of(ask(client, {.url = url})), kHttpRequest) << url;
  }
  for (const char byte : {'\r', '\n', '\0'}) {
    EXPECT_EQ(code_of(ask(client, {.url = "http://x", .headers = {{"X", {byte}}}})), kHttpRequest);
  }
}

TEST(HttpClient, FollowsNoRedirect) {
  HttpPeer peer(answers_with(
      "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"));
  HttpClient client;
  EXPECT_EQ(ask(client, {.url = peer.url()})->status, 302);
}

TEST(HttpClient, UsesOnlyTheProxyOfItsSettings) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  HttpPeer peer(answers_with("HTTP/1.1 204 Fine\r\n\r\n"));
  HttpClient direct;
  EXPECT_EQ(ask(direct, {.url = peer.url()})->status, 204);
  HttpClient through({.proxy = peer.url()});
  EXPECT_EQ(ask(through, {.url = "http://far.invalid/x"})->status, 204);
  EXPECT_EQ(peer.requests(2).back().target, "http://far.invalid/x");
  ::unsetenv("http_proxy");
}

TEST(HttpClient, ReadsTheRetryAfterHeader) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return connection.answer(503, "", {{"Retry-After", request.body}});
  });
  HttpClient client;
  const auto retry_after = [&](const char* value) {
    return ask(client, {.url = peer.url(), .body = value})->retry_after;
  };
  EXPECT_EQ(retry_after("120"), std::chrono::seconds(120));
  EXPECT_EQ(retry_after("99999999999999"), std::chrono::hours(24));
  EXPECT_EQ(retry_after("Fri, 31 Dec 9999 23:59:59 GMT"), std::chrono::hours(24));
  EXPECT_EQ(retry_after("Fri, 31 Dec 1999 23:59:59 GMT"), Duration(0));
}

TEST(HttpClient, VerifiesTheTlsCertificateAndTheHostNameOfAServer) {
  const Folder folder;
  const std::string certificate = folder.path() / "cert.pem";
  const std::string key = folder.path() / "key.pem";
  const ProcessEnd made = run_process(
      {.command = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=peer",
                   "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key}});
  ASSERT_EQ(made.code, 0) << made.errors;
  const Process server({.command = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-www",
                                    "-cert", certificate, "-key", key}});
  const std::string prefix = "ACCEPT 127.0.0.1:";
  const auto port = [&]() -> std::string {
    const std::string output = server.output();
    const size_t at = output.find(prefix);
    const size_t end = output.find('\n', at);
    if (at == std::string::npos || end == std::string::npos) return "";
    return output.substr(at + prefix.size(), end - at - prefix.size());
  };
  ASSERT_TRUE(eventually([&] { return !port().empty(); }));

  HttpClient trusting({.connect_timeout = kPatience, .ca_file = certificate});
  const std::string url = "https://127.0.0.1:" + port();
  EXPECT_EQ(ask(trusting, {.method = "GET", .url = url})->status, 200);
  EXPECT_EQ(code_of(ask(trusting, {.method = "GET", .url = "https://localhost:" + port()})),
            kHttpTls);
  HttpClient untrusting({.connect_timeout = kPatience});
  EXPECT_EQ(code_of(ask(untrusting, {.method = "GET", .url = url})), kHttpTls);
  HttpClient without_file({.connect_timeout = kPatience, .ca_file = folder.path() / "none.pem"});
  EXPECT_EQ(code_of(ask(without_file, {.method = "GET", .url = url})), kHttpTls);
}

TEST(HttpClient, PassesAnAnswerOnAsItArrives) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    connection.send(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 203 Collected\r\nX-Kind: tea\r\n"
        "Connection: close\r\n\r\n");
    gate.pass();
    connection.send(std::string(kMaxAnswerBytes, 'x') + "end");
    return false;
  });
  HttpClient client;
  std::promise<HttpAnswer> head;
  std::promise<Answer> end;
  std::string body;
  client.send({.url = peer.url()},
              {.done = [&](Answer result) { end.set_value(std::move(result)); },
               .head =
                   [&](const HttpAnswer& answer) {
                     head.set_value(answer);
                     return true;
                   },
               .body =
                   [&](std::string_view bytes) {
                     body += bytes;
                     return true;
                   }});
  const HttpAnswer first = head.get_future().get();
  EXPECT_EQ(first.status, 203);
  EXPECT_THAT(first.headers, testing::Contains(testing::Pair("X-Kind", "tea")));
  gate.open();
  const Answer answer = end.get_future().get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 203);
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(body.size(), kMaxAnswerBytes + 3);
  EXPECT_TRUE(body.ends_with("xend"));
}

TEST(HttpClient, EndsARequestWhoseAnswerIsNotWanted) {
  HttpPeer peer(answers_with("HTTP/1.1 200 Fine\r\nContent-Length: 4\r\n\r\nbody", true));
  HttpClient client;
  for (const bool refuses_head : {true, false}) {
    std::promise<Answer> end;
    client.send({.url = peer.url()},
                {.done = [&](Answer result) { end.set_value(std::move(result)); },
                 .head = [=](const HttpAnswer&) { return !refuses_head; },
                 .body =
                     [=](std::string_view) {
                       EXPECT_FALSE(refuses_head);
                       return false;
                     }});
    EXPECT_EQ(code_of(end.get_future().get()), kHttpCancelled) << refuses_head;
  }
}

TEST(HttpClient, CancelsWaitingAndRunningRequests) {
  HttpPeer peer(hangs);
  HttpClient client({.connections_per_host = 1});
  Heard<std::string> heard;
  const auto watch = [&](std::string name) {
    return HttpWatch{
        .done = [&heard, name](const Answer& answer) { heard.add(name + " " + code_of(answer)); }};
  };
  const auto running = client.send({.url = peer.url()}, watch("running"));
  const auto waiting = client.send({.url = peer.url()}, watch("waiting"));
  EXPECT_EQ(peer.requests(1).size(), 1u);
  client.cancel(waiting);
  EXPECT_THAT(heard.wait_for(1), ElementsAre("waiting http.cancelled"));
  client.cancel(running);
  client.cancel(running);
  client.cancel(12345);
  EXPECT_THAT(heard.wait_for(2), ElementsAre("waiting http.cancelled", "running http.cancelled"));
  EXPECT_EQ(peer.requests(1).size(), 1u);
}

TEST(HttpClient, CancelsAllRequestsInItsDestructor) {
  HttpPeer peer(hangs);
  Heard<std::string> heard;
  {
    HttpClient client({.connections_per_host = 1});
    for (int i = 0; i < 3; ++i) {
      client.send({.url = peer.url()}, {.done = [&](const Answer& answer) {
                    heard.add(code_of(answer));
                    client.send({.url = peer.url()},
                                {.done = [&](const Answer& late) { heard.add(code_of(late)); }});
                  }});
    }
    peer.requests(1);
  }
  EXPECT_THAT(heard.all(), testing::AllOf(testing::SizeIs(6), testing::Each("http.cancelled")));
}

TEST(HttpClient, LimitsItsConnectionsSoThatNoHostDelaysAnother) {
  Gate gate;
  std::atomic<int> at_once = 0;
  std::atomic<bool> too_many = false;
  HttpPeer slow([&](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    if (++at_once > 2) too_many = true;
    gate.pass();
    --at_once;  // before the response, after which the next request may start
    return connection.answer(200, "slow");
  });
  HttpPeer fast(answers_with("HTTP/1.1 200 Fine\r\nContent-Length: 4\r\n\r\nfast", true));
  HttpClient client({.connections = 3, .connections_per_host = 2});
  Heard<std::string> heard;
  const HttpWatch watch{.done = [&](const Answer& answer) { heard.add(answer->body); }};
  for (int i = 0; i < 20; ++i) client.send({.url = slow.url()}, watch);
  for (int i = 0; i < 20; ++i) client.send({.url = fast.url()}, watch);
  EXPECT_THAT(heard.wait_for(20), testing::Each("fast"));
  EXPECT_EQ(slow.requests(2).size(), 2u);
  gate.open();
  EXPECT_EQ(heard.wait_for(40).size(), 40u);
  EXPECT_FALSE(too_many);
  EXPECT_EQ(slow.connections(), 2u);
  EXPECT_EQ(fast.connections(), 1u);
}

TEST(HttpClient, SendsRequestsOfANamespaceWhilePeersOfAnotherDoNotAnswer) {
  HttpPeer silent(hangs);
  HttpPeer healthy(answers_with("HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok", true));
  HttpClient client({.connections = 8, .connections_per_host = 8});
  for (int i = 0; i < 20; ++i) {
    client.send({.url = silent.url(), .ns = "greedy"}, {.done = [](const Answer&) {}});
  }
  EXPECT_EQ(silent.requests(4).size(), 4u);
  EXPECT_EQ(ask(client, {.url = healthy.url(), .ns = "shop"})->body, "ok");
  EXPECT_EQ(client.load().namespaces.at("greedy"),
            (HttpLoad::Requests{.running = 4, .waiting = 16}));
  EXPECT_EQ(client.load().total, (HttpLoad::Requests{.running = 4, .waiting = 16}));
}

TEST(HttpClient, SendsUrgentRequestsBeforeWaitingOnes) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.target == "/first") connection.hang();
    return connection.answer(200, "");
  });
  HttpClient client({.connections_per_host = 1});
  Heard<std::string> heard;
  const HttpWatch watch{.done = [&](const Answer&) { heard.add("done"); }};
  const auto first = client.send({.url = peer.url("/first")}, watch);
  client.send({.url = peer.url("/second")}, watch);
  client.send({.url = peer.url("/third")}, watch);
  peer.requests(1);
  client.send({.url = peer.url("/urgent"), .urgent = true}, watch);
  client.cancel(first);
  heard.wait_for(4);
  std::vector<std::string> targets;
  for (const HttpPeer::Request& request : peer.requests(4)) targets.push_back(request.target);
  EXPECT_THAT(targets, ElementsAre("/first", "/urgent", "/second", "/third"));
}

TEST(HttpClient, ServesManyThreadsAtOnce) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return connection.answer(200, request.body);
  });
  HttpClient client({.connections_per_host = 8});
  Heard<bool> heard;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const std::string body = fmt::format("{}-{}", thread, i);
        const auto ticket = client.send(
            {.url = peer.url(), .body = body}, {.done = [&, body](const Answer& answer) {
              heard.add(answer ? answer->body == body : answer.error().code == kHttpCancelled);
            }});
        if (i % 10 == 0) client.cancel(ticket);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(heard.wait_for(400), testing::AllOf(testing::SizeIs(400), testing::Each(true)));
}

}  // namespace
}  // namespace millrace
