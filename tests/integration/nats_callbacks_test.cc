// Services and workers over NATS that accept their tasks on a real server, and answer them by
// callbacks, over HTTP or over NATS.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"
#include "tests/support/raw_nats_client.h"

namespace millrace {
namespace {

class NatsCallbacks : public MillraceTest {
 protected:
  using Message = RawNatsClient::Message;

  /// Starts an instance with one call of a service: of this test as a NATS service, or of workers.
  /// `keys` are further keys of the action.
  std::string start(bool has_workers = false, std::string_view keys = "") {
    service_->subscribe("shop.charge");
    service_->subscribe("_INBOX.service");
    if (!has_workers) {
      millrace_.ask("PUT", "/v1/ns/default",
                    R"({"services": {"charge": {"request": "shop.charge"}}})");
    }
    millrace_.apply(fmt::format(R"(
id: order
functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- {{id: pay, type: action, action: {{function: charge{}}}}}
)",
                                keys));
    return millrace_.start_instance("order", {{"amount", 7}});
  }

  /// The value of a header of a message; empty: the message does not have it.
  static std::string header_of(const Message& message, const std::string& name) {
    const size_t at = message.headers.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return message.headers.substr(begin, message.headers.find("\r\n", begin) - begin);
  }

  /// Sends a callback about the task over NATS; returns the reply.
  Json reply_to(const Message& task, const std::string& verb, const std::string& key,
                std::string_view body = "") {
    service_->publish(header_of(task, "Millrace-Callback-Subject") + "." + verb,
                      "Millrace-Key: " + key + "\r\n", body, "_INBOX.service");
    service_->flush();
    const std::optional<Message> reply = service_->next();
    return reply ? parse_json(reply->data).value_or(Json::object()) : Json::object();
  }

  /// Does as reply_to(); returns `accepted`, or the code of the refusal.
  std::string say(const Message& task, const std::string& verb, const std::string& key,
                  std::string_view body = "") {
    const Json answer = reply_to(task, verb, key, body);
    return answer.value("accepted", false) ? "accepted" : answer.value("code", "");
  }

  /// The details of the records `returned` of an instance.
  std::vector<Json> answers_of(const std::string& id) const {
    std::vector<Json> details;
    for (const Json& record : millrace_.history(id)) {
      if (record["kind"] == "returned") details.push_back(record["detail"]);
    }
    return details;
  }

  std::unique_ptr<RawNatsClient> service_ = nats_.client();
};

TEST_F(NatsCallbacks, AnswerATaskOverHttpOnce) {
  const std::string id = start();
  const std::optional<Message> request = service_->next();
  ASSERT_TRUE(request);
  const std::string url = header_of(*request, "Millrace-Callback");
  const std::string callback = url.substr(std::min(url.find("/v1/"), url.size()));
  service_->publish(request->reply, "Millrace-Answer: accepted\r\n", "", "");
  service_->flush();
  EXPECT_EQ(millrace_.ask("POST", callback + "/heartbeat").status, 200);
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"paid":true})").status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"paid", true}}));
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", "1").code(), "callback.ended");
}

TEST_F(NatsCallbacks, AnswerATaskOverNatsOnce) {
  const std::string id = start();
  const std::optional<Message> request = service_->next();
  ASSERT_TRUE(request);
  service_->publish(request->reply, "Millrace-Answer: accepted\r\n", "", "");
  const std::string key = header_of(*request, "Millrace-Key");
  EXPECT_EQ(say(*request, "heartbeat", key), "accepted");
  EXPECT_EQ(say(*request, "complete", key + "0", "1"), "callback.refused");
  EXPECT_EQ(say(*request, "fail", key, R"({"code": "a b"})"), "request.parameter");
  EXPECT_EQ(say(*request, "fail", key, R"({"code": "card.declined", "message": "no money"})"),
            "accepted");
  EXPECT_EQ(millrace_.instance_once(id, "failed")["error"],
            (Json{{"code", "card.declined"}, {"msg", "no money"}}));
  EXPECT_EQ(say(*request, "fail", key, R"({"message": "no money", "code": "card.declined"})"),
            "accepted")
      << "it repeats the answer";
  EXPECT_EQ(say(*request, "complete", key, "1"), "callback.ended");
}

TEST_F(NatsCallbacks, AnswerATaskOfAWorkerThatHasTakenTheNextOne) {
  const std::string first = start(true);
  QueueWorker worker(nats_.client(), "millrace", "default+charge");
  const std::optional<Message> task = worker.do_one("", "Millrace-Answer: accepted\r\n");
  ASSERT_TRUE(task);
  const std::string second = millrace_.start_instance("order", {{"amount", 2}});
  ASSERT_TRUE(worker.do_one("2"));
  EXPECT_EQ(millrace_.instance_once(second, "complete")["output"]["return"], 2);
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(say(*task, "complete", header_of(*task, "Millrace-Key"), "1"), "accepted");
  EXPECT_EQ(millrace_.instance_once(first, "complete")["output"]["return"], 1);
}

TEST_F(NatsCallbacks, GiveTheProgressOfAWorkerToTheNextAttemptWhichIsAnsweredOnce) {
  const std::string id = start(true, ", retries: {initialInterval: 50ms, maximumAttempts: 2}");
  QueueWorker worker(nats_.client(), "millrace", "default+charge");
  const std::optional<Message> first = worker.do_one("", "Millrace-Answer: accepted\r\n");
  ASSERT_TRUE(first);
  EXPECT_EQ(header_of(*first, "Millrace-Last-Progress"), "");
  const std::string first_key = header_of(*first, "Millrace-Key");
  EXPECT_EQ(say(*first, "heartbeat", first_key, R"({"progress": {"line": 3000}})"), "accepted");
  EXPECT_EQ(say(*first, "heartbeat", first_key, R"({"progress": {"line": 4000}})"), "accepted");
  EXPECT_EQ(say(*first, "heartbeat", first_key), "accepted") << "it leaves the progress as it is";
  ASSERT_TRUE(eventually([&] { return millrace_.items("calls").size() == 1; }));
  const Json listed = millrace_.items("calls").front();
  EXPECT_EQ(listed["progress"], (Json{{"line", 4000}}));
  EXPECT_EQ(listed["attempt"], 1);
  EXPECT_THAT(millrace_.cli({"call", "list", "-o", "json"}).output, testing::HasSubstr("4000"));
  EXPECT_EQ(say(*first, "fail", first_key, R"({"code": "disk.full", "message": "no room"})"),
            "accepted");

  const std::optional<Message> second = worker.do_one("", "Millrace-Answer: accepted\r\n");
  ASSERT_TRUE(second);
  EXPECT_EQ(header_of(*second, "Direktiv-Attempt"), "2");
  EXPECT_NE(header_of(*second, "Millrace-Call"), "");
  EXPECT_EQ(header_of(*second, "Millrace-Call"), header_of(*first, "Millrace-Call"));
  EXPECT_EQ(header_of(*second, "Millrace-Last-Progress"), R"({"line":4000})");
  const std::string key = header_of(*second, "Millrace-Key");
  const Json refused = reply_to(*second, "complete", first_key, "1");
  EXPECT_EQ(refused.value("code", ""), "callback.refused") << "the key of the first attempt";
  EXPECT_THAT(refused.value("message", ""),
              testing::HasSubstr("the key is not one that this server has given to a service"));
  const Json ended = reply_to(*first, "complete", first_key, "1");
  EXPECT_EQ(ended.value("code", ""), "callback.ended") << "the first attempt has ended";
  EXPECT_THAT(ended.value("message", ""), testing::HasSubstr("said something else"));

  EXPECT_EQ(say(*second, "complete", key, R"({"lines": 9000})"), "accepted");
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"lines", 9000}}));
  EXPECT_EQ(say(*second, "complete", key, R"({"lines": 9000})"), "accepted")
      << "it repeats the answer";
  EXPECT_EQ(say(*second, "complete", key, R"({"lines": 1})"), "callback.ended");
  EXPECT_EQ(say(*second, "heartbeat", key), "callback.ended");
  EXPECT_TRUE(millrace_.items("calls").empty());
  EXPECT_THAT(answers_of(id),
              testing::ElementsAre(Json{{"attempt", 1},
                                        {"by", "natsCallback"},
                                        {"code", "disk.full"},
                                        {"index", 0},
                                        {"msg", "no room"},
                                        {"task", header_of(*first, "Direktiv-ActionID")}},
                                   Json{{"attempt", 2},
                                        {"by", "natsCallback"},
                                        {"index", 0},
                                        {"task", header_of(*second, "Direktiv-ActionID")}}));
}

}  // namespace
}  // namespace millrace
