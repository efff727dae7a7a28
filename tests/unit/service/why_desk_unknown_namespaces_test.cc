// LocalWhyDesk: events for which an instance waits, and which came for a namespace that does not
// exist.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class UnknownNamespaceWhyTest : public LocalWhyDeskTest {
 protected:
  /// Sends an event for a namespace that does not exist, and its dead letter.
  void send_nowhere(const std::string& space, const std::string& more, uint64_t sequence) {
    send(more, "paid", space);
    letters.stamped = clock.time;
    letters.add(space, event_text(more), "namespace.not_found",
                {{"Millrace-Sequence", std::to_string(sequence)}});
  }
  static std::vector<std::string> names(const Json& answer) {
    std::vector<std::string> all;
    if (!answer.contains("unknownNamespaces")) return all;
    const Json& listed = answer.at("unknownNamespaces");
    for (const Json& one : listed) all.push_back(one.at("namespace").get<std::string>());
    return all;
  }
};

TEST_F(UnknownNamespaceWhyTest, NameTheNamespaceOfAnEventThatFits) {
  const WorkflowNumber order = apply(kOrder);
  send_nowhere("defualt", R"(,"orderid":"o-1")", 1);
  send_nowhere("defualt", R"(,"orderid":"x")", 2);
  apply_event(2);
  add(waiting(order, 1, "o-1"));
  const Json why = of_instance(1);
  EXPECT_EQ(why["unknownNamespaces"], Json::parse(R"([{"namespace": "defualt", "sequence": 1,
    "id": "e", "type": "paid", "source": "bank.eu", "time": "2023-11-14T22:13:21.000Z",
    "fits": true, "deadLetter": "1"}])"));
  EXPECT_FALSE(why.contains("elsewhere")) << "it is no namespace";
  EXPECT_FALSE(why.contains("elsewhereLook"));
  EXPECT_THAT(names(of_instance(1, std::nullopt, {.shows_others = false})), ElementsAre())
      << "the caller may not see the names of other namespaces";
}

TEST_F(UnknownNamespaceWhyTest, NameAnEventOfTheTypeOnlyIfNoOtherIsThere) {
  const WorkflowNumber order = apply(kOrder);
  send_nowhere("nowhere", R"(,"orderid":"x")", 1);
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  const Json alone = of_instance(1);
  ASSERT_THAT(names(alone), ElementsAre("nowhere"));
  EXPECT_EQ(alone["unknownNamespaces"][0]["fits"], false);
  send(R"(,"orderid":"y")");
  apply_event(2);
  EXPECT_THAT(names(of_instance(1)), ElementsAre()) << "this namespace has an event of the type";
  send_nowhere("nowhere", R"(,"orderid":"o-1")", 3);
  apply_event(3);
  const Json fitting = of_instance(1);
  ASSERT_THAT(names(fitting), ElementsAre("nowhere"));
  EXPECT_EQ(fitting["unknownNamespaces"][0]["sequence"], 3);
  EXPECT_EQ(fitting["unknownNamespaces"][0]["fits"], true);
  send(R"(,"orderid":"o-1")");
  apply_event(3);
  EXPECT_THAT(names(of_instance(1)), ElementsAre()) << "an event of this namespace fits";
}

TEST_F(UnknownNamespaceWhyTest, NameNoNamespaceThatExistsByNow) {
  const WorkflowNumber order = apply(kOrder);
  send_nowhere("shop", R"(,"orderid":"o-1")", 1);
  create_namespace("shop");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  const Json why = of_instance(1);
  EXPECT_THAT(names(why), ElementsAre());
  EXPECT_EQ(why["elsewhere"], Json::array({"shop"}));
}

TEST_F(UnknownNamespaceWhyTest, LookAtTheNamesThatAreMostSimilar) {
  const WorkflowNumber order = apply(kOrder);
  const char* const spaces[] = {"aaaaaaa", "bbbbbbb", "ccccccc", "ddddddd", "eeeeeee", "defaults"};
  uint64_t sequence = 0;
  for (const char* const space : spaces) send_nowhere(space, R"(,"orderid":"o-1")", ++sequence);
  apply_event(sequence);
  add(waiting(order, 1, "o-1"));
  const Json why = of_instance(1);
  EXPECT_EQ(names(why).size(), 5U);
  EXPECT_EQ(names(why).front(), "defaults");
  EXPECT_EQ(why["elsewhereLook"]["unknown"], Json(names(why)));
}

TEST_F(UnknownNamespaceWhyTest, FailIfTheDeadLettersCannotBeCounted) {
  const WorkflowNumber order = apply(kOrder);
  add(waiting(order, 1, "o-1"));
  letters.failing = Error{"broker.timeout", "no answer"};
  EXPECT_EQ(code_of(desk().of_instance("default", numbered_id(1), std::nullopt, {})),
            "broker.timeout");
}

}  // namespace
}  // namespace millrace
