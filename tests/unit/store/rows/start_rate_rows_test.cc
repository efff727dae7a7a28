#include "orchestrator/store/rows/start_rate_rows.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

constexpr NamespaceNumber kRateShop{3};

TimePoint second(int64_t offset) { return from_millis(1'700'000'000'000 + offset * 1'000); }

class StartRateRowsTest : public StoreTest {
 protected:
  static StartRatePlace place(const char* key) {
    return {.workflow = WorkflowNumber(5), .key = fingerprint({key})};
  }
  static StartRateRecord record(int64_t ends, int64_t listed) {
    return {.ns = kRateShop,
            .ends = second(ends),
            .listed = second(listed),
            .use = {{{.first = second(0), .last = second(1), .count = 3},
                     {.first = second(2), .last = second(2)}}}};
  }
  /// How many rows of `meta` have a key with that prefix.
  size_t rows(std::string_view prefix) const {
    size_t count = 0;
    tx->scan(Table::kMeta, prefix, [&](auto, auto) {
      ++count;
      return true;
    });
    return count;
  }
};

TEST_F(StartRateRowsTest, KeepTheStartsOfEachKey) {
  EXPECT_EQ(*read_start_rate(*tx, place("a")), std::nullopt);
  ASSERT_TRUE(write_start_rate(*tx, place("a"), record(60, 60), true));
  EXPECT_EQ(*read_start_rate(*tx, place("a")), record(60, 60));
  EXPECT_EQ(*read_start_rate(*tx, place("b")), std::nullopt);
  ASSERT_TRUE(write_start_rate(*tx, place("a"), record(70, 60), false));
  EXPECT_EQ(*read_start_rate(*tx, place("a")), record(70, 60));
  EXPECT_EQ(rows(kStartRateKey), 1U);
  EXPECT_EQ(rows(kStartRateEndKey), 1U);
  EXPECT_EQ(start_rates_of(*tx, kRateShop), 1U);
  EXPECT_EQ(start_rates_of(*tx, NamespaceNumber(4)), 0U);
}

TEST_F(StartRateRowsTest, HaveAPlaceOfTheirOwnForAThrottle) {
  const Fingerprint key = fingerprint({"a"});
  const StartRatePlace place = throttle_rate_place("secret", WorkflowNumber(5), key);
  EXPECT_EQ(place.workflow, WorkflowNumber(5));
  EXPECT_NE(place.key, key);
  EXPECT_NE(place.key, keyed_fingerprint("secret", {"a"})) << "the place of a `rateLimit`";
  EXPECT_NE(place, throttle_rate_place("other", WorkflowNumber(5), key));
  EXPECT_NE(place, throttle_rate_place("secret", WorkflowNumber(5), fingerprint({"b"})));
}

TEST_F(StartRateRowsTest, HaveAPlaceOfTheirOwnForCalls) {
  const Fingerprint key = fingerprint({"a"});
  const StartRatePlace place = call_rate_place("secret", kRateShop, key);
  EXPECT_EQ(place.workflow, WorkflowNumber(0));
  EXPECT_NE(place.key, key);
  EXPECT_NE(place, call_rate_place("other", kRateShop, key));
  EXPECT_NE(place, call_rate_place("secret", NamespaceNumber(4), key));
  EXPECT_NE(place, call_rate_place("secret", kRateShop, fingerprint({"b"})));
  EXPECT_NE(place.key, throttle_rate_place("secret", WorkflowNumber(5), key).key);
  ASSERT_TRUE(write_start_rate(*tx, place, record(60, 60), true));
  EXPECT_EQ(*read_start_rate(*tx, place), record(60, 60));
  EXPECT_EQ(*sweep_start_rates(*tx, second(60), 10), std::nullopt);
  EXPECT_EQ(*read_start_rate(*tx, place), std::nullopt);
}

TEST_F(StartRateRowsTest, AreErasedWhenTheyHaveEndedAndListedAnewBefore) {
  ASSERT_TRUE(write_start_rate(*tx, place("a"), record(60, 60), true));
  ASSERT_TRUE(write_start_rate(*tx, place("b"), record(61, 61), true));
  ASSERT_TRUE(write_start_rate(*tx, place("b"), record(90, 61), false));
  ASSERT_TRUE(write_start_rate(*tx, place("c"), record(200, 200), true));
  EXPECT_EQ(*sweep_start_rates(*tx, second(59), 10), second(60));
  EXPECT_EQ(start_rates_of(*tx, kRateShop), 3U);
  EXPECT_EQ(*sweep_start_rates(*tx, second(61), 10), second(90)) << "b is listed anew";
  EXPECT_EQ(*read_start_rate(*tx, place("a")), std::nullopt);
  EXPECT_EQ(*read_start_rate(*tx, place("b")), record(90, 90));
  EXPECT_EQ(start_rates_of(*tx, kRateShop), 2U);
  EXPECT_EQ(*sweep_start_rates(*tx, second(90), 10), second(200));
  EXPECT_EQ(*sweep_start_rates(*tx, second(200), 10), std::nullopt);
  EXPECT_EQ(rows("start-rate"), 0U) << "nor a row that counts them";
}

TEST_F(StartRateRowsTest, AreSweptInPortions) {
  for (const char* const key : {"a", "b", "c", "d", "e"}) {
    ASSERT_TRUE(write_start_rate(*tx, place(key), record(60, 60), true));
  }
  EXPECT_EQ(*sweep_start_rates(*tx, second(60), 2), second(60));
  EXPECT_EQ(start_rates_of(*tx, kRateShop), 3U);
  EXPECT_EQ(*sweep_start_rates(*tx, second(60), 2), second(60));
  EXPECT_EQ(*sweep_start_rates(*tx, second(60), 2), std::nullopt);
  EXPECT_EQ(start_rates_of(*tx, kRateShop), 0U);
}

TEST_F(StartRateRowsTest, AreNamedByTheirKeys) {
  const StartRateEnd end{second(60), place("a")};
  ASSERT_TRUE(start_rate_end(start_rate_end_key(end)));
  EXPECT_EQ(start_rate_end(start_rate_end_key(end))->listed, end.listed);
  EXPECT_EQ(start_rate_end(start_rate_end_key(end))->place, end.place);
  const std::string of_namespace = std::string(kStartRatesKey) + rows::ns_prefix(kRateShop);
  EXPECT_EQ(namespace_of_start_rates(of_namespace), kRateShop);
  for (const std::string& key :
       {std::string("start-rate/"), std::string("start-rate/x"), start_rate_end_key(end),
        std::string("start-rate/") + std::string(19, '\0')}) {
    EXPECT_EQ(start_rate_place(key), std::nullopt) << key;
  }
  EXPECT_EQ(start_rate_end("start-rate-end/x").has_value(), false);
  EXPECT_EQ(start_rate_end(start_rate_end_key(end) + "x").has_value(), false);
  EXPECT_EQ(namespace_of_start_rates("start-rates/x"), std::nullopt);
}

TEST_F(StartRateRowsTest, GiveAnErrorIfTheyAreDamaged) {
  EXPECT_EQ(*decode_start_rate(encode(record(60, 60))), record(60, 60));
  for (StartRateRecord wrong : {record(59, 60), record(60, 60), record(60, 60)}) {
    if (wrong.ends >= wrong.listed) wrong.use.entries.clear();
    const auto read = decode_start_rate(encode(wrong));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, "store.corrupt");
  }
  StartRateRecord long_one = record(60, 60);
  long_one.use.entries.resize(kMostRateEntries + 1, {.first = second(0), .last = second(0)});
  EXPECT_FALSE(decode_start_rate(encode(long_one)));
  long_one.use.entries.resize(kMostRateEntries);
  EXPECT_TRUE(decode_start_rate(encode(long_one)));
  long_one.use.entries.back().count = 0;
  EXPECT_FALSE(decode_start_rate(encode(long_one)));
  StartRateRecord late = record(60, 60);
  late.use.entries.back().last = kLastTime;
  EXPECT_TRUE(decode_start_rate(encode(late)));
  late.use.entries.back().last += Duration(1);
  EXPECT_FALSE(decode_start_rate(encode(late))) << "no time of a store is behind the year 9999";
  StartRateRecord of_nothing = record(60, 60);
  of_nothing.ns = NamespaceNumber(0);
  EXPECT_FALSE(decode_start_rate(encode(of_nothing)));
  EXPECT_FALSE(decode_start_rate(encode(record(60, -1'700'000'001))))
      << "no row `start-rate-end/` can list it";
  EXPECT_FALSE(decode_start_rates("rubbish"));
}

TEST_F(StartRateRowsTest, AreCountedOnceTheyHaveEnded) {
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(write_start_rate(*tx, place(key), record(60, 60), true));
  }
  ASSERT_TRUE(write_start_rate(*tx, place("d"), record(61, 61), true));
  const auto ended = [&](int64_t now, size_t most) {
    return ended_start_rates_of(*tx, kRateShop, second(now), most).value();
  };
  EXPECT_EQ(ended(59, 10), 0U);
  EXPECT_EQ(ended(60, 10), 3U);
  EXPECT_EQ(ended(61, 10), 4U);
  EXPECT_EQ(ended(61, 2), 2U) << "no more rows are read";
  EXPECT_EQ(ended_start_rates_of(*tx, NamespaceNumber(4), second(61), 10).value(), 0U);
}

}  // namespace
}  // namespace millrace
