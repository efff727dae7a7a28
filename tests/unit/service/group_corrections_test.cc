// LocalWhyDesk: what it proposes for an incomplete group. The first proposal about either half of a
// group is the same, so to follow both starts one instance.
#include "orchestrator/service/group_corrections.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GroupCorrectionsTest : public LocalWhyDeskTest {
 protected:
  GroupCorrectionsTest() {
    pair_ = apply(kPair);
    const NamespaceNumber own = ns;
    ns = create_namespace("other");
    other_pair_ = apply(kPair);
    ns = own;
  }

  static std::string order_of(const std::string& order) { return R"(,"orderid":")" + order + '"'; }
  static Fingerprint group_of(const Event& event) {
    return fingerprint({correlation_key(Attributes(event), {"orderid"}).value()});
  }
  /// Sends an event, and stores it as the only event of its group.
  void add_half(const std::string& order, const std::string& type,
                const std::string& space = "default") {
    const WorkflowNumber workflow = space == "default" ? pair_ : other_pair_;
    send(order_of(order), type, space);
    Event event{.id = "e", .source = "bank.eu", .type = type};
    event.extensions["orderid"] = order;
    const Fingerprint group = group_of(event);
    const bool is_paid = type == "paid";
    write_counts(*tx, workflow, group, {is_paid ? 1U : 0U, is_paid ? 0U : 1U});
    ++sequence_;
    write_grouped(
        *tx, {.queue = {workflow, group, static_cast<uint16_t>(is_paid ? 0 : 1)},
              .number = sequence_,
              .record = {.position = {stream(), sequence_}, .event = encode_json_event(event)}});
    apply_event(sequence_, {{.kind = EventEffect::Kind::kGrouped, .workflow = workflow}});
  }
  /// Sends an event that no group gets.
  void add_stray(const std::string& more, const std::string& type,
                 const std::string& space = "default") {
    send(more, type, space);
    apply_event(++sequence_);
  }
  /// The corrections about the event, each as `default 2 orderid=o-1 > other`: which event is sent
  /// again, with which values, and to which other namespace.
  std::vector<std::string> corrections(uint64_t sequence, const std::string& space = "default") {
    const Json why = shown(desk().of_event(space, sequence, {}));
    std::vector<std::string> all;
    const Json listed = why["near"].at(0).value("corrections", Json::array());
    for (const Json& one : listed) {
      std::string text = one["namespace"].get<std::string>() + " " + one["sequence"].dump();
      const Json attributes = one["attributes"];
      for (const auto& [name, value] : attributes.items()) {
        text += " " + name + "=" + value.get<std::string>();
      }
      if (one.contains("toNamespace")) text += " > " + one["toNamespace"].get<std::string>();
      EXPECT_EQ(one["own"], one["sequence"] == Json(sequence)) << one;
      EXPECT_EQ(one["completes"], true) << one;
      all.push_back(std::move(text));
    }
    return all;
  }

  WorkflowNumber pair_{};
  WorkflowNumber other_pair_{};
  uint64_t sequence_ = 0;
};

TEST_F(GroupCorrectionsTest, AreTheSameForEitherOfTwoMisspelledGroups) {
  struct Row {
    std::string first;
    std::string second;
    std::string replay;
  };
  const Row rows[] = {
      {"o-1", "O-1", "orderid=o-1"},
      {"0071", "71", "orderid=0071"},
      {"A-1031", "A-1301", "orderid=A-1031"},
      {"z-500 ", "z-500", "orderid=z-500 "},
  };
  for (const Row& row : rows) {
    add_half(row.first, "paid");
    add_half(row.second, "packed");
    const std::string replay = "default " + std::to_string(sequence_) + " " + row.replay;
    EXPECT_THAT(corrections(sequence_ - 1), ElementsAre(replay)) << row.first;
    EXPECT_THAT(corrections(sequence_), ElementsAre(replay)) << row.first;
  }
}

TEST_F(GroupCorrectionsTest, SayWhichGroupTheReplayCompletes) {
  add_half("o-1", "paid");
  add_half("O-1", "packed");
  const Json of_first = of_event(1)["near"][0]["corrections"];
  ASSERT_EQ(of_first.size(), 1U);
  EXPECT_EQ(of_first[0]["differs"], "correlate");
  EXPECT_EQ(of_first[0]["says"],
            "event #2 waits in another incomplete group of this workflow: sent again with "
            "`orderid` \"o-1\", it completes this group");
  const Json of_second = of_event(2)["near"][0]["corrections"];
  ASSERT_EQ(of_second.size(), 1U);
  EXPECT_EQ(of_second[0]["says"],
            "event #2 waits in this group: sent again with `orderid` \"o-1\", it completes another "
            "incomplete group of this workflow");
}

TEST_F(GroupCorrectionsTest, AreTheSameForTwoHalvesInTwoNamespaces) {
  add_half("o-1", "paid");
  add_half("o-1", "packed", "other");
  EXPECT_THAT(corrections(1), ElementsAre("other 2 > default"));
  EXPECT_THAT(corrections(2, "other"), ElementsAre("other 2 > default"));
}

TEST_F(GroupCorrectionsTest, NameTheBestFirstOfSeveral) {
  add_half("o-1", "paid");
  add_stray(order_of("o-1"), "packed", "other");
  add_stray(order_of("o-1"), "Packed");
  add_stray(R"(,"data":{"orderId":"o-1"})", "packed");
  EXPECT_THAT(corrections(1),
              ElementsAre("default 4 orderid=o-1", "default 3 type=packed", "other 2 > default"));
  add_half("O-1", "packed");
  EXPECT_THAT(corrections(1), ElementsAre("default 5 orderid=o-1", "default 4 orderid=o-1",
                                          "default 3 type=packed", "other 2 > default"));
}

TEST_F(GroupCorrectionsTest, DoNotProposeAnEventWhoseTypeIsThatOfTheOtherEntry) {
  const WorkflowNumber orders = apply(R"(
id: orders
start: {type: eventsAnd, correlate: [orderid], events: [{type: order}, {type: orders}]}
states:
- {id: end, type: noop}
)");
  send(order_of("o-1"), "order");
  send(order_of("o-1"), "order");
  Event event{.id = "e", .source = "bank.eu", .type = "order"};
  event.extensions["orderid"] = "o-1";
  write_counts(*tx, orders, group_of(event), {2, 0});
  apply_event(2, {{.kind = EventEffect::Kind::kGrouped, .workflow = orders}});
  const Json why = of_event(2);
  EXPECT_EQ(why["near"][0]["waitsFor"], Json::array({"orders"}));
  EXPECT_FALSE(why["near"][0].contains("corrections")) << why;
}

TEST_F(GroupCorrectionsTest, OfATestEventLeaveOutTheOtherGroups) {
  add_half("O-1", "packed");
  const Json why = of_test(order_of("o-1"));
  EXPECT_EQ(why["near"][0]["nearGroups"].size(), 1U) << why;
  EXPECT_FALSE(why["near"][0].contains("corrections")) << "a test event is corrected before";
}

TEST(GroupCorrections, AreSortedAndNameEachEventOnce) {
  Json corrections = Json::parse(R"([
      {"differs": "namespace", "completes": true, "sequence": 1},
      {"differs": "type", "completes": true, "sequence": 2},
      {"differs": "correlate", "completes": false, "sequence": 3},
      {"differs": "data", "completes": true, "sequence": 4},
      {"differs": "correlate", "completes": true, "sequence": 2}])");
  sort_corrections(corrections);
  std::vector<std::string> order;
  for (const Json& one : corrections) {
    order.push_back(one["differs"].get<std::string>() + one["sequence"].dump());
  }
  EXPECT_THAT(order, ElementsAre("correlate2", "data4", "namespace1", "correlate3"));
  Json none = Json::array();
  sort_corrections(none);
  EXPECT_THAT(none, IsEmpty());
}

}  // namespace
}  // namespace millrace
