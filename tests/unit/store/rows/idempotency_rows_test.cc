#include "orchestrator/store/rows/idempotency_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class IdempotencyRows : public StoreTest {};

TEST_F(IdempotencyRows, StoreTheInstanceOfAnIdempotencyKey) {
  const IdempotencyRecord record{.instance = id(1), .input = {1, 2, 3}};
  write_idempotency(*tx, WorkflowNumber(4), "key", record);
  const auto read = read_idempotency(*tx, WorkflowNumber(4), "key").value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->instance, record.instance);
  EXPECT_EQ(read->input, record.input);
  EXPECT_FALSE(read_idempotency(*tx, WorkflowNumber(5), "key").value());
  expect_whole(encode(record), decode_idempotency);
  expect_known_versions(encode(record), 1, decode_idempotency);
}

TEST_F(IdempotencyRows, AreErasedWithTheirInstance) {
  write_idempotency(*tx, WorkflowNumber(4), "key", {.instance = id(1)});
  erase_idempotency(*tx, {.id = id(1), .revision = {WorkflowNumber(4), 1}});
  EXPECT_TRUE(read_idempotency(*tx, WorkflowNumber(4), "key").value())
      << "this instance has no idempotency key";
  erase_idempotency(*tx,
                    {.id = id(1), .revision = {WorkflowNumber(4), 1}, .idempotency_key = "key"});
  EXPECT_FALSE(read_idempotency(*tx, WorkflowNumber(4), "key").value());
}

TEST_F(IdempotencyRows, AreReportedAsDamagedIfTheyDoNotDecode) {
  tx->put(Table::kIdempotency, std::string("\0\0\0\4key", 7), "x");
  EXPECT_EQ(read_idempotency(*tx, WorkflowNumber(4), "key").error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
