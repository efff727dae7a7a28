// LocalWhyDesk: what is missing of a group of events, and where it is.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PartnersWhyTest : public LocalWhyDeskTest {
 protected:
  static constexpr const char* kOrderOne = R"(,"orderid":"o-1")";

  /// Each partner as `3 data packed`, with the namespace if it is another one.
  static std::vector<std::string> partners(const Json& answer) {
    std::vector<std::string> all;
    for (const Json& one : answer["near"].at(0).value("partners", Json::array())) {
      const std::string other = one.value("namespace", "");
      all.push_back(one["sequence"].dump() + " " + one["differs"].get<std::string>() + " " +
                    one["type"].get<std::string>() + (other.empty() ? "" : " of " + other));
    }
    return all;
  }
};

TEST_F(PartnersWhyTest, NameTheMissingEventThatWasSentInAnotherWay) {
  apply(kPair);
  create_namespace("other");
  send(R"(,"orderid":"o-2")", "Packed");
  send(kOrderOne, "Packed");
  send(R"(,"data":{"orderId":"o-1"})", "packed");
  send(R"(,"data":{"orderId":"o-2"})", "packed");
  send(kOrderOne, "sent");
  send(R"(,"orderid":"o-2")", "packed", "other");
  send(kOrderOne, "packed", "other");
  apply_event(7);
  const Json why = of_test(kOrderOne);
  EXPECT_THAT(verdicts(why), ElementsAre("start pair grouped"));
  EXPECT_THAT(partners(why),
              ElementsAre("3 data packed", "2 type Packed", "7 namespace packed of other"));
  EXPECT_EQ(why["near"][0]["partners"][0]["fits"], (Json{{"orderid", "o-1"}}));
  EXPECT_EQ(why["near"][0]["partners"][1]["fits"], (Json{{"type", "packed"}}));
  EXPECT_EQ(why["near"][0]["partners"][2]["fits"], Json::object());
  EXPECT_THAT(partners(of_test(kOrderOne, {.shows_others = false})),
              ElementsAre("3 data packed", "2 type Packed"));
  EXPECT_THAT(partners(of_test(R"(,"orderid":"o-9")")), IsEmpty());
  send(kOrderOne, "pakced");
  EXPECT_THAT(partners(of_test(kOrderOne)),
              ElementsAre("8 type pakced", "3 data packed", "2 type Packed"));
}

TEST_F(PartnersWhyTest, FindNoEventOfAnotherNamespaceForAGroupWithoutCorrelation) {
  apply(R"(
id: any
start: {type: eventsAnd, events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)");
  create_namespace("other");
  send("", "Packed");
  send("", "packed", "other");
  apply_event(2);
  EXPECT_THAT(partners(of_test("")), ElementsAre("1 type Packed"));
}

TEST_F(PartnersWhyTest, HintAtAValueOfTheCorrelationThatIsInTheDataOnly) {
  apply(kPair);
  const Json why = of_test(R"(,"data":{"orderId":"o-1"})");
  EXPECT_THAT(verdicts(why), ElementsAre("start pair correlation"));
  const Json lacking = why["near"][0]["predicates"].at(0);
  EXPECT_EQ(lacking["attribute"], "orderid");
  EXPECT_EQ(lacking["holds"], false);
  EXPECT_EQ(lacking["hint"], "data");
  EXPECT_EQ(lacking["fits"], "o-1");
  EXPECT_EQ(of_test("")["near"][0]["predicates"], Json::array());
  EXPECT_EQ(of_test(R"(,"data":{"orderId":""})")["near"][0]["predicates"], Json::array());
}

}  // namespace
}  // namespace millrace
