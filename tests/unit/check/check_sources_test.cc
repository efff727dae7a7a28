#include <optional>

#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/source_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

class CheckSourcesTest : public CheckTest {
 protected:
  CheckSourcesTest() {
    define("id: ends\nstates: [{id: a, type: noop}]");
    start("ends");
  }

  static Change put_meta(std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kMeta, key, value); };
  }
};

TEST_F(CheckSourcesTest, ChecksTheRowsOfSources) {
  const SourceRecord record{
      .origin = {.source = {1}, .created = 7}, .created_at = now, .applied_at = now, .stream = "S"};
  const auto source = [&](NamespaceNumber of, std::optional<NamespaceNumber> of_origin) {
    return [=](Transaction& in) {
      write_source(in, {.ns = of, .name = "orders"}, record);
      if (of_origin) write_origin(in, record.origin, {.ns = *of_origin});
    };
  };
  EXPECT_THAT(found_after(source(ns, ns)), IsEmpty());
  expect_only("meta.missing meta/source/", source(ns, std::nullopt));
  expect_among("counter.behind meta/source/", source(NamespaceNumber(9), ns));
  expect_among("counter.behind meta/origin/", source(ns, NamespaceNumber(9)));
  expect_only("row.key meta/source/", put_meta("source/x", encode(record)));
  expect_only("row.record meta/source/",
              put_meta(std::string("source/\0\0\0\1orders", 17), "rubbish"));
  expect_only("row.key meta/origin/", put_meta("origin/x", encode(OriginRecord{.ns = ns})));
  expect_only("row.record meta/origin/",
              put_meta("origin/" + std::string(16 + 8 + 4, 'i'), encode(OriginRecord{})));
  expect_among(
      "the minor number is 4, but the store has rows `source/` of meta, expected at least 5",
      [&](Transaction& in) {
        source(ns, ns)(in);
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{4}));
      });
}

TEST_F(CheckSourcesTest, ChecksTheConsumersThatMustBeDeleted) {
  const SourceConsumer left{.source = {1}, .stream = "S", .name = "millrace-default-orders-01"};
  EXPECT_THAT(found_after([&](Transaction& in) { write_left_consumer(in, left); }), IsEmpty());
  const std::string key = "left-consumer/" + std::string(16, 'i');
  expect_only("row.key meta/left-consumer/", put_meta(key, encode_consumer_name(left.name)));
  expect_only("row.record meta/left-consumer/", put_meta(key + "S", "rubbish"));
  expect_only(
      "the minor number is 11, but the store has rows `left-consumer/` of meta, expected at least "
      "12",
      [&](Transaction& in) {
        write_left_consumer(in, left);
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{11}));
      });
}

}  // namespace
}  // namespace millrace
