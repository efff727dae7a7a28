// The check of the rows about starts: the counts of rate limits, and pending starts.
#include <optional>
#include <string>

#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

class CheckStartsTest : public CheckTest {
 protected:
  CheckStartsTest() { define("id: one\nstates: [{id: only, type: noop}]\n"); }

  static Change put(const std::string& key, const std::string& value) {
    return [=](Transaction& in) { in.put(Table::kMeta, key, value); };
  }
};

TEST_F(CheckStartsTest, ChecksTheCountsOfStarts) {
  const StartRatePlace place{.workflow = WorkflowNumber(1), .key = fingerprint({"k"})};
  const StartRateRecord record{
      .ns = ns, .ends = now, .listed = now, .use = {{{.first = now, .last = now}}}};
  const auto counts = [&](Transaction& in) {
    EXPECT_TRUE(write_start_rate(in, place, record, true));
  };
  EXPECT_THAT(found_after(counts), IsEmpty());
  expect_only("meta.missing meta/start-rate/", [&](Transaction& in) {
    counts(in);
    in.erase(Table::kMeta, start_rate_end_key({now, place}));
  });
  expect_only("meta.missing meta/start-rate-end/", [&](Transaction& in) {
    counts(in);
    in.put(Table::kMeta, start_rate_end_key({now + std::chrono::hours(1), place}), "");
  });
  expect_only("row.record meta/start-rate-end/", [&](Transaction& in) {
    counts(in);
    in.put(Table::kMeta, start_rate_end_key({now, place}), "x");
  });
  expect_only("row.value meta/start-rates/", [&](Transaction& in) {
    counts(in);
    in.erase(Table::kMeta, std::string(kStartRatesKey) + rows::ns_prefix(ns));
  });
  expect_only("row.key meta/start-rate/", put("start-rate/x", encode(record)));
  expect_only("row.key meta/start-rate-end/", put("start-rate-end/x", ""));
  expect_only("row.key meta/start-rates/", put("start-rates/x", "1"));
  expect_only("the minor number is 9, but the store has counts of starts, expected at least 10",
              [&](Transaction& in) {
                counts(in);
                in.put(Table::kMeta, "minor", rows::key_of(uint64_t{9}));
              });
}

TEST_F(CheckStartsTest, ChecksPendingStarts) {
  const PendingStartPlace place{.ns = ns, .workflow = number_of("one"), .key = fingerprint({"k"})};
  const PendingStart start{.first = now,
                           .at = now,
                           .listed = now,
                           .id = numbered_id(99),
                           .input = Json::object(),
                           .how = Json{{"by", "call"}, {"revision", 1}}};
  // With the bytes that it counts.
  const auto waits = [&](Transaction& in) {
    EXPECT_TRUE(write_pending_start(in, place, start, std::nullopt));
  };
  EXPECT_THAT(found_after(waits), IsEmpty());
  expect_only("meta.missing meta/pending-start/", [&](Transaction& in) {
    waits(in);
    in.erase(Table::kMeta, listed_start_key({now, place}));
  });
  expect_only("meta.missing meta/pending-start-at/", [&](Transaction& in) {
    waits(in);
    in.put(Table::kMeta, listed_start_key({now + std::chrono::hours(1), place}), "");
  });
  expect_only("row.value meta/pending-starts/", [&](Transaction& in) {
    waits(in);
    in.erase(Table::kMeta, std::string(kPendingStartsKey) + rows::ns_prefix(ns));
  });
  expect_only("row.key meta/pending-start/", put("pending-start/x", encode(start)));
  expect_only("row.key meta/pending-start-at/", put("pending-start-at/x", ""));
  expect_only("row.key meta/pending-starts/", put("pending-starts/x", "1"));
}

TEST_F(CheckStartsTest, ChecksTheInputsOfABatch) {
  const PendingStartPlace place{.ns = ns, .workflow = number_of("one"), .key = fingerprint({"k"})};
  PendingStart start{.first = now,
                     .at = now,
                     .listed = now,
                     .id = numbered_id(99),
                     .input = LazyJson(),
                     .how = Json{{"by", "call"}, {"revision", 1}},
                     .batch = PendingBatch{.inputs = 2, .bytes = 40}};
  const auto key_of_input = [&](uint32_t number) {
    Writer key;
    key.raw(kPendingInputKey);
    key.raw(rows::instance_prefix(ns, start.id));
    key.u32(number);
    return key.take();
  };
  const auto waits = [&](Transaction& in) {
    EXPECT_TRUE(write_pending_start(in, place, start, std::nullopt));
    for (uint32_t i = 0; i < 2; ++i) {
      write_pending_input(in, {ns, start.id, i}, {.input = Json::object()});
    }
  };
  EXPECT_THAT(found_after(waits), IsEmpty());
  expect_only("meta.missing meta/pending-start/", [&](Transaction& in) {
    waits(in);
    in.erase(Table::kMeta, key_of_input(1));
  });
  expect_only("row.value meta/pending-input/", [&](Transaction& in) {
    waits(in);
    in.erase(Table::kMeta, key_of_input(1));
    write_pending_input(in, {ns, start.id, 2}, {.input = Json::object()});
  });
  expect_only("meta.missing meta/pending-input/", [&](Transaction& in) {
    write_pending_input(in, {ns, numbered_id(98), 0}, {.input = Json::object()});
  });
  expect_only("row.record meta/pending-input/", [&](Transaction& in) {
    waits(in);
    in.put(Table::kMeta, key_of_input(1), "x");
  });
  expect_only("row.key meta/pending-input/", put("pending-input/x", "x"));
  // The inputs of a batch that is over are erased in portions.
  start.batch->is_over = true;
  EXPECT_THAT(found_after([&](Transaction& in) {
                waits(in);
                in.erase(Table::kMeta, key_of_input(0));
              }),
              IsEmpty());
}

}  // namespace
}  // namespace millrace
