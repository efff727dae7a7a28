#include "orchestrator/batch/commands/source_commands.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const SourcePlace kOrdersPlace{.ns = NamespaceNumber(1), .name = "orders"};

ApplySource apply_orders(const std::string& name = "orders", uint8_t id = 1) {
  ApplySource command{.ns = "default", .name = name, .floor = 10};
  command.record.origin = {.source = {id}, .created = 77};
  command.record.stream = "ORDERS";
  command.record.begin = R"("new")";
  command.record.settings = R"({"stream":"ORDERS"})";
  return command;
}

SourceRecord stored_source(CommandRig& rig) {
  return read_source(rig.batch().tx, kOrdersPlace).value().value_or(SourceRecord());
}

OriginRecord stored_origin(CommandRig& rig, const OriginStream& origin) {
  return read_origin(rig.batch().tx, origin).value().value_or(OriginRecord());
}

std::vector<OriginStream> stored_origins(CommandRig& rig) {
  std::vector<OriginStream> all;
  EXPECT_TRUE(each_origin_of(
      rig.batch().tx, stored_source(rig).origin.source,
      [&](const OriginStream& origin, const OriginRecord&) { all.push_back(origin); }));
  return all;
}

RefuseMessages refuse(const OriginStream& origin, const std::vector<uint64_t>& sequences) {
  RefuseMessages command{.ns = "default", .name = "orders", .origin = origin};
  for (const uint64_t sequence : sequences) {
    command.messages.push_back({.previous = sequence - 1,
                                .sequence = sequence,
                                .stamped = from_millis(5),
                                .reason = {"event.id", "no id"},
                                .message = {.subject = "shop.orders", .data = "x"}});
  }
  return command;
}

size_t outbox_size(CommandRig& rig) {
  size_t sum = 0;
  EXPECT_TRUE(each_outbox(rig.batch().tx, 0, [&](uint64_t, std::string_view) -> Result<bool> {
    ++sum;
    return true;
  }));
  return sum;
}

TEST(SourceCommands, CreateASourceBehindItsFloor) {
  CommandRig rig;
  const Json answer = rig.must(apply_orders());
  EXPECT_EQ(answer["created"], true);
  const SourceRecord source = stored_source(rig);
  EXPECT_EQ(source.stream, "ORDERS");
  EXPECT_EQ(source.created_at, rig.now);
  EXPECT_FALSE(source.is_paused);
  EXPECT_EQ(stored_origin(rig, source.origin).applied, AppliedSequences(10));
}

TEST(SourceCommands, ContinueASourceWhoseStreamAndBeginAreTheSame) {
  CommandRig rig;
  rig.must(apply_orders());
  const OriginStream origin = stored_source(rig).origin;
  ApplySource changed = apply_orders("orders", 2);
  changed.record.settings = R"({"rate":5,"stream":"ORDERS"})";
  changed.floor = 99;
  const Json answer = rig.must(changed);
  EXPECT_EQ(answer["created"], false);
  EXPECT_EQ(answer["continues"], true);
  EXPECT_EQ(stored_source(rig).origin, origin);
  EXPECT_EQ(stored_source(rig).settings, changed.record.settings);
  EXPECT_EQ(stored_origin(rig, origin).applied, AppliedSequences(10));
}

TEST(SourceCommands, ReadFromAnotherPlaceIfTheBeginIsAnother) {
  CommandRig rig;
  rig.must(apply_orders());
  const OriginStream first = stored_source(rig).origin;
  ApplySource changed = apply_orders();
  changed.record.begin = R"("all")";
  changed.floor = 0;
  EXPECT_EQ(rig.must(changed)["continues"], false);
  const OriginStream second = stored_source(rig).origin;
  EXPECT_EQ(second.round, first.round + 1);
  EXPECT_EQ(stored_origin(rig, second).applied, AppliedSequences(0));
  EXPECT_EQ(stored_origin(rig, first).applied, AppliedSequences(10)) << "for what is published";
}

TEST(SourceCommands, KeepTheNewestOriginStreamsOfASource) {
  CommandRig rig;
  for (uint64_t created = 1; created <= kOriginsKept + 3; ++created) {
    ApplySource command = apply_orders();
    command.record.stream = "S" + std::to_string(created);
    command.record.origin.created = created;
    rig.must(command);
  }
  EXPECT_THAT(stored_origins(rig), SizeIs(kOriginsKept));
  EXPECT_EQ(stored_origins(rig).back(), stored_source(rig).origin);
}

TEST(SourceCommands, PauseAndResume) {
  CommandRig rig;
  EXPECT_EQ(rig.refusal(PauseSource{.ns = "default", .name = "orders"}).code, "source.not_found");
  rig.must(apply_orders());
  rig.must(PauseSource{.ns = "default", .name = "orders"});
  EXPECT_TRUE(stored_source(rig).is_paused);
  rig.must(apply_orders());
  EXPECT_TRUE(stored_source(rig).is_paused) << "settings without `paused` leave it";
  ApplySource resumed = apply_orders();
  resumed.paused = false;
  rig.must(resumed);
  EXPECT_FALSE(stored_source(rig).is_paused);
}

TEST(SourceCommands, DeleteASourceWithItsRows) {
  CommandRig rig;
  rig.must(apply_orders());
  const OriginStream origin = stored_source(rig).origin;
  rig.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_EQ(*read_source(rig.batch().tx, kOrdersPlace), std::nullopt);
  EXPECT_EQ(*read_origin(rig.batch().tx, origin), std::nullopt);
  EXPECT_EQ(rig.refusal(DeleteSource{.ns = "default", .name = "orders"}).code, "source.not_found");
}

TEST(SourceCommands, DeleteTheSourcesOfADeletedNamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "shop"});
  ApplySource command = apply_orders();
  command.ns = "shop";
  rig.must(command);
  rig.must(apply_orders("orders", 2));
  rig.must(DeleteNamespace{.name = "shop"});
  std::vector<SourcePlace> left;
  EXPECT_TRUE(each_source(rig.batch().tx, [&](const SourcePlace& place, const SourceRecord&) {
    left.push_back(place);
  }));
  EXPECT_EQ(left, std::vector<SourcePlace>{kOrdersPlace});
  EXPECT_EQ(*read_origin(rig.batch().tx, command.record.origin), std::nullopt);
}

TEST(SourceCommands, KeepTheNamespaceOfASourceWhoseStreamMillraceMade) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "shop"});
  ApplySource own = apply_orders();
  own.ns = "shop";
  own.record.stream = "";
  rig.must(own);
  const Error error = rig.refusal(DeleteNamespace{.name = "shop", .cancel = true});
  EXPECT_EQ(error.code, "namespace.not_empty");
  EXPECT_THAT(error.message, HasSubstr("(orders)"));
  rig.must(DeleteSource{.ns = "shop", .name = "orders"});
  rig.must(DeleteNamespace{.name = "shop", .cancel = true});
}

TEST(SourceCommands, RefuseTooManySources) {
  CommandRig rig;
  for (size_t i = 0; i < kMostSourcesOfNamespace; ++i) {
    rig.must(apply_orders("s" + std::to_string(i), static_cast<uint8_t>(i + 1)));
  }
  EXPECT_EQ(rig.refusal(apply_orders("more", 99)).code, "source.too_many");
  rig.must(apply_orders("s0"));
}

TEST(SourceCommands, MoveASourceOnceFromWhatItReads) {
  CommandRig rig;
  rig.must(apply_orders());
  const OriginStream from = stored_source(rig).origin;
  MoveSource move{
      .ns = "default", .name = "orders", .from = from, .created = from.created, .floor = 4};
  EXPECT_EQ(rig.must(move)["moved"], true);
  const OriginStream to = stored_source(rig).origin;
  EXPECT_EQ(to.round, 1U);
  EXPECT_EQ(stored_origin(rig, to).applied, AppliedSequences(4));
  EXPECT_EQ(rig.must(move)["moved"], false);
  EXPECT_EQ(stored_source(rig).origin, to);
}

TEST(SourceCommands, MakeADeadLetterOfEachRefusedMessageOnce) {
  CommandRig rig;
  rig.must(apply_orders());
  const OriginStream origin = stored_source(rig).origin;
  EXPECT_EQ(rig.must(refuse(origin, {11, 12}))["refused"], 2);
  EXPECT_EQ(rig.must(refuse(origin, {12, 14}))["refused"], 1);
  const OriginRecord record = stored_origin(rig, origin);
  EXPECT_EQ(record.applied.floor(), 12U);
  EXPECT_EQ(record.applied.highest(), 14U);
  EXPECT_EQ(record.refused, 3U);
  EXPECT_EQ(record.refused_sequence, 14U);
  EXPECT_EQ(record.refusal.code, "event.id");
  EXPECT_EQ(outbox_size(rig), 3U);
}

/// The same source, which consumes that stream.
ApplySource consume_stream(const std::string& stream, const std::string& ns = "default") {
  ApplySource command = apply_orders();
  command.ns = ns;
  command.record.stream = stream;
  command.record.begin = R"("all")";
  command.record.settings = R"({"begin":"all","consume":true,"stream":")" + stream + "\"}";
  return command;
}

SourceConsumer consumer_at(const std::string& stream, const std::string& ns = "default") {
  return {.source = {1}, .stream = stream, .name = "millrace-" + ns + "-orders-01000000"};
}

std::vector<SourceConsumer> left_consumers(CommandRig& rig) {
  std::vector<SourceConsumer> all;
  EXPECT_TRUE(
      each_left_consumer(rig.batch().tx, [&](const SourceConsumer& one) { all.push_back(one); }));
  return all;
}

TEST(SourceCommands, NoteTheConsumerOfADeletedSourceUntilItIsForgotten) {
  CommandRig rig;
  rig.must(consume_stream("ORDERS"));
  rig.must(consume_stream("ORDERS"));
  rig.must(PauseSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(left_consumers(rig), IsEmpty());
  rig.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("ORDERS")));
  rig.must(ForgetConsumer{consumer_at("BILLS")});
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("ORDERS")));
  rig.must(ForgetConsumer{consumer_at("ORDERS")});
  EXPECT_THAT(left_consumers(rig), IsEmpty());
  rig.must(apply_orders());
  rig.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(left_consumers(rig), IsEmpty()) << "it did not consume its stream";
}

TEST(SourceCommands, NoteTheConsumerOfAStreamThatASourceReadsNoMore) {
  CommandRig rig;
  rig.must(consume_stream("ORDERS"));
  rig.must(consume_stream("BILLS"));
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("ORDERS")));
  rig.must(consume_stream("ORDERS"));
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("BILLS"))) << "it has the other again";
  rig.must(apply_orders());
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("BILLS"), consumer_at("ORDERS")));
}

TEST(SourceCommands, NoteTheConsumersOfADeletedNamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "shop"});
  rig.must(consume_stream("ORDERS", "shop"));
  rig.must(DeleteNamespace{.name = "shop"});
  EXPECT_THAT(left_consumers(rig), ElementsAre(consumer_at("ORDERS", "shop")));
}

TEST(SourceCommands, RefuseAFurtherConsumerWhileTooManyAreLeft) {
  CommandRig rig;
  rig.must(consume_stream("ORDERS"));
  for (size_t i = 0; i < kMostLeftConsumers; ++i) {
    write_left_consumer(rig.batch().tx, {.source = {2}, .stream = std::to_string(i), .name = "n"});
  }
  ASSERT_TRUE(rig.commit());
  const Error error = rig.refusal(consume_stream("BILLS"));
  EXPECT_EQ(error.code, "source.consumers_left");
  EXPECT_THAT(error.message, HasSubstr("256 consumers"));
  EXPECT_EQ(stored_source(rig).stream, "ORDERS");
  rig.must(consume_stream("ORDERS"));
  rig.must(apply_orders("other", 3));
  rig.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(left_consumers(rig), SizeIs(kMostLeftConsumers + 1));
}

TEST(SourceCommands, RefuseNoMessagesOfADeletedSource) {
  CommandRig rig;
  const Error error = rig.refusal(refuse({.source = {9}}, {1}));
  EXPECT_EQ(error.code, "source.not_found");
  EXPECT_THAT(error.message, HasSubstr("orders"));
  EXPECT_EQ(outbox_size(rig), 0U);
}

TEST(SourceCommands, LoseTheBatchIfTheStoreCannotBeRead) {
  expect_every_read_fault_loses_the_batch([](CommandRig&) { return apply_orders(); });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(apply_orders());
    return DeleteSource{.ns = "default", .name = "orders"};
  });
}

}  // namespace
}  // namespace millrace
