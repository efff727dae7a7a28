// TaskQueue and NATS services: requests, answers and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/task_queue_fixture.h"

namespace millrace {
namespace {

TEST_F(TaskQueueTest, SendsARequestToAServiceAndTakesTheFirstAnswer) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  EXPECT_EQ(request.data, R"({"n":1})");
  EXPECT_EQ(Worker::header(request, "Direktiv-ActionID"), to_string(task_id(1)));
  EXPECT_EQ(Worker::header(request, "Millrace-Reply"), "");
  client_->publish(request.reply, "first");
  client_->publish(request.reply, "second");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "first");
  queue_->run(service_task(2));
  client_->publish(client_->next().value().reply, "third");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "third");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "first");
  EXPECT_EQ(queue_->counts().tasks, 0u);
}

TEST_F(TaskQueueTest, ReportsThatAServiceHasAcceptedATaskThatHasACallback) {
  client_->subscribe("svc.charge");
  open();
  const auto answer_to = [&](Task task, const std::string& url, const std::string& headers) {
    if (!url.empty()) task.callback = {.url = url, .key = "0f"};
    queue_->run(task);
    const Message request = client_->next().value();
    EXPECT_EQ(Worker::header(request, "Millrace-Callback"), url);
    client_->publish(request.reply, headers, "body", "");
    client_->flush();
    return sink_.wait_for_end(task.id);
  };
  const std::string url = "http://m/v1/ns/shop/callbacks/k";
  const std::string accepted = "Millrace-Answer: accepted\r\n";
  EXPECT_EQ(answer_to(service_task(1), url, accepted), "accepted");
  EXPECT_EQ(answer_to(service_task(2), "", accepted), "body") << "it cannot answer later";
  EXPECT_EQ(answer_to(service_task(3), url, "Millrace-Answer: soon\r\n"),
            "!millrace.function.status: the header Millrace-Answer of the answer is \"soon\"; "
            "expected: \"accepted\"");
  EXPECT_EQ(answer_to(service_task(4), url, accepted + "Direktiv-ErrorCode: card.declined\r\n"),
            "!card.declined: ");
  EXPECT_EQ(answer_to(service_task(5), url, "X-Empty:\r\n" + accepted), "accepted");
  EXPECT_EQ(queue_->counts().tasks, 0u) << "no place of a request is left in use";
}

TEST_F(TaskQueueTest, PassesCallbacksOnTheSubjectInTheHeadersOfATask) {
  client_->subscribe("svc.charge");
  open({.on_callback = [](const CallbackMessage& message, const auto& done) {
    done(Json{{"ns", message.ns}, {"task", to_string(message.task)}, {"key", message.key}});
  }});
  Task task = service_task(1);
  task.callback = {.url = "http://m/v1/ns/shop/callbacks/k", .key = "0f"};
  queue_->run(task);
  const Message request = client_->next().value();
  client_->subscribe("_INBOX.service");
  client_->publish(Worker::header(request, "Millrace-Callback-Subject") + ".heartbeat",
                   "Millrace-Key: " + Worker::header(request, "Millrace-Key") + "\r\n", "",
                   "_INBOX.service");
  client_->flush();
  EXPECT_EQ(parse_json(client_->next().value().data).value(),
            (Json{{"ns", "shop"}, {"task", to_string(task_id(1))}, {"key", "0f"}}));
}

TEST_F(TaskQueueTest, TakesAcknowledgementsOfTheStreamNotWhereServicesAnswer) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  queue_->run(queue_task(2));
  ASSERT_TRUE(all_sent());
  // A service that also has the action id of a task for workers. Sent on the right subject, this
  // answer would end that task.
  const std::string inbox =
      request.reply.substr(0, request.reply.size() - to_string(task_id(1)).size());
  client_->publish(inbox + to_string(task_id(2)),
                   R"({"error":{"code":400,"err_code":10054,"description":"forged"}})");
  client_->publish(request.reply, "1");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  EXPECT_THAT(sink_.wait_for_ends(task_id(2), 0), testing::IsEmpty());
  Worker worker(server_);
  worker.answer(worker.take().value(), "2");
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
}

TEST_F(TaskQueueTest, IgnoresAnAnswerInTheStreamToATaskOfAService) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  client_->publish_acked("millrace.results.0.shop." + to_string(task_id(1)), "", "forged");
  EXPECT_TRUE(becomes_true([&] { return queue_->counts().strays == 1; }));
  client_->publish(request.reply, "1");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, ReportsATaskOfAServiceAsStartedWhenTheBrokerHasItsRequest) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  ASSERT_TRUE(client_->next());
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
}

TEST_F(TaskQueueTest, EndsATaskIfNoServiceListens) {
  open();
  queue_->run(service_task(1));
  EXPECT_EQ(sink_.wait_for_end(task_id(1)),
            "!millrace.function.unavailable: no service listens on the function's subject");
}

TEST_F(TaskQueueTest, SendsNoRequestOnASubjectThatIsReservedOrNotAllowed) {
  open({.request_subjects = {.allowed = {"svc.>"}}});
  client_->subscribe("other.charge");
  for (const char* const subject : {"$JS.API.STREAM.PURGE.MILLRACE_TASKS", "other.charge"}) {
    const auto number = static_cast<uint8_t>(subject[0] == '$' ? 1 : 2);
    queue_->run(service_task(number, subject));
    EXPECT_THAT(sink_.wait_for_end(task_id(number)),
                testing::StartsWith("!millrace.function.refused: "))
        << subject;
  }
  client_->subscribe("svc.charge");
  queue_->run(service_task(3));
  const Message request = client_->next().value();
  EXPECT_EQ(request.subject, "svc.charge") << "the first request";
}

TEST_F(TaskQueueTest, EndsTheRequestsThatNatsRefuses) {
  const NatsServer server(R"(authorization { users: [{user: ann, password: secret,
    permissions: {publish: {deny: ["svc.hang", "svc.\"odd\""]}}}] }
no_auth_user: ann)");
  const std::unique_ptr<RawNatsClient> service = server.client();
  for (const char* const subject : {"svc.hang", "svc.\"odd\"", "svc.charge"}) {
    service->subscribe(subject);
  }
  connection_ = server.connect();
  queue_ = std::make_unique<TaskQueue>(*connection_, sink_, patient());
  queue_->run(service_task(1, "svc.hang"));
  queue_->run(service_task(2, "svc.\"odd\""));
  queue_->run(service_task(3, "svc.hang"));
  queue_->run(service_task(4));
  const auto refused = [](std::string_view subject) {
    return fmt::format(
        "!millrace.function.refused: NATS refused the request on the subject {0}: its user for "
        "millrace may not publish on this subject; let the operator give this user the permission "
        "to publish {0} (docs/nats.md, \"Permissions\"), or name another subject",
        subject);
  };
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), refused("svc.hang"));
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), refused("svc.\"odd\""));
  EXPECT_EQ(sink_.wait_for_end(task_id(3)), refused("svc.hang"));
  const Message request = service->next().value();
  EXPECT_EQ(request.subject, "svc.charge");
  service->publish(request.reply, "4");
  service->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(4)), "4") << "other subjects are not affected";
  EXPECT_EQ(queue_->counts().tasks, 0u);
  queue_.reset();
  connection_.reset();
}

TEST_F(TaskQueueTest, ReadsErrorsFromTheHeadersOfNatsMicroServices) {
  client_->subscribe("svc.charge");
  open();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Nats-Service-Error: card: unknown\r\nNats-Service-Error-Code: 404\r\n",
       "!404: card: unknown"},
      {"Nats-Service-Error:\r\nNats-Service-Error-Code: 404\r\n",
       "!404: Nats-Service-Error-Code: 404"},  // the form in which nats.c delivers an empty header
      {"Direktiv-ErrorCode:\r\nDirektiv-ErrorMessage:\r\n", "body"},
      {"Direktiv-ErrorCode:\r\nX-Trace: 1\r\n", "body"},
      {"DIREKTIV-ERRORCODE: card.declined\r\n", "!card.declined: "},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<uint8_t>(i + 1);
    queue_->run(service_task(number));
    client_->publish(client_->next().value().reply, rows[i].first, "body", "");
    client_->flush();
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), rows[i].second) << rows[i].first;
  }
}

TEST_F(TaskQueueTest, PublishesTheStopOfATaskAndIgnoresTheAnswerToItsRequest) {
  client_->subscribe("svc.charge");
  const std::unique_ptr<RawNatsClient> stops = server_.client();
  stops->subscribe("millrace.stops.*");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  queue_->stop(task_id(1));
  EXPECT_EQ(stops->next().value().data, to_string(task_id(1)));
  client_->publish(request.reply, "late");
  client_->flush();
  queue_->run(service_task(2));
  client_->publish(client_->next().value().reply, "2");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
  EXPECT_THAT(sink_.words(task_id(1)), testing::Not(testing::Contains("late")));
}

TEST_F(TaskQueueTest, KeepsRequestsInMemoryUntilTheBrokerIsBack) {
  open();
  server_.process().kill();
  ASSERT_TRUE(becomes_true([&] { return !connection_->connected(); }));
  queue_->run(service_task(1));
  ASSERT_TRUE(server_.process().start_again());
  EXPECT_THAT(sink_.wait_for_end(task_id(1)),
              testing::StartsWith("!millrace.function.unavailable: no service"));
}

TEST_F(TaskQueueTest, TakesAnAnswerOfAServiceAfterARestartOfTheBroker) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(becomes_true([&] { return !connection_->connected(); }));
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(connection_->wait_until_connected(kPatience));
  // nats.c sends the subscriptions again. After one request and its response, the broker has the
  // subscriptions.
  ASSERT_TRUE(connection_->api("INFO", Json::object()));
  client_ = server_.client();
  client_->publish(request.reply, "1");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

}  // namespace
}  // namespace millrace
