// The quota storeBytes and active instances that grow: the named error, and the most bytes that the
// namespace can have. The store check at the end of each process compares the sums with the rows.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;

constexpr const char* kStoreQuota = "millrace.quota.storeBytes";
constexpr size_t kQuota = size_t{640} << 10;
constexpr size_t kGrowth = 5'000;  ///< by so many bytes one step makes an instance longer

constexpr const char* kEndsInShop = R"(
id: ends
states:
- {id: done, type: noop}
)";

/// Makes its data longer again and again; the error of the quota leads to the state `next`.
std::string grows_and(const std::string& next) {
  return fmt::format(R"(
id: grows
states:
- id: grow
  type: noop
  transform: jq(longer)
  transition: grow
  catch: [{{error: millrace.quota.storeBytes, transition: {}}}]
- {{id: caught, type: noop}}
)",
                     next);
}

/// Waits for an event whose type is `id`. `fields` are further ones of the state that waits. Each
/// error leads to another wait.
std::string waits_in(const std::string& id, const std::string& fields) {
  return fmt::format(R"(
id: {0}
states:
- {{id: wait, type: consumeEvent, event: {{type: {0}}}, catch: [{{error: '*', transition: last}}]{1}}}
- {{id: last, type: consumeEvent, event: {{type: end}}}}
)",
                     id, fields);
}

class GrowthWorld : public testing::Test {
 protected:
  GrowthWorld() {
    world.evaluator.define("longer", [](const Json& input) -> QueryResult {
      Json longer = input;
      longer["value"] = input.value("value", "") + std::string(kGrowth, 'x');
      return longer;
    });
    world.must(
        CreateNamespace{.name = "default", .settings = Json{{"quotas", {{"storeBytes", kQuota}}}}});
  }
  /// Stores more than the quota and a quarter, in one variable.
  void fill() {
    world.must(PutVariable{
        .place = {.ns = "default"},
        .key = "filler",
        .value = {.content_type = "text/plain", .bytes = std::string(kQuota * 4 / 3, 'v')}});
  }
  void publish(const std::string& type, Json data = nullptr) {
    world.publish(type, std::to_string(++last_event), std::move(data));
    world.run_until_idle();
  }
  std::string start(const std::string& workflow) {
    return world.start(workflow, {{"value", std::string(kGrowth, 'x')}})["id"];
  }
  /// The bytes of the default namespace that count for the quota.
  uint64_t used() {
    return read_usage(*Snapshot::take(world.environment()), NamespaceNumber(1))->all_bytes();
  }
  double refusals() { return world.metric("millrace_quota_refusals_total{quota=\"storeBytes\"}"); }

  World world;
  int last_event = 0;
};

TEST_F(GrowthWorld, RaisesAnErrorInAnInstanceThatGrowsBeyondAnEighthMore) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kEndsInShop, "shop");
  world.apply(grows_and("caught"));
  const std::string id = start("grows");
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.instance(id)["output"]["error"]["code"], kStoreQuota);
  EXPECT_THAT(used(), AllOf(Ge(kQuota + kQuota / 8), Lt(kQuota + kQuota / 4)));
  EXPECT_EQ(refusals(), 1);
  world.must(StartInstance{.ns = "shop", .workflow = "ends", .input = Json::object()});
}

TEST_F(GrowthWorld, EndsAnInstanceThatGoesOnGrowingAfterItCaughtTheError) {
  world.apply(grows_and("grow"));
  const std::string id = start("grows");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], kStoreQuota);
  EXPECT_THAT(used(), Lt(kQuota + kQuota / 4 + 3 * kGrowth))
      << "its last step, and its end, which does not write the data once more";
  EXPECT_EQ(refusals(), 2);
}

TEST_F(GrowthWorld, BoundsSeveralInstancesThatGrowTogether) {
  world.apply(grows_and("grow"));
  std::vector<std::string> ids;
  world.evaluator.hold();
  for (int i = 0; i < 5; ++i) ids.push_back(start("grows"));
  world.evaluator.release();
  world.run_until_idle();
  for (const std::string& id : ids) {
    EXPECT_EQ(world.status(id), "failed");
    EXPECT_EQ(world.instance(id)["error"]["code"], kStoreQuota);
  }
  EXPECT_THAT(used(), Lt(kQuota + kQuota / 4 + 5 * 3 * kGrowth));
}

TEST_F(GrowthWorld, PermitsFarBeyondTheQuotaOnlyStepsThatEndAnInstanceWithFewBytes) {
  world.apply(waits_in("little", ""));
  world.apply(waits_in("much", ""));
  world.apply(waits_in("further", ", transition: last"));
  world.apply(waits_in("idle", ""));
  const std::string little = world.start("little", {{"value", "x"}})["id"];
  const std::string much = start("much");
  const std::string further = start("further");
  const std::string idle = start("idle");
  fill();
  world.restart();
  const uint64_t before = used();
  publish("little");
  publish("much", std::string(kGrowth, 'd'));
  publish("further");
  EXPECT_EQ(world.status(little), "complete");
  for (const std::string& id : {much, further}) {
    EXPECT_EQ(world.status(id), "failed");
    EXPECT_EQ(world.instance(id)["error"]["code"], kStoreQuota);
  }
  EXPECT_EQ(refusals(), 2);
  EXPECT_EQ(world.status(idle), "waiting");
  world.must(CancelInstance{"default", parse_instance_id(idle).value()});
  EXPECT_EQ(world.status(idle), "cancelled");
  EXPECT_THAT(used(), Lt(before + kGrowth)) << "four instances have ended";
  world.must(DeleteVariable{.place = {.ns = "default"}, .key = "filler"});
  world.must(RetryInstance{.ns = "default", .instance = parse_instance_id(much).value()});
  publish("much", "again");
  EXPECT_EQ(world.status(much), "complete");
  EXPECT_EQ(world.instance(much)["output"]["value"], std::string(kGrowth, 'x'));
}

}  // namespace
}  // namespace millrace
