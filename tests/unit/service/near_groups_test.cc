// LocalWhyDesk: by which values an event waits in a group, and which other groups have what it
// lacks.
#include "orchestrator/service/near_groups.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

class NearGroupsTest : public LocalWhyDeskTest {
 protected:
  NearGroupsTest() { pair_ = apply(kPair); }

  /// Stores a group in which an event of that type waits. `generation`: of an earlier start;
  /// `bytes`: of the data of the event.
  void add_group(const std::string& order, const std::string& type,
                 const std::string& generation = "", size_t bytes = 0) {
    Event event{.id = "g", .source = "bank.eu", .type = type};
    event.data = '"' + std::string(bytes, 'x') + '"';
    event.extensions["orderid"] = order;
    const std::string key = correlation_key(Attributes(event), {"orderid"}).value();
    const WorkflowRecord record = read_workflow(*tx, ns, "pair").value().value();
    ASSERT_EQ(record.groups_from, 0U);
    const Fingerprint group =
        generation.empty() ? fingerprint({key}) : fingerprint({key, generation});
    const bool is_paid = type == "paid";
    write_counts(*tx, pair_, group, {is_paid ? 1U : 0U, is_paid ? 0U : 1U});
    write_grouped(*tx, {.queue = {pair_, group, static_cast<uint16_t>(is_paid ? 0 : 1)},
                        .number = ++number_,
                        .record = {.position = {stream(), 1}, .event = encode_json_event(event)}});
  }
  /// The verdict on the start of the workflow for an event that waits in the group of the order.
  Json judged(const std::string& order = "o-1") {
    add_group(order, "paid");
    send(R"(,"orderid":")" + order + '"');
    apply_event(1, {{.kind = EventEffect::Kind::kGrouped, .workflow = pair_}});
    const Json why = of_event(1);
    EXPECT_EQ(why["near"].size(), 1U);
    return why["near"][0];
  }

  WorkflowNumber pair_{};
  uint64_t number_ = 0;
};

TEST_F(NearGroupsTest, NameTheGroupsThatHaveTheMissingTypeTheLikeliestFirst) {
  add_group("o-2", "packed");
  add_group("O-1", "packed");
  add_group("o-3", "paid");
  const Json one = judged();
  EXPECT_EQ(one["verdict"], "grouped");
  EXPECT_EQ(one["correlate"], Json::parse(R"({"orderid": "o-1"})"));
  EXPECT_EQ(one["nearGroups"], Json::parse(R"([
      {"correlate": {"orderid": "O-1"}, "has": ["packed"], "hint": "case", "sequence": 1}])"));
  EXPECT_EQ(one["moreGroups"], Json::parse(R"({"count": 1, "complete": true})"))
      << "beside a misspelling, the others are counted only";
  EXPECT_EQ(
      one["says"],
      "the event waits in a group for `packed` with `orderid` \"o-1\"; another group, with "
      "`orderid` \"O-1\", has `packed` (#1; the two differ in upper and lower case only); 1 more "
      "group has an event of a missing type; `millrace -n default group list` lists the groups");
}

TEST_F(NearGroupsTest, FindAMisspellingAmongManyGroups) {
  for (int i = 0; i < 300; ++i) add_group(fmt::format("x-{}", i), "packed");
  add_group("O-1", "packed");
  const Json one = judged();
  ASSERT_EQ(one["nearGroups"].size(), 1U);
  EXPECT_EQ(one["nearGroups"][0]["correlate"]["orderid"], "O-1");
  EXPECT_EQ(one["moreGroups"], Json::parse(R"({"count": 300, "complete": true})"));
}

TEST_F(NearGroupsTest, NameTheMostSimilarValuesFirstAndCountTheOthers) {
  for (const char* const order : {"A-1043", "A-1044", "B-1044", "A-1035"}) {
    add_group(order, "packed");
  }
  const Json one = judged("A-1301");
  ASSERT_EQ(one["nearGroups"].size(), kMostNearGroups);
  EXPECT_EQ(one["nearGroups"][0],
            Json::parse(R"({"correlate": {"orderid": "A-1035"}, "has": ["packed"],
                            "sequence": 1})"));
  EXPECT_EQ(one["moreGroups"], Json::parse(R"({"count": 1, "complete": true})"));
}

TEST_F(NearGroupsTest, NameATypoOnlyAndCountTheOthers) {
  for (const char* const order : {"A-1043", "A-1044", "A-1035", "A-1031"}) {
    add_group(order, "packed");
  }
  const Json one = judged("A-1301");
  EXPECT_EQ(one["nearGroups"],
            Json::parse(R"([{"correlate": {"orderid": "A-1031"}, "has": ["packed"],
                             "hint": "typo", "sequence": 1}])"));
  EXPECT_EQ(one["moreGroups"], Json::parse(R"({"count": 3, "complete": true})"));
  const std::string says = one["says"];
  EXPECT_NE(says.find("with `orderid` \"A-1031\", has `packed` (#1; the two differ in one typo "
                      "only: two neighbouring characters are transposed, or one character is "
                      "missing or too many); 3 more groups have"),
            std::string::npos)
      << says;
  EXPECT_TRUE(
      says.ends_with("; 3 more groups have an event of a missing type; `millrace -n default group "
                     "list` lists the groups"))
      << says;
}

TEST_F(NearGroupsTest, FindATypoAmongMoreGroupsThanAreCounted) {
  for (int i = 0; i < 1'010; ++i) add_group(fmt::format("x-{}", i), "packed");
  add_group("A-1031", "packed");
  const Json one = judged("A-131");
  EXPECT_EQ(one["nearGroups"][0]["correlate"]["orderid"], "A-1031");
  EXPECT_EQ(one["nearGroups"][0]["hint"], "typo");
  EXPECT_EQ(one["moreGroups"]["complete"], false);
  EXPECT_NE(one["says"].get<std::string>().find(
                fmt::format("; at least {} more groups have an event of a missing type; ",
                            one["moreGroups"]["count"].get<size_t>())),
            std::string::npos)
      << one["says"];
}

TEST_F(NearGroupsTest, CountTheGroupsWhoseEventsAreTooLargeToBeRead) {
  for (const char* const order : {"o-2", "o-3", "o-4", "o-5"}) {
    add_group(order, "packed", "", 600'000);
  }
  const Json one = judged();
  EXPECT_EQ(one["nearGroups"].size(), 2U);
  EXPECT_EQ(one["moreGroups"], Json::parse(R"({"count": 2, "complete": true})"));
}

TEST_F(NearGroupsTest, LeaveOutTheGroupsOfAnEarlierStart) {
  add_group("o-2", "packed", "7");
  EXPECT_FALSE(judged().contains("nearGroups"));
}

TEST_F(NearGroupsTest, CutALongValue) {
  const std::string order(5'000, 'o');
  add_group(order, "packed");
  const Json group = judged()["nearGroups"][0];
  EXPECT_EQ(group["correlate"]["orderid"], std::string(256, 'o') + "...");
}

TEST_F(NearGroupsTest, SayWhereATestEventWouldWait) {
  add_group("o-2", "packed");
  commit();
  const Json why = of_test(R"(,"orderid":"o-1")");
  EXPECT_EQ(
      why["near"][0]["says"],
      "the event would wait in a group for `packed` with `orderid` \"o-1\"; another group, "
      "with `orderid` \"o-2\", has `packed`; `millrace -n default group list` lists the groups");
}

}  // namespace
}  // namespace millrace
