// The routes of live messages over a real socket: the header, bytes that come later, refusals, the
// end of the server, and clients that leave or do not read.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/stream_answer.h"
#include "tests/support/patience.h"
#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr const char* kStream = "/v1/ns/default/stream?topics=counts";

std::shared_ptr<const std::string> bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class StreamRoutes : public ApiTest {
 protected:
  /// Restarts the server with these limits.
  void restart(TransportLimits limits) {
    server_.reset();
    auto started = HttpServer::start(
        {.listen = "127.0.0.1:0", .transport = patient_limits(std::move(limits))}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  void open(RawClient& client, std::string_view target = kStream, const Headers& headers = {}) {
    client.send(request_text(server_->port(), "GET", target, headers, ""));
  }
};

TEST_F(StreamRoutes, SendMessagesAsTheyCome) {
  RawClient client(server_->port());
  open(client);
  const auto sink = service_.await_watcher();
  const auto head = client.read_reply(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->header("Content-Type"), "text/event-stream");
  EXPECT_EQ(head->header("Content-Length"), "");
  EXPECT_TRUE(sink->send(bytes("data: 1\n\n")));
  EXPECT_EQ(client.read_bytes(9), "data: 1\n\n");
  EXPECT_TRUE(sink->send(bytes("data: 2\n\n")));
  EXPECT_EQ(client.read_bytes(9), "data: 2\n\n");
  sink->end(bytes("data: 3\n\n"));
  EXPECT_EQ(client.read_bytes(9), "data: 3\n\n");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(StreamRoutes, ReadTheirParameters) {
  const std::string id = FakeService::kInstance;
  RawClient client(server_->port());
  open(client,
       "/v1/ns/default/stream?topics=counts,levels,instances,events,dead,instance:" + id +
           "&workflow=order&status=failed,waiting&type=order.*&after=7",
       {{"Last-Event-ID", "b1-5"}});
  service_.await_watcher();
  const LiveRequest live = service_.last_watch();
  EXPECT_EQ(live.ns, "default");
  EXPECT_TRUE(live.counts && live.levels && live.instances && live.events && live.dead);
  EXPECT_EQ(live.type, "order.*");
  ASSERT_TRUE(live.history_of);
  EXPECT_EQ(to_string(*live.history_of), id);
  EXPECT_EQ(live.after, 7U);
  EXPECT_EQ(live.workflow, "order");
  EXPECT_THAT(live.statuses, ElementsAre(InstanceStatus::kFailed, InstanceStatus::kWaiting));
  EXPECT_EQ(live.last_id, "b1-5");

  for (const char* const topic : {"events", "dead"}) {
    RawClient one(server_->port());
    open(one, std::string("/v1/ns/default/stream?topics=") + topic);
    service_.await_watcher();
    const LiveRequest alone = service_.last_watch();
    EXPECT_EQ(alone.events, topic == std::string_view("events"));
    EXPECT_EQ(alone.dead, topic == std::string_view("dead"));
    EXPECT_EQ(alone.type, "");
  }

  RawClient other(server_->port());
  open(other, "/v1/ns/default/instances/" + id + "/stream?after=3");
  service_.await_watcher();
  const LiveRequest history = service_.last_watch();
  EXPECT_FALSE(history.counts || history.levels || history.instances || history.events ||
               history.dead);
  EXPECT_EQ(history.history_of, live.history_of);
  EXPECT_EQ(history.after, 3U);
}

TEST_F(StreamRoutes, RefuseWrongRequests) {
  const std::string path = "/v1/ns/default/stream";
  const Row rows[] = {
      {"GET", path, {}, "", 400, "request.parameter"},
      {"GET", path + "?topics=weather", {}, "", 400, "request.parameter"},
      {"GET", path + "?topics=instance:x", {}, "", 404, "instance.not_found"},
      {"GET", path + "?topics=instances&status=lost", {}, "", 400, "request.parameter"},
      {"GET", path + "?topics=counts&after=x", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/none/stream?topics=counts", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/instances/x/stream", {}, "", 404, "instance.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  const std::string detail = call("GET", path + "?topics=counts&status=lost").json()["detail"];
  EXPECT_TRUE(detail.starts_with(
      "status: \"lost\" is not a status; expected pending, running, waiting, paused, "))
      << detail;
}

TEST_F(StreamRoutes, AnswerHeadWithoutMessages) {
  RawClient client(server_->port());
  client.send(request_text(server_->port(), "HEAD", kStream, {}, ""));
  service_.await_watcher();
  const auto head = client.read_reply(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(StreamRoutes, AreRefusedIfTooManyAreOpen) {
  restart({.streams = 1});
  RawClient client(server_->port());
  open(client);
  auto sink = service_.await_watcher();
  const HttpReply refused = call("GET", kStream);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
  // The place is free once the stream has ended and the service has forgotten it.
  sink->end(bytes("data: 1\n\n"));
  client.read_reply(true);
  EXPECT_EQ(client.read_bytes(9), "data: 1\n\n");
  EXPECT_TRUE(client.is_closed());
  sink.reset();
  RawClient next(server_->port());
  open(next);
  service_.await_watcher();
  EXPECT_TRUE(next.read_reply(true));
}

TEST_F(StreamRoutes, EndWithAResetWhenTheServerStops) {
  RawClient client(server_->port());
  open(client);
  const auto sink = service_.await_watcher();
  ASSERT_TRUE(client.read_reply(true));
  server_->stop();
  const std::string reset = "event: reset\ndata: {\"why\":\"stopping\"}\n\n";
  EXPECT_EQ(client.read_bytes(reset.size()), reset);
  EXPECT_TRUE(client.is_closed());
  EXPECT_FALSE(sink->is_open());
}

TEST_F(StreamRoutes, NoticeThatTheClientHasLeft) {
  auto client = std::make_unique<RawClient>(server_->port());
  open(*client);
  const auto sink = service_.await_watcher();
  ASSERT_TRUE(client->read_reply(true));
  EXPECT_TRUE(sink->is_open());
  client.reset();
  // No byte is sent that could fail at the closed connection: no message, and no comment before
  // kPatience has passed.
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (sink->is_open() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_FALSE(sink->is_open());
}

TEST_F(StreamRoutes, CloseTheConnectionOfAClientThatDoesNotRead) {
  restart({.stream_progress = Duration(1)});
  RawClient client(server_->port());
  open(client);
  const auto sink = service_.await_watcher();
  const auto message = bytes(std::string(StreamAnswer::kMostQueued / 4, 'x'));
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (sink->is_open() && std::chrono::steady_clock::now() < give_up) {
    // The queue is never full, so the stream does not end for that reason.
    if (sink->queued() < StreamAnswer::kMostQueued / 2) sink->send(message);
    std::this_thread::yield();
  }
  EXPECT_FALSE(sink->is_open());
  EXPECT_EQ(sink->queued(), 0U) << "the connection is closed";
}

TEST_F(StreamRoutes, SendACommentIfNothingElseComes) {
  restart({.stream_comment = Duration(1)});
  RawClient client(server_->port());
  open(client);
  service_.await_watcher();
  ASSERT_TRUE(client.read_reply(true));
  EXPECT_EQ(client.read_bytes(6), ":\n\n:\n\n");
}

}  // namespace
}  // namespace millrace
