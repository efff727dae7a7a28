// TaskCallbacks: which requests are callbacks, and what is replied to them.
#include "broker/task_callbacks.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/round_trip.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using CallbackDone = std::function<void(const Result<Json>&)>;

std::string callback_request(std::string_view ns = "shop", std::string_view verb = "complete") {
  return callback_subject(ns, task_id(1)) + "." + std::string(verb);
}

TEST(CallbackSubject, HasTheNamespaceAndTheActionId) {
  const std::string id = to_string(task_id(1));
  EXPECT_EQ(callback_subject("a.b c", task_id(1)), "millrace.callbacks.0.a%2Eb%20c." + id);
  EXPECT_EQ(callback_subject("shop", task_id(1), "orders"), "orders.callbacks.0.shop." + id);
}

TEST(CallbackSubject, IsReadWithTheVerbBehindIt) {
  const auto read = read_callback_subject(callback_request("a.b c", "fail"));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (CallbackMessage{.ns = "a.b c", .task = task_id(1), .verb = "fail"}));
  const std::string id = to_string(task_id(1));
  for (const std::string& subject :
       {"millrace.callbacks.0.shop." + id, "millrace.callbacks.1.shop." + id + ".fail",
        "millrace.callbacks.0.shop." + id + ".fail.x", "millrace.results.0.shop." + id + ".fail",
        "millrace.callbacks.0.%zz." + id + ".fail", "orders.callbacks.0.shop." + id + ".fail",
        std::string("millrace.callbacks.0.shop.x.fail")}) {
    EXPECT_EQ(read_callback_subject(subject), std::nullopt) << subject;
  }
}

class TaskCallbacksTest : public NatsFixture {
 protected:
  void listen(RequestSubjects subjects = {}, CallbackLimits limits = {}) {
    callbacks_ = std::make_unique<TaskCallbacks>(
        *connection_, std::move(subjects),
        [this](CallbackMessage message, CallbackDone done) {
          {
            const std::lock_guard lock(mutex_);
            taken_.push_back(std::move(message));
            if (holds_) held_.push_back(std::move(done));
            if (holds_) return;
          }
          done(answer_);
        },
        limits);
    ASSERT_TRUE(callbacks_->listen());
    ASSERT_TRUE(callbacks_->listen()) << "once more";
    pass_on();
    client_->subscribe("_INBOX.worker");
  }

  /// Returns when the connection has read what the broker had sent before.
  void pass_on() { ASSERT_EQ(round_trip(connection_->handle().get(), kPatience), NATS_OK); }

  void send(const std::string& subject, std::string_view data = "1",
            std::string_view reply = "_INBOX.worker") {
    client_->publish(subject, "Millrace-Key: 0f\r\n", data, reply);
    client_->flush();
  }

  Json reply() {
    const auto message = client_->next();
    return message ? parse_json(message->data).value_or(Json()) : Json();
  }

  std::vector<CallbackMessage> taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

  std::unique_ptr<RawNatsClient> client_ = server_.client();
  std::unique_ptr<Connection> connection_ = server_.connect();
  Result<Json> answer_ = Json{{"accepted", true}};
  std::mutex mutex_;
  bool holds_ = false;  ///< the handler answers when the test says so
  std::vector<CallbackDone> held_;
  std::vector<CallbackMessage> taken_;
  std::unique_ptr<TaskCallbacks> callbacks_;
};

TEST_F(TaskCallbacksTest, AreTakenWithTheirKeyAndBodyAndGetAReply) {
  listen();
  send(callback_request(), R"({"paid":true})");
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
  EXPECT_THAT(taken(), ElementsAre(CallbackMessage{.ns = "shop",
                                                   .task = task_id(1),
                                                   .verb = "complete",
                                                   .key = "0f",
                                                   .data = R"({"paid":true})"}));
  client_->publish(callback_request("shop", "heartbeat"), "", "_INBOX.worker");
  client_->flush();
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
  ASSERT_THAT(taken(), SizeIs(2));
  EXPECT_EQ(taken()[1].key, "") << "without a header";
}

TEST_F(TaskCallbacksTest, GetTheCodeAndTheReasonOfARefusal) {
  answer_ = fail("callback.ended", "why");
  listen();
  send(callback_request());
  EXPECT_EQ(reply(), (Json{{"accepted", false}, {"code", "callback.ended"}, {"message", "why"}}));
}

TEST_F(TaskCallbacksTest, AreRefusedOnAnotherSubject) {
  listen();
  send("millrace.callbacks.0.shop.x.complete");
  EXPECT_EQ(reply()["code"], "request.parameter");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(TaskCallbacksTest, AreAnsweredAsBusyWhileTooManyHaveNoAnswer) {
  holds_ = true;
  listen({}, {.callbacks = 1});
  send(callback_request());
  send(callback_request());
  EXPECT_EQ(reply()["code"], "busy");
  ASSERT_THAT(held_, SizeIs(1));
  EXPECT_EQ(callbacks_->refused_as_busy(), 1U);
  held_[0](answer_);
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
  holds_ = false;
  send(callback_request());
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
}

TEST_F(TaskCallbacksTest, AreAnsweredAsBusyWhileTheyHaveTooManyBytes) {
  holds_ = true;
  listen({}, {.bytes = 10});
  send(callback_request(), "0123456789");
  send(callback_request(), "");
  EXPECT_EQ(reply()["code"], "busy");
  EXPECT_EQ(callbacks_->refused_as_busy(), 1U);
  EXPECT_THAT(taken(), SizeIs(1));
}

TEST_F(TaskCallbacksTest, HaveNoEffectIfTheirAnswerWouldGoToAReservedSubject) {
  listen({.prefix = "millrace", .inbox_prefix = "_INBOX_own"});
  for (const char* const reserved : {"$JS.API.INFO", "millrace.owner", "_INBOX_own.a"}) {
    send(callback_request("forged"), "1", reserved);
  }
  send(callback_request());
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
  ASSERT_THAT(taken(), SizeIs(1)) << "they come one after the other";
  EXPECT_EQ(taken()[0].ns, "shop");
}

TEST_F(TaskCallbacksTest, AreNotTakenByAProcessThatMayNotUseTheConnection) {
  auto guarded = Connection::open({.servers = {server_.url()}, .guarded = true});
  ASSERT_TRUE(guarded && (*guarded)->wait_until_connected(kPatience));
  connection_ = *std::move(guarded);
  connection_->allow_until(std::chrono::steady_clock::now() + std::chrono::hours(1));
  listen();
  send(callback_request());
  EXPECT_EQ(reply(), (Json{{"accepted", true}}));
  connection_->forbid();
  send(callback_request());
  pass_on();
  callbacks_.reset();
  EXPECT_THAT(taken(), SizeIs(1));
}

}  // namespace
}  // namespace millrace
