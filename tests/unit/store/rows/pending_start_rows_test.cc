#include "orchestrator/store/rows/pending_start_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

TimePoint pending_second(int64_t offset) { return from_millis(1'700'000'000'000 + offset * 1'000); }

class PendingStartRowsTest : public StoreTest {
 protected:
  static PendingStartPlace place(const char* key) {
    return {.ns = NamespaceNumber(3), .workflow = WorkflowNumber(5), .key = fingerprint({key})};
  }
  static PendingStart start(int64_t at, int64_t listed) {
    PendingStart one{.first = pending_second(0),
                     .at = pending_second(at),
                     .listed = pending_second(listed),
                     .input = Json{{"n", 1}},
                     .how = Json{{"by", "call"}, {"revision", 1}},
                     .hops = 2,
                     .depth = 1,
                     .caller = Caller{.entered = 7, .index = 2, .attempt = 1},
                     .idempotency_key = "k",
                     .execution_from = pending_second(4),
                     .traceparent = "t",
                     .correlation = "c"};
    one.id.bytes.back() = 9;
    one.consumed.add({.stream = 1, .sequence = 4}, fingerprint({"e"}));
    return one;
  }
  std::optional<TimePoint> first() const {
    const auto found = first_pending_start(*tx).value();
    return found ? std::optional(found->listed) : std::nullopt;
  }
};

TEST_F(PendingStartRowsTest, KeepTheNewestRequestOfEachKey) {
  EXPECT_FALSE(read_pending_start(*tx, place("a")).value());
  ASSERT_TRUE(write_pending_start(*tx, place("a"), start(10, 10), std::nullopt));
  const PendingStart read = read_pending_start(*tx, place("a")).value().value();
  EXPECT_EQ(encode(read), encode(start(10, 10)));
  EXPECT_EQ(read.input, LazyJson(Json{{"n", 1}}));
  EXPECT_EQ(read.caller, start(10, 10).caller);
  EXPECT_EQ(read.consumed, start(10, 10).consumed);
  EXPECT_EQ(read.execution_from, pending_second(4));
  EXPECT_FALSE(read_pending_start(*tx, place("b")).value());
  EXPECT_EQ(pending_starts_of(*tx, NamespaceNumber(3)), 1U);
  EXPECT_EQ(pending_starts_of(*tx, NamespaceNumber(4)), 0U);
}

TEST_F(PendingStartRowsTest, AreListedByTime) {
  EXPECT_EQ(first(), std::nullopt);
  ASSERT_TRUE(write_pending_start(*tx, place("a"), start(10, 10), std::nullopt));
  ASSERT_TRUE(write_pending_start(*tx, place("b"), start(8, 8), std::nullopt));
  EXPECT_EQ(first(), pending_second(8));
  ASSERT_TRUE(write_pending_start(*tx, place("b"), start(18, 8), pending_second(8)));
  EXPECT_EQ(first(), pending_second(8)) << "it is listed where it was";
  ASSERT_TRUE(write_pending_start(*tx, place("b"), start(18, 18), pending_second(8)));
  EXPECT_EQ(first(), pending_second(10));
  ASSERT_TRUE(erase_pending_start(*tx, place("a"), pending_second(10)));
  EXPECT_EQ(first(), pending_second(18));
  EXPECT_EQ(pending_starts_of(*tx, NamespaceNumber(3)), 1U);
  ASSERT_TRUE(erase_pending_start(*tx, place("b"), pending_second(18)));
  EXPECT_EQ(first(), std::nullopt);
  EXPECT_EQ(pending_starts_of(*tx, NamespaceNumber(3)), 0U);
}

TEST_F(PendingStartRowsTest, AreVisitedByTheWorkflow) {
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(write_pending_start(*tx, place(key), start(10, 10), std::nullopt));
  }
  PendingStartPlace other = place("a");
  other.workflow = WorkflowNumber(6);
  ASSERT_TRUE(write_pending_start(*tx, other, start(10, 10), std::nullopt));
  std::vector<Fingerprint> keys{place("a").key, place("b").key, place("c").key};
  std::sort(keys.begin(), keys.end());
  const auto seen = [&](const std::optional<Fingerprint>& last, size_t most,
                        std::optional<WorkflowNumber> workflow = WorkflowNumber(5)) {
    std::vector<Fingerprint> found;
    size_t damaged = 0;
    std::optional<PendingStartPlace> behind;
    if (last) behind = PendingStartPlace{NamespaceNumber(3), WorkflowNumber(5), *last};
    EXPECT_TRUE(each_pending_start(
        *tx, NamespaceNumber(3), workflow, behind,
        [&](const PendingStartPlace& one, const PendingStart&) {
          found.push_back(one.key);
          return found.size() < most;
        },
        [&](const Error&) { ++damaged; }));
    return std::pair(found, damaged);
  };
  EXPECT_EQ(seen({}, 9), std::pair(keys, size_t{0}));
  EXPECT_EQ(seen({}, 1).first, std::vector{keys[0]});
  EXPECT_EQ(seen(keys[0], 9).first, std::vector({keys[1], keys[2]}));
  EXPECT_EQ(seen(keys[2], 9).first, std::vector<Fingerprint>());
  EXPECT_EQ(seen(keys[1], 9, std::nullopt).first, std::vector({keys[2], other.key}))
      << "of all workflows";
  Writer row;
  row.raw(kPendingStartKey);
  row.u32(3);
  row.u32(5);
  row.id(keys[1]);
  tx->put(Table::kMeta, row.take(), "damaged");
  EXPECT_EQ(seen({}, 9), std::pair(std::vector({keys[0], keys[2]}), size_t{1}));
}

TEST_F(PendingStartRowsTest, AreFoundByTheInstanceThatWillStart) {
  PendingStart sealed = start(10, 10);
  sealed.id.bytes.back() = 8;
  sealed.sealed = Sealing::kHidden;
  ASSERT_TRUE(write_pending_start(*tx, place("a"), start(10, 10), std::nullopt));
  ASSERT_TRUE(write_pending_start(*tx, place("b"), sealed, std::nullopt));
  InstanceId id;
  const auto found = [&](uint8_t last, const PendingSearchBounds& bounds = {}) {
    id.bytes.back() = last;
    return find_pending_start(*tx, NamespaceNumber(3), id, bounds).value();
  };
  EXPECT_EQ(found(9).place, place("a"));
  EXPECT_EQ(found(8).place, place("b"));
  EXPECT_EQ(found(7).place, std::nullopt);
  EXPECT_TRUE(found(7).is_complete);
  EXPECT_FALSE(found(7, {.rows = 1}).is_complete);
  EXPECT_TRUE(found(7, {.rows = 2}).is_complete);
  EXPECT_EQ(find_pending_start(*tx, NamespaceNumber(4), id).value().place, std::nullopt);
}

TEST_F(PendingStartRowsTest, AreCountedForAllNamespaces) {
  EXPECT_EQ(all_pending_starts(*tx), 0U);
  ASSERT_TRUE(write_pending_start(*tx, place("a"), start(10, 10), std::nullopt));
  ASSERT_TRUE(write_pending_start(*tx, place("b"), start(10, 10), std::nullopt));
  PendingStartPlace other = place("a");
  other.ns = NamespaceNumber(4);
  ASSERT_TRUE(write_pending_start(*tx, other, start(10, 10), std::nullopt));
  EXPECT_EQ(all_pending_starts(*tx), 3U);
  tx->put(Table::kMeta, std::string(kPendingStartsKey) + rows::ns_prefix(NamespaceNumber(4)),
          "damaged");
  EXPECT_EQ(all_pending_starts(*tx), 2U) << "a damaged row counts as 0";
}

TEST_F(PendingStartRowsTest, AreNamedByTheirKeys) {
  const ListedStart listed{pending_second(60), place("a")};
  ASSERT_TRUE(listed_start(listed_start_key(listed)));
  EXPECT_EQ(listed_start(listed_start_key(listed))->listed, listed.listed);
  EXPECT_EQ(listed_start(listed_start_key(listed))->place, listed.place);
  EXPECT_FALSE(listed_start("pending-start-at/x"));
  EXPECT_FALSE(pending_start_place("pending-start/x"));
  EXPECT_FALSE(pending_start_place("pending-start/" + std::string(24, '\0')));
  EXPECT_FALSE(namespace_of_pending_starts("pending-starts/x"));
  EXPECT_EQ(namespace_of_pending_starts(std::string(kPendingStartsKey) +
                                        rows::ns_prefix(NamespaceNumber(3))),
            NamespaceNumber(3));
}

TEST_F(PendingStartRowsTest, GiveAnErrorIfTheyAreDamaged) {
  EXPECT_FALSE(decode_pending_start("rubbish"));
  EXPECT_FALSE(decode_pending_start(encode(start(10, 11))))
      << "it would begin before it is looked at";
  PendingStart wrong = start(10, 10);
  wrong.own_policy = "rubbish";
  EXPECT_FALSE(decode_pending_start(encode(wrong)));
  wrong = start(10, -1'700'000'001);
  EXPECT_FALSE(decode_pending_start(encode(wrong))) << "no row `pending-start-at/` can list it";
  EXPECT_FALSE(decode_pending_starts("rubbish"));
}

TEST_F(PendingStartRowsTest, HaveAnObjectToWhichTheRevisionIsAdded) {
  PendingStart one = start(10, 10);
  for (const char* const how : {"null", "{}", R"( {"by": "call"})"}) {
    one.how = LazyJson::of_text(how);
    EXPECT_TRUE(decode_pending_start(encode(one))) << how;
  }
  for (const char* const how : {"7", "true", "\"call\"", "[]"}) {
    one.how = LazyJson::of_text(how);
    EXPECT_FALSE(decode_pending_start(encode(one))) << how;
  }
}

}  // namespace
}  // namespace millrace
