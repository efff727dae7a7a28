// AnswerForwarder passes bytes on, and reports the answers that the OpenAPI document does not
// describe. Where the answers must have faults, the test itself is the server.
#include "tests/support/answer_forwarder.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include "tests/support/held_port.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A server whose answers the test writes.
class WrittenServer {
 public:
  WrittenServer() { CHECK(::listen(port_.fd(), 4) == 0); }

  uint16_t port() const { return port_.port(); }

  /// Waits for the next connection. The former one ends.
  void accept() { connection_ = Descriptor(::accept4(port_.fd(), nullptr, nullptr, SOCK_CLOEXEC)); }

  /// Waits until the client has sent that text.
  void await(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      char bytes[4096];
      const ssize_t got = ::recv(connection_.fd(), bytes, sizeof bytes, 0);
      ASSERT_GT(got, 0) << received_;
      received_.append(bytes, static_cast<size_t>(got));
    }
    received_.clear();
  }

  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(connection_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  void close() { connection_.reset(); }

 private:
  HeldPort port_;
  Descriptor connection_;
  std::string received_;
};

std::string json_answer(std::string_view body) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

class ForwardedAnswers : public ApiTest {
 protected:
  AnswerForwarder::Check check() {
    return [this](std::string_view method, std::string_view target, const HttpReply& reply) {
      return answer_check_.fault_of(method, target, reply);
    };
  }

  WrittenServer written_;
};

TEST_F(ForwardedAnswers, HaveAFaultIfTheDocumentDoesNotDescribeThem) {
  AnswerForwarder forwarder(written_.port(), check());
  RawClient client(forwarder.port());
  client.send("GET /livez HTTP/1.1\r\n\r\n");
  written_.accept();
  written_.await("GET /livez HTTP/1.1\r\n\r\n");
  written_.send(json_answer(R"({"status":"alive"})"));
  EXPECT_EQ(client.read_reply().value_or(HttpReply{}).body, R"({"status":"alive"})");
  EXPECT_THAT(forwarder.take_faults(), IsEmpty());

  client.send("GET /livez HTTP/1.1\r\n\r\n");
  written_.await("GET /livez HTTP/1.1\r\n\r\n");
  written_.send(json_answer(R"({"status":"asleep"})"));
  EXPECT_EQ(client.read_reply().value_or(HttpReply{}).body, R"({"status":"asleep"})");
  EXPECT_THAT(forwarder.take_faults(),
              ElementsAre(testing::AllOf(HasSubstr("GET /livez → 200: "), HasSubstr("asleep"))));
  EXPECT_THAT(forwarder.take_faults(), IsEmpty()) << "each fault is reported once";

  client.send("GET /livez HTTP/1.1\r\n\r\n");
  written_.await("GET /livez HTTP/1.1\r\n\r\n");
  written_.send(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      "9\r\n{\"status\"\r\n8\r\n:\"gone\"}\r\n0\r\n\r\n");
  EXPECT_TRUE(client.read_reply());
  EXPECT_THAT(client.read_bytes(32), HasSubstr("9\r\n{\"status\"\r\n8\r\n:\"gone\"}\r\n0\r\n\r\n"));
  EXPECT_THAT(forwarder.take_faults(), ElementsAre(HasSubstr(R"({"status":"gone"})")));
}

TEST_F(ForwardedAnswers, FailTheTestWhenTheForwarderEnds) {
  auto forwarder = std::make_unique<AnswerForwarder>(written_.port(), check());
  RawClient client(forwarder->port());
  client.send("GET /nothing HTTP/1.1\r\n\r\n");
  written_.accept();
  written_.await("\r\n\r\n");
  written_.send(json_answer("{}"));
  EXPECT_TRUE(client.read_reply());
  EXPECT_NONFATAL_FAILURE(forwarder.reset(),
                          "GET /nothing → 200: the document does not describe this call");
}

TEST_F(ForwardedAnswers, AreReportedUpToABound) {
  AnswerForwarder forwarder(written_.port(), check());
  RawClient client(forwarder.port());
  for (size_t i = 0; i < AnswerForwarder::kMostFaults + 3; ++i) {
    client.send("GET /nothing HTTP/1.1\r\n\r\n");
    if (i == 0) written_.accept();
    written_.await("\r\n\r\n");
    written_.send(json_answer("{}"));
    EXPECT_TRUE(client.read_reply());
  }
  const std::vector<std::string> faults = forwarder.take_faults();
  ASSERT_EQ(faults.size(), AnswerForwarder::kMostFaults + 1);
  EXPECT_EQ(faults.back(), "3 more answers have faults");
}

TEST_F(ForwardedAnswers, ArePassedOnUncheckedIfTheyAreTooLarge) {
  AnswerForwarder forwarder(written_.port(), check());
  RawClient client(forwarder.port());
  client.send("GET /livez HTTP/1.1\r\n\r\n");
  written_.accept();
  written_.await("\r\n\r\n");
  const std::string body(AnswerReader::kMostBodyBytes + 1, ' ');
  std::thread writer([&] { written_.send(json_answer(body)); });
  const auto reply = client.read_reply();
  writer.join();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, body);
  EXPECT_EQ(forwarder.too_large(), 1U);
  EXPECT_THAT(forwarder.take_faults(), IsEmpty());
}

TEST_F(ForwardedAnswers, OfAStreamArePassedOnAsTheyCome) {
  AnswerForwarder forwarder(server_->port(), check());
  RawClient client(forwarder.port());
  client.send(request_text(forwarder.port(), "GET", "/v1/ns/default/stream?topics=counts", {}, ""));
  const auto sink = service_.await_watcher();
  const auto bytes = [](std::string text) {
    return std::make_shared<const std::string>(std::move(text));
  };
  const auto head = client.read_reply(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->header("Content-Type"), "text/event-stream");
  EXPECT_TRUE(sink->send(bytes("data: 1\n\n")));
  EXPECT_EQ(client.read_bytes(9), "data: 1\n\n");
  EXPECT_TRUE(sink->send(bytes("data: 2\n")));
  EXPECT_EQ(client.read_bytes(8), "data: 2\n") << "half an event, too";
  EXPECT_THAT(forwarder.take_faults(), IsEmpty());
  sink->end(bytes("\ndata: {]\n\n"));
  EXPECT_EQ(client.read_bytes(11), "\ndata: {]\n\n");
  EXPECT_TRUE(client.is_closed());
  EXPECT_THAT(forwarder.take_faults(), ElementsAre(HasSubstr("the data of an event is not JSON")));
}

TEST_F(ForwardedAnswers, EndWhenTheClientLeaves) {
  AnswerForwarder forwarder(server_->port(), check());
  auto client = std::make_unique<RawClient>(forwarder.port());
  client->send(
      request_text(forwarder.port(), "GET", "/v1/ns/default/stream?topics=counts", {}, ""));
  const auto sink = service_.await_watcher();
  ASSERT_TRUE(client->read_reply(true));
  EXPECT_TRUE(sink->is_open());
  client.reset();
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (sink->is_open() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_FALSE(sink->is_open());
}

TEST_F(ForwardedAnswers, EndWhenTheServerLeaves) {
  std::optional<AnswerForwarder> forwarder;
  forwarder.emplace(written_.port(), check());
  RawClient client(forwarder->port());
  client.send("GET /livez HTTP/1.1\r\n\r\n");
  written_.accept();
  written_.await("\r\n\r\n");
  written_.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1");
  written_.close();
  EXPECT_FALSE(client.read_reply());
  EXPECT_THAT(forwarder->take_faults(), IsEmpty()) << "an answer that is cut is not checked";

  const HeldPort nothing_listens;
  forwarder.emplace(nothing_listens.port(), check());
  RawClient refused(forwarder->port());
  refused.send("GET /livez HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(refused.read_reply());
}

TEST_F(ForwardedAnswers, AndRequestsMayBeLargerThanWhatIsQueued) {
  AnswerForwarder forwarder(server_->port(), check());
  const std::string path = "/v1/ns/default/variables/large";
  const std::string value(8 * AnswerForwarder::kMostQueued, 'v');
  EXPECT_EQ(request(forwarder.port(), "PUT", path, {}, value).status, 200);
  EXPECT_EQ(request(forwarder.port(), "GET", path).body, value);
  EXPECT_EQ(forwarder.too_large(), 0U);
}

}  // namespace
}  // namespace millrace
