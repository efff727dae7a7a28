#include "broker/node_roll.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/nats_handles.h"
#include "broker/round_trip.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Duration kAskTime{300};

class NodeRollTest : public NatsFixture {
 protected:
  std::unique_ptr<Connection> one_ = server_.connect();
  std::unique_ptr<Connection> two_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  const std::string subject_ = node_roll_subject("shop");
};

TEST_F(NodeRollTest, CollectsTheStatesOfAllNodes) {
  EXPECT_EQ(subject_, "millrace.cluster.shop");
  NodeRoll first(*one_, subject_, [] { return Json{{"node", 1}}; });
  NodeRoll second(*two_, subject_, [] { return Json{{"node", 2}}; });
  ASSERT_TRUE(second.answer());
  ASSERT_TRUE(second.answer()) << "once more";
  ASSERT_EQ(round_trip(two_->handle().get(), kPatience), NATS_OK);
  const Result<std::vector<Json>> nodes = first.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, UnorderedElementsAre(Json{{"node", 1}}, Json{{"node", 2}}));
}

TEST_F(NodeRollTest, IgnoresWhatIsNoState) {
  NodeRoll roll(*one_, subject_, [] { return Json::array(); });
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, IsEmpty());
}

TEST_F(NodeRollTest, SaysThatThereIsNoConnection) {
  NodeRoll roll(*one_, subject_, [] { return Json::object(); });
  server_.process().kill();
  EXPECT_TRUE(eventually([&] { return !one_->connected(); }));
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
