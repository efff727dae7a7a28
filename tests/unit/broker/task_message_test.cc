#include "broker/task_message.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

TEST(TaskMessage, MakesADifferentValidConsumerNameForEachSubject) {
  EXPECT_EQ(task_consumer("millrace.tasks.shop.charge"), "shop+charge");
  EXPECT_EQ(task_consumer("millrace.tasks.shop.a.b_c-d"), "shop+a+b_c-d");
  EXPECT_EQ(task_consumer("millrace.tasks.shop.a+b/c\\d"), "shop+a%2Bb%2Fc%5Cd");
  const std::string longest = fmt::format("millrace.tasks.{:n>128}", "");
  EXPECT_EQ(task_consumer(longest), std::string(128, 'n'));
  const std::string one = task_consumer(longest + ".a");
  const std::string other = task_consumer(longest + ".b");
  EXPECT_EQ(one.size(), 128u);
  EXPECT_EQ(one.substr(0, 112), fmt::format("{:n>111}+", ""));
  EXPECT_NE(one, other);
}

TEST(TaskMessage, PutsTheNamespaceIntoAValidReplySubject) {
  EXPECT_EQ(reply_subject("a.b c", task_id(1)),
            "millrace.results.0.a%2Eb%20c." + to_string(task_id(1)));
}

TEST(TaskMessage, OmitsTheDeadlineHeaderIfTheTaskHasNoDeadline) {
  Task task = queue_task(1);
  task.deadline.reset();
  EXPECT_EQ(find_header(task_message(task)->headers, "Direktiv-Deadline"), nullptr);
}

TEST(TaskMessage, HasTheCallThatAllItsAttemptsHave) {
  Task task = queue_task(1);
  task.call = "i-7-0";
  EXPECT_EQ(*find_header(task_message(task)->headers, "Millrace-Call"), "i-7-0");
}

TEST(TaskMessage, HasTheEpochOnlyInACluster) {
  Task task = queue_task(1);
  EXPECT_EQ(find_header(task_message(task)->headers, "Millrace-Epoch"), nullptr);
  task.epoch = 18;
  EXPECT_EQ(*find_header(task_message(task)->headers, "Millrace-Epoch"), "18");
}

TEST(TaskMessage, HasTheProgressOfAnEarlierAttempt) {
  Task task = queue_task(1);
  EXPECT_EQ(find_header(task_message(task)->headers, "Millrace-Last-Progress"), nullptr);
  task.progress = R"({"done":3})";
  EXPECT_EQ(*find_header(task_message(task)->headers, "Millrace-Last-Progress"), task.progress);
}

TEST(TaskMessage, HasTheUrlOfItsFilesAndTheKeyOnlyIfItHasFiles) {
  Task task = queue_task(1);
  task.target = NatsService{"shop.charge"};
  EXPECT_EQ(find_header(task_message(task)->headers, "Millrace-Files"), nullptr);
  EXPECT_EQ(find_header(task_message(task)->headers, "Millrace-Key"), nullptr);
  task.folder = {.url = "http://m/v1/tasks/1/files", .key = "0f"};
  EXPECT_EQ(*find_header(task_message(task)->headers, "Millrace-Files"), task.folder->url);
  EXPECT_EQ(*find_header(task_message(task)->headers, "Millrace-Key"), "0f");
}

TEST(TaskMessage, HasTheUrlTheSubjectAndTheKeyOfItsCallbackOnlyIfItMayBeAnsweredLater) {
  Task task = queue_task(1);
  task.target = NatsService{"shop.charge"};
  for (const char* const name :
       {"Millrace-Callback", "Millrace-Callback-Subject", "Millrace-Key"}) {
    EXPECT_EQ(find_header(task_message(task)->headers, name), nullptr) << name;
  }
  task.callback = {.url = "http://m/v1/ns/shop/callbacks/k", .key = "0f"};
  task.folder = {.url = "http://m/v1/tasks/1/files", .key = "0f"};
  const Headers both = task_message(task)->headers;
  EXPECT_EQ(std::count_if(both.begin(), both.end(),
                          [](const auto& one) { return one.first == "Millrace-Key"; }),
            1);
  task.folder.reset();
  const Headers headers = task_message(task, "orders")->headers;
  EXPECT_EQ(*find_header(headers, "Millrace-Callback"), task.callback->url);
  EXPECT_EQ(*find_header(headers, "Millrace-Callback-Subject"),
            "orders.callbacks.0.shop." + to_string(task_id(1)));
  EXPECT_EQ(*find_header(headers, "Millrace-Key"), "0f");
}

TEST(TaskMessage, ReadsWhetherAnAnswerAcceptsTheTask) {
  const std::vector<std::pair<Headers, bool>> rows = {
      {{{"Millrace-Answer", "accepted"}}, true},
      {{{"millrace-answer", "accepted"}, {"Direktiv-ErrorCode", ""}}, true},
      {{{"Millrace-Answer", "Accepted"}}, false},
      {{{"Millrace-Answer", ""}}, false},
      {{}, false},
      {{{"Millrace-Answer", "accepted"}, {"Direktiv-ErrorCode", "card.declined"}}, false},
      {{{"Millrace-Answer", "accepted"}, {"Nats-Service-Error-Code", "404"}}, false},
      {{{"Millrace-Answer", "accepted"}, {"Nats-Service-Error", "unknown"}}, false},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(is_accepted({"s", rows[i].first, "body"}), rows[i].second) << i;
  }
}

TEST(TaskMessage, GetsAnotherMessageIdInEachDataFolder) {
  const NatsMessage first = task_message(queue_task(1)).value();
  const std::string id = to_string(task_id(1));
  const NatsMessage here = sent_again(first, "here");
  EXPECT_EQ(sent_again(first, "here").headers, here.headers);
  const std::string& message_id = *find_header(here.headers, "Nats-Msg-Id");
  EXPECT_TRUE(message_id.starts_with(id + "/")) << message_id;
  EXPECT_EQ(message_id.size(), id.size() + 17);
  EXPECT_NE(*find_header(sent_again(first, "there").headers, "Nats-Msg-Id"), message_id);
  EXPECT_EQ(*find_header(here.headers, "Direktiv-ActionID"), id);
  EXPECT_EQ(here.subject, first.subject);
  EXPECT_EQ(here.data, first.data);
}

TEST(TaskMessage, ReadsTheAcknowledgementsThatNatsDefines) {
  EXPECT_EQ(read_ack_word("+WPI"), AckWord::kAlive);
  for (const char* done : {"", "+ACK", "+OK", "+NXT", R"(+NXT {"batch":1})"}) {
    EXPECT_EQ(read_ack_word(done), AckWord::kDone) << done;
  }
  EXPECT_EQ(read_ack_word("-NAK"), AckWord::kNak);
  EXPECT_EQ(read_ack_word(R"(-NAK {"delay":1})"), AckWord::kNak);
  EXPECT_EQ(read_ack_word("+TERM"), AckWord::kTerm);
  for (const char* none : {"+NAK", "wpi", "+WPI ", "hello"}) {
    EXPECT_EQ(read_ack_word(none), std::nullopt) << none;
  }
}

TEST(TaskMessage, ReadsTheTaskAndTheNamespaceFromTheSubjectOfAnAnswer) {
  const std::string id = to_string(task_id(1));
  const AnsweredTask shop{task_id(1), "shop"};
  EXPECT_EQ(answered_task("millrace.results.0.shop." + id), shop);
  EXPECT_EQ(answered_task("millrace.results.shop." + id), shop)
      << "the older form of the subject, without a partition";
  EXPECT_EQ(answered_task("millrace.results.0." + id), (AnsweredTask{task_id(1), "0"}));
  EXPECT_EQ(answered_task(reply_subject("a.b c", task_id(1))), (AnsweredTask{task_id(1), "a.b c"}));
}

TEST(TaskMessage, FindsNoTaskInASubjectThatIsNotThatOfAnAnswer) {
  const std::string id = to_string(task_id(1));
  for (const std::string& subject :
       {std::string("x"), "millrace.results." + id, "millrace.results.1.shop." + id,
        "millrace.results.0.0.shop." + id, "millrace.results.0.shop." + id + ".x",
        "millrace.results.%zz." + id, std::string("millrace.results.0.shop.x")}) {
    EXPECT_EQ(answered_task(subject), std::nullopt) << subject;
  }
}

TEST(TaskMessage, AnAnswerWithAnUnknownWordIsAnErrorAndNoResult) {
  const auto read = read_answer({"s", {{"Millrace-Answer", "Accepted"}}, "{}"});
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, kFunctionStatus);
  EXPECT_EQ(read.error().message,
            "the header Millrace-Answer of the answer is \"Accepted\"; expected: \"accepted\"");
  EXPECT_EQ(read_answer({"s", {{"Millrace-Answer", ""}}, "{}"}), "{}");
  EXPECT_EQ(read_answer({"s", {{"Millrace-Answer", "accepted"}}, "{}"}), "{}")
      << "the task has no callback";
}

TEST(TaskMessage, AcceptsAnAnswerUpToItsMaximumSize) {
  EXPECT_EQ(read_answer({"s", {}, std::string(kMaxAnswerBytes, 'x')})->size(), kMaxAnswerBytes);
  EXPECT_EQ(read_answer({"s", {}, std::string(kMaxAnswerBytes + 1, 'x')}).error().code,
            kFunctionTooLarge);
  EXPECT_EQ(read_answer({"s", {}, ""}), "");
}

TEST(TaskMessage, ShortensAnErrorMessageAndReplacesInvalidUtf8) {
  const auto message_of = [](const std::string& text) {
    return read_answer({"s", {{"Direktiv-ErrorCode", "a"}, {"Direktiv-ErrorMessage", text}}, ""})
        .error()
        .message;
  };
  EXPECT_EQ(message_of("für"), "für");
  EXPECT_EQ(message_of("f\xfcr"), "f?r");
  EXPECT_EQ(message_of(std::string(5000, 'x')).size(), 4096u);
  EXPECT_EQ(message_of(fmt::format("{:x>4095}ü", "")), std::string(4095, 'x'));
}

TEST(TaskMessage, SeparatesHeadersThatTheLibraryNatsCHasReadAsOne) {
  const Headers read = apart({{"Nats-Service-Error", "card: unknown"},
                              {"Nats-Service-Error-Code", "X-Trace: 1"},
                              {"X-Empty", "Direktiv-ErrorCode:"}});
  EXPECT_EQ(*find_header(read, "Nats-Service-Error"), "card: unknown");
  EXPECT_EQ(*find_header(read, "Nats-Service-Error-Code"), "");
  EXPECT_EQ(*find_header(read, "X-Trace"), "1");
  EXPECT_EQ(*find_header(read, "Direktiv-ErrorCode"), "");
}

}  // namespace
}  // namespace millrace
