#include "orchestrator/store/rows/task_rows.h"

#include <variant>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).

int pinned(VariableScope scope) {
  switch (scope) {
    case VariableScope::kInstance:
      return 0;
    case VariableScope::kWorkflow:
      return 1;
    case VariableScope::kNamespace:
      return 2;
  }
  return -1;
}

int pinned(FileType type) {
  switch (type) {
    case FileType::kPlain:
      return 0;
    case FileType::kBase64:
      return 1;
    case FileType::kTar:
      return 2;
    case FileType::kTarGz:
      return 3;
  }
  return -1;
}

int pinned(ContainerSize size) {
  switch (size) {
    case ContainerSize::kSmall:
      return 0;
    case ContainerSize::kMedium:
      return 1;
    case ContainerSize::kLarge:
      return 2;
  }
  return -1;
}

TEST(TaskRows, EncodeAndDecodeATaskWithoutChange) {
  StartTask task{.ns = NamespaceNumber(2),
                 .task = id(1),
                 .caller = caller(),
                 .by = id(4),
                 .workflow = WorkflowNumber(7),
                 .state = "pay",
                 .function = "charge",
                 .attempt = 3,
                 .runs = Container{.isolated = true,
                                   .image = "busybox",
                                   .cmd = "cat",
                                   .size = ContainerSize::kLarge,
                                   .scale = 2},
                 .files = {{"key", VariableScope::kWorkflow, "as", FileType::kTarGz}},
                 .input = Json{{"n", 1}},
                 .deadline = kNow,
                 .heartbeat = std::chrono::seconds(5),
                 .start_to_close = std::chrono::minutes(2),
                 .is_accepted = true};
  const StartTask read = decode_task(encode(task)).value();
  EXPECT_EQ(read.task, task.task);
  EXPECT_EQ(read.caller, task.caller);
  EXPECT_EQ(read.by, task.by);
  EXPECT_EQ(read.workflow, task.workflow);
  EXPECT_EQ(read.state + read.function, "paycharge");
  EXPECT_EQ(read.attempt, 3u);
  EXPECT_EQ(read.runs, task.runs);
  EXPECT_EQ(read.files, task.files);
  EXPECT_EQ(read.input.text(), R"({"n":1})");
  EXPECT_EQ(read.deadline, task.deadline);
  EXPECT_EQ(read.heartbeat, task.heartbeat);
  EXPECT_EQ(read.start_to_close, task.start_to_close);
  EXPECT_TRUE(read.is_accepted);
  task.runs = NamedService{"charge", true};
  EXPECT_EQ(decode_task(encode(task)).value().runs, task.runs);
  expect_whole(encode(task), decode_task);

  std::string of_version_2 = encode(task);
  of_version_2.front() = 2;
  of_version_2.pop_back();  // the field that version 3 added
  const StartTask old = decode_task(of_version_2).value();
  EXPECT_EQ(old.start_to_close, task.start_to_close);
  EXPECT_FALSE(old.is_accepted);

  task.start_to_close.reset();
  std::string of_version_1 = encode(task);
  of_version_1.pop_back();  // the field that version 3 added
  of_version_1.front() = 1;
  of_version_1.pop_back();  // the field that version 2 added
  const StartTask older = decode_task(of_version_1).value();
  EXPECT_EQ(older.heartbeat, task.heartbeat);
  EXPECT_FALSE(older.start_to_close);
}

TEST(TaskRows, HaveAFurtherVersionOnlyWithProgress) {
  StartTask task{.task = id(1), .runs = NamedService{"charge"}};
  EXPECT_EQ(encode(task).front(), 3);
  task.progress = R"({"done":3})";
  EXPECT_EQ(encode(task).front(), 4);
  EXPECT_EQ(decode_task(encode(task)).value().progress, task.progress);
  expect_whole(encode(task), decode_task);
}

TEST(TaskRows, StoreEnumeratorsAsFixedNumbers) {
  expect_pinned<ContainerSize>("size", pinned, [](ContainerSize size) {
    const auto read = decode_task(encode(StartTask{.runs = Container{.size = size}}));
    return read && std::get<Container>(read->runs).size == size;
  });
  expect_pinned<VariableScope>("scope", pinned, [](VariableScope scope) {
    StartTask task{.runs = NamedService{}};
    task.files = {{.key = "k", .scope = scope}};
    const auto read = decode_task(encode(task));
    return read && read->files.at(0).scope == scope;
  });
  expect_pinned<FileType>("file", pinned, [](FileType type) {
    StartTask task{.runs = NamedService{}};
    task.files = {{.key = "k", .type = type}};
    const auto read = decode_task(encode(task));
    return read && read->files.at(0).type == type;
  });
}

TEST(TaskRows, KeepTheMessageThatStartsASubflow) {
  const InboxRecord record{.message = StartChild{.ns = NamespaceNumber(2),
                                                 .child = id(1),
                                                 .workflow = "charge",
                                                 .input = Json{{"a", 1}},
                                                 .caller = caller(),
                                                 .by = id(7),
                                                 .depth = 5,
                                                 .hops = 6},
                           .listen_from = {.kept = 77, .event = {2, 300}}};
  const InboxRecord read = decode_inbox(encode(record)).value();
  EXPECT_EQ(read.listen_from, (ListenFrom{.kept = 77, .event = {2, 300}}));
  const auto& start = std::get<StartChild>(read.message);
  EXPECT_EQ(start.ns, NamespaceNumber(2));
  EXPECT_EQ(start.child, id(1));
  EXPECT_EQ(start.workflow, "charge");
  EXPECT_EQ(start.input.text(), R"({"a":1})");
  EXPECT_EQ(start.caller, caller());
  EXPECT_EQ(start.by, id(7));
  EXPECT_EQ(start.depth, 5u);
  EXPECT_EQ(start.hops, 6u);
  expect_whole(encode(record), decode_inbox);
}

TEST(TaskRows, KeepTheMessageThatCancelsASubflow) {
  const InboxRecord record{.message = CancelChild{NamespaceNumber(1), id(9)}};
  EXPECT_EQ(std::get<CancelChild>(decode_inbox(encode(record)).value().message).child, id(9));
  expect_whole(encode(record), decode_inbox);
}

TEST(TaskRows, KeepTheMessageWithTheResultOfACall) {
  const InboxRecord value{
      .message = ReturnResult{NamespaceNumber(1), caller(), LazyJson(Json::array({1, 2}))}};
  const InboxRecord read = decode_inbox(encode(value)).value();
  EXPECT_EQ(std::get<ReturnResult>(read.message).to, caller());
  EXPECT_EQ(std::get<ReturnResult>(read.message).result->text(), "[1,2]");

  const InboxRecord error{
      .message = ReturnResult{NamespaceNumber(1), caller(), tl::unexpected(Error{"a.b", "why"})}};
  EXPECT_EQ(std::get<ReturnResult>(decode_inbox(encode(error)).value().message).result.error(),
            (Error{"a.b", "why"}));
  expect_whole(encode(error), decode_inbox);
}

TEST(TaskRows, StoreKindsOfInstanceMessagesAsFixedNumbers) {
  // The byte of the kind follows the version and `listen_from`.
  const auto kind_of = [](InstanceMessage message) {
    return static_cast<int>(encode(InboxRecord{.message = std::move(message)}).at(4));
  };
  EXPECT_EQ(kind_of(StartChild{}), 0);
  EXPECT_EQ(kind_of(CancelChild{.at_once = true}), 1);
  EXPECT_EQ(kind_of(ReturnResult{}), 2);
  EXPECT_EQ(kind_of(CancelChild{.at_once = false}), 3);
  EXPECT_EQ(std::variant_size_v<InstanceMessage>, 3U)
      << "add the new kind here and in task_rows.cc";
}

TEST(TaskRows, RefuseUnknownVersions) {
  expect_known_versions(encode(StartTask{.runs = NamedService{}}), 7, decode_task);
  expect_known_versions(encode(InboxRecord{.message = CancelChild{}}), 2, decode_inbox);
  expect_known_versions(encode(WebhookRecord{}), 1, decode_webhook);
}

TEST(TaskRows, EncodeAndDecodeAWebhookDeliveryWithoutChange) {
  const WebhookRecord webhook{
      .ns = NamespaceNumber(2), .url = "http://a", .at = kNow, .attempt = 3, .event = "{}"};
  const WebhookRecord read = decode_webhook(encode(webhook)).value();
  EXPECT_EQ(read.ns, webhook.ns);
  EXPECT_EQ(read.url, webhook.url);
  EXPECT_EQ(read.at, kNow);
  EXPECT_EQ(read.attempt, 3U);
  EXPECT_EQ(read.event, "{}");
  expect_whole(encode(webhook), decode_webhook);
}

class TaskRowsTest : public StoreTest {};

TEST_F(TaskRowsTest, StoreTasksById) {
  write_task(*tx, {.task = id(1), .runs = NamedService{"charge", false}});
  EXPECT_EQ(std::get<NamedService>(read_task(*tx, id(1)).value()->runs).name, "charge");
  size_t tasks = 0;
  const auto see = [&](const StartTask&) { ++tasks; };
  EXPECT_TRUE(each_task(*tx, see));
  EXPECT_EQ(tasks, 1U);
  const InstanceId second = id(2);
  const std::string key(second.bytes.begin(), second.bytes.end());
  tx->put(Table::kTasks, key, encode(StartTask{.task = id(3), .runs = NamedService{}}));
  EXPECT_EQ(each_task(*tx, see).error().code, kDamagedRow) << "the row has another task";
  erase_task(*tx, id(1));
  EXPECT_FALSE(read_task(*tx, id(1)).value());
}

TEST_F(TaskRowsTest, StoreInstanceMessagesAndWebhookDeliveriesByNumber) {
  write_inbox(*tx, 4, {.message = CancelChild{NamespaceNumber(1), id(9)}});
  write_webhook(*tx, 5, {.url = "http://a"});
  uint64_t sum = 0;
  EXPECT_TRUE(each_inbox(*tx, [&](uint64_t number, const InboxRecord&) { sum += number; }));
  EXPECT_TRUE(each_webhook(*tx, [&](uint64_t number, const WebhookRecord&) { sum += number; }));
  EXPECT_EQ(sum, 9U);
  EXPECT_EQ(read_webhook(*tx, 5).value()->url, "http://a");
  erase_inbox(*tx, 4);
  erase_webhook(*tx, 5);
  EXPECT_FALSE(read_webhook(*tx, 5).value());
  EXPECT_TRUE(each_inbox(*tx, [&](uint64_t, const InboxRecord&) { ADD_FAILURE(); }));
}

TEST_F(TaskRowsTest, RefuseAWebhookDeliveryWithAMalformedEvent) {
  EXPECT_EQ(event_of(5, WebhookRecord{.event = "{}"}).error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
