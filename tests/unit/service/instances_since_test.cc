// Lists of the instances that started since a time. The walk is in the order of the ids, whose
// times differ from the times of the starts (orchestrator/store/rows/start_bounds.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;

class InstancesSinceTest : public QueryTest {
 protected:
  InstancesSinceTest() : waits(apply(kWaits)) {}

  /// Stores a waiting instance, whose id has the time `of_id` and ends with the number. The index
  /// gets it with the next call of write_index().
  Instance add(uint8_t number, TimePoint of_id, TimePoint started_at) {
    Instance instance = waiting_instance(waits, number);
    instance.id = make_instance_id(of_id, {0, 0, 0, 0, 0, 0, 0, 0, 0, number});
    instance.started_at = started_at;
    store(instance);
    changes.add(*tx, indexed(instance));
    return instance;
  }
  void write_index() {
    ASSERT_TRUE(changes.write(*tx, nullptr));
    commit();
  }
  /// The numbers of the listed instances.
  std::vector<int> since(TimePoint time) {
    const Json page = answer([=](Queries& queries, const View& view) {
      return queries.instances(view, "default", {.since = time});
    });
    std::vector<int> found;
    for (const Json& item : page["items"]) {
      found.push_back(parse_instance_id(item["id"].get<std::string>())->bytes.back());
    }
    return found;
  }

  const WorkflowNumber waits;
  IndexChanges changes;
};

TEST_F(InstancesSinceTest, AreFoundWhateverTheTimeInTheirIds) {
  const TimePoint time = now + hours(2);
  add(1, now - minutes(10), now - minutes(10));
  add(2, now, time + minutes(1));                // its event waited for the end of an outage
  add(3, now + hours(1), now + hours(1));        // it started at once, but too early
  add(4, time + minutes(2), time - minutes(1));  // the clock of the broker was ahead
  add(5, time + minutes(3), time + minutes(3));
  EXPECT_THAT(since(time), ElementsAre(5, 2)) << "the index has no bounds yet";
  write_index();
  EXPECT_THAT(since(time), ElementsAre(5, 2));
  EXPECT_THAT(since(time + minutes(2)), ElementsAre(5));
  damage(Table::kUsage, rows::ns_prefix(ns));
  EXPECT_THAT(since(time), ElementsAre(5, 2)) << "the bounds are not known";
}

TEST_F(InstancesSinceTest, AreFoundWithoutAReadOfThoseThatCannotHaveStartedSinceThen) {
  const Instance old = add(1, now, now);
  add(2, now + hours(1), now + hours(1));
  write_index();
  damage(Table::kLive, head_key(old));
  EXPECT_THAT(since(now + minutes(1)), ElementsAre(2));
  EXPECT_THAT(since(now), ElementsAre(2, 1)) << "a damaged head is listed";
}

}  // namespace
}  // namespace millrace
