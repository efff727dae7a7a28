// The memory that the bodies and answers of all HTTP requests use together.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kUncounted = size_t{64} << 10;  ///< bytes of each body that are not counted

class HttpMemory : public testing::Test {
 protected:
  void SetUp() override { restart({.memory_bytes = kMiB}); }

  void restart(const TransportLimits& limits) {
    auto started =
        HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits(limits)}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  HttpReply put(size_t bytes) {
    return request(server_->port(), "PUT", "/v1/ns/default/variables/a", {},
                   std::string(bytes, 'x'));
  }

  /// The bytes that bodies and answers use now.
  uint64_t used() {
    const std::string text = request(server_->port(), "GET", "/metrics").body;
    constexpr std::string_view kName = "\nmillrace_http_memory_bytes ";
    const size_t at = text.find(kName);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + kName.size()));
  }

  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpMemory, RefusesABodyForWhichNoBytesAreLeft) {
  for (int i = 0; i < 3; ++i) {
    const HttpReply refused = put(2 * kMiB);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.code(), "busy");
    EXPECT_EQ(refused.header("Retry-After"), "1");
    EXPECT_EQ(refused.header("Connection"), "close");
    EXPECT_EQ(put(kMiB).status, 200) << "the bytes of the refused body are free again";
  }
}

TEST_F(HttpMemory, CountsABodyWhileItIsUnfinished) {
  restart({.memory_bytes = kMiB, .slow_transfer = std::chrono::hours(1)});
  constexpr size_t kBody = kMiB + kUncounted;
  const std::string piece(kBody - 1, 'x');
  for (const bool is_chunked : {false, true}) {
    RawClient unfinished(server_->port());
    unfinished.send("PUT /v1/ns/default/variables/a HTTP/1.1\r\nHost: localhost\r\n");
    unfinished.send(is_chunked ? fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", kBody)
                               : fmt::format("Content-Length: {}\r\n\r\n", kBody));
    unfinished.send(piece);
    ASSERT_TRUE(eventually([&] { return used() >= kMiB - 1; })) << is_chunked;
    EXPECT_EQ(put(2 * kUncounted).status, 503) << is_chunked;
    EXPECT_EQ(put(kUncounted).status, 200) << "a body of usual size needs no bytes";
    unfinished.send(is_chunked ? "x\r\n0\r\n\r\n" : "x");
    const auto reply = unfinished.read_reply();
    ASSERT_TRUE(reply) << is_chunked;
    EXPECT_EQ(reply->status, 200) << reply->body;
    EXPECT_TRUE(eventually([&] { return put(kMiB).status == 200; })) << "its bytes are free again";
  }
}

TEST_F(HttpMemory, FreesTheBytesOfAnUnfinishedBodyWhoseClientHasLeft) {
  restart({.memory_bytes = kMiB, .slow_transfer = std::chrono::hours(1)});
  {
    RawClient unfinished(server_->port());
    unfinished.send(
        fmt::format("PUT /v1/ns/default/variables/a HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: {}\r\n\r\n",
                    2 * kMiB));
    unfinished.send(std::string(kMiB + kUncounted, 'x'));
    ASSERT_TRUE(eventually([&] { return used() >= kMiB; }));
    EXPECT_EQ(put(2 * kUncounted).status, 503);
  }
  EXPECT_TRUE(eventually([&] { return put(kMiB).status == 200; }));
}

TEST_F(HttpMemory, RefusesABodyInChunksForWhichNoBytesAreLeft) {
  for (int i = 0; i < 3; ++i) {
    RawClient client(server_->port());
    client.send(
        "PUT /v1/ns/default/variables/a HTTP/1.1\r\nHost: localhost\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk =
        fmt::format("{:x}\r\n{}\r\n", kUncounted, std::string(kUncounted, 'x'));
    for (size_t sent = 0; sent < 2 * kMiB; sent += kUncounted) client.send(chunk);
    const auto refused = client.read_reply();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(refused->code(), "busy");
    EXPECT_EQ(put(kMiB).status, 200) << "the bytes of the refused body are free again";
  }
}

TEST_F(HttpMemory, RefusesAnAnswerForWhichNoBytesAreLeft) {
  service_.keep("large", {.content_type = "text/plain", .bytes = std::string(2 * kMiB, 'x')});
  service_.keep("small", {.content_type = "text/plain", .bytes = std::string(kMiB, 'x')});
  for (int i = 0; i < 3; ++i) {
    RawClient client(server_->port());
    client.send("GET /v1/ns/default/variables/large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto refused = client.read_reply();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_EQ(refused->code(), "busy");
    client.send("GET /v1/ns/default/variables/small HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto reply = client.read_reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->body.size(), kMiB);
  }
}

TEST_F(HttpMemory, CountsAnAnswerUntilItsClientHasReadIt) {
  restart({.memory_bytes = 2 * kMiB, .slow_transfer = std::chrono::hours(1)});
  service_.keep("large", {.content_type = "text/plain", .bytes = std::string(2 * kMiB, 'x')});
  RawClient slow(server_->port());
  slow.send("GET /v1/ns/default/variables/large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_FALSE(slow.is_closed()) << "the first bytes of the answer have arrived";
  EXPECT_EQ(request(server_->port(), "GET", "/v1/ns/default/variables/large").status, 503)
      << "the system must not hold all of the unread answer";
  EXPECT_EQ(slow.read_reply()->body.size(), 2 * kMiB);
}

TEST_F(HttpMemory, DoesNotCountBodiesAndAnswersOfUsualSize) {
  restart({.memory_bytes = 0});
  EXPECT_EQ(put(64 << 10).status, 200);
  EXPECT_EQ(request(server_->port(), "GET", "/v1/ns/default/variables/a").body.size(), 64U << 10);
  EXPECT_EQ(put((64 << 10) + 1).status, 503);
}

}  // namespace
}  // namespace millrace
