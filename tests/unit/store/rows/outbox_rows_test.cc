#include "orchestrator/store/rows/outbox_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class OutboxRows : public StoreTest {
 protected:
  OutboxRecord message() const {
    return {.instance = id(1),
            .message = {.subject = "millrace.events.shop.t",
                        .headers = {{"Nats-Msg-Id", "1"}},
                        .data = "the event"}};
  }
};

TEST_F(OutboxRows, StoreMessagesByNumber) {
  write_outbox(*tx, 7, message());
  const auto read = read_outbox(*tx, 7).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->instance, id(1));
  EXPECT_EQ(read->message.subject, message().message.subject);
  EXPECT_EQ(read->message.headers, message().message.headers);
  EXPECT_EQ(read->message.data, "the event");
  erase_outbox(*tx, 7);
  EXPECT_FALSE(read_outbox(*tx, 7).value());
  expect_whole(encode(message()), [](std::string_view bytes) { return decode_outbox(bytes); });
  expect_known_versions(encode(message()), 1,
                        [](std::string_view bytes) { return decode_outbox(bytes); });
}

TEST_F(OutboxRows, RefuseAMessageThatNatsDoesNotAccept) {
  OutboxRecord record = message();
  record.message.subject = "millrace..x";
  EXPECT_FALSE(decode_outbox(encode(record)));
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"", "v"}, {"a:b", "v"}, {"a", "v\r\n"}}) {
    record = message();
    record.message.headers = {{name, value}};
    EXPECT_FALSE(decode_outbox(encode(record))) << name;
  }
}

TEST_F(OutboxRows, AreListedFromTheGivenNumberOn) {
  for (const uint64_t number : {1, 2, 3}) write_outbox(*tx, number, message());
  tx->put(Table::kOutbox, "bad", "x");
  uint64_t sum = 0;
  size_t damages = 0;
  EXPECT_TRUE(each_outbox(
      *tx, 2,
      [&](uint64_t number, std::string_view row) -> Result<bool> {
        EXPECT_EQ(decode_outbox(*tx, number, row).value().message.data, "the event");
        sum += number;
        return true;
      },
      [&](const Error& error) {
        EXPECT_EQ(error.code, kDamagedRow);
        ++damages;
      }));
  EXPECT_EQ(sum, 5U);
  EXPECT_EQ(damages, 1U);
}

TEST_F(OutboxRows, StoreAckedMessages) {
  const SentRecord record{.stream_created = 99,
                          .at = kNow,
                          .messages = {{.number = 500, .sequence = 3, .bytes = 1'000},
                                       {.number = 7, .sequence = 4, .bytes = 0}}};
  write_sent(*tx, 1, record);
  size_t rows = 0;
  EXPECT_TRUE(each_sent(*tx, [&](uint64_t number, const SentRecord& read) {
    ++rows;
    EXPECT_EQ(number, 1U);
    EXPECT_EQ(read.stream_created, 99);
    EXPECT_EQ(read.at, kNow);
    ASSERT_EQ(read.messages.size(), 2U);
    EXPECT_EQ(read.messages[0].number, 500U);
    EXPECT_EQ(read.messages[1].number, 7U) << "the numbers need not be in ascending order";
    EXPECT_EQ(read.messages[1].sequence, 4U);
    EXPECT_EQ(read.messages[0].bytes, 1'000U);
  }));
  EXPECT_EQ(rows, 1U);
  expect_whole(encode(record), decode_sent);
  expect_known_versions(encode(record), 1, decode_sent);
}

}  // namespace
}  // namespace millrace
