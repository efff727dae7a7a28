#include "broker/node_roll.h"

#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/listening.h"
#include "broker/nats_handles.h"
#include "broker/round_trip.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Duration kAskTime{300};

class NodeRollTest : public NatsFixture {
 protected:
  std::unique_ptr<Connection> one_ = server_.connect();
  std::unique_ptr<Connection> two_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  const std::string subject_ = node_roll_subject("shop");
  const std::string key_ = std::string(32, 'k');
};

TEST_F(NodeRollTest, CollectsTheStatesOfAllNodes) {
  EXPECT_EQ(subject_, "millrace.cluster.shop");
  NodeRoll first(*one_, subject_, key_, [] { return Json{{"node", 1}}; });
  NodeRoll second(*two_, subject_, key_, [] { return Json{{"node", 2}}; });
  ASSERT_TRUE(second.answer());
  ASSERT_TRUE(second.answer()) << "once more";
  ASSERT_EQ(round_trip(two_->handle().get(), kPatience), NATS_OK);
  const Result<std::vector<Json>> nodes = first.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, UnorderedElementsAre(Json{{"node", 1}}, Json{{"node", 2}}));
}

TEST_F(NodeRollTest, IgnoresWhatIsNoState) {
  NodeRoll roll(*one_, subject_, key_, [] { return Json::array(); });
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, IsEmpty());
}

TEST_F(NodeRollTest, PassesOverAnswersThatNoNodeWithTheKeyHasMadeForTheQuestion) {
  NodeRoll roll(*one_, subject_, key_, [] { return Json{{"node", 1}}; });
  NodeRoll stranger(*two_, subject_, std::string(32, 'x'), [] { return Json{{"node", 2}}; });
  ASSERT_TRUE(stranger.answer());
  const std::string inbox = two_->make_inbox();
  std::promise<std::string> answered;
  const Listening answers(*two_, inbox, [&](NatsMsgHandle& message) {
    const std::string text(natsMsg_GetData(message.get()),
                           static_cast<size_t>(natsMsg_GetDataLength(message.get())));
    if (text.find(R"("node":1)") != std::string::npos) answered.set_value(text);
  });
  ASSERT_TRUE(roll.answer());
  ASSERT_EQ(round_trip(one_->handle().get(), kPatience), NATS_OK);
  ASSERT_EQ(
      natsConnection_PublishRequest(two_->handle().get(), subject_.c_str(), inbox.c_str(), "", 0),
      NATS_OK);
  const std::string earlier = answered.get_future().get();
  EXPECT_THAT(earlier, HasSubstr("mac"));
  // Answers with what the node has answered to that question, and without a hash.
  const Listening repeats(*two_, subject_, [&](NatsMsgHandle& question) {
    for (const std::string& text : {earlier, std::string(R"({"node":3})")}) {
      EXPECT_EQ(natsConnection_PublishString(two_->handle().get(), natsMsg_GetReply(question.get()),
                                             text.c_str()),
                NATS_OK);
    }
  });
  ASSERT_EQ(round_trip(two_->handle().get(), kPatience), NATS_OK);
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, ElementsAre(Json{{"node", 1}}));
}

TEST_F(NodeRollTest, AnswersNoQuestionThatAsksForAnAnswerWhereTheNodeHasRightsOfItsOwn) {
  NodeRoll roll(*one_, subject_, key_, [] { return Json{{"node", 1}}; });
  ASSERT_TRUE(roll.answer());
  ASSERT_EQ(round_trip(one_->handle().get(), kPatience), NATS_OK);
  const std::string replies[] = {"$JS.API.STREAM.PURGE.MILLRACE_LOG_shop_0", "millrace.log.shop.0",
                                 "millrace.owner", two_->make_inbox()};
  std::promise<std::string> answered_on;
  std::vector<std::unique_ptr<Listening>> heard;
  for (const std::string& reply : replies) {
    heard.push_back(std::make_unique<Listening>(
        *two_, reply, [&answered_on, reply](NatsMsgHandle&) { answered_on.set_value(reply); }));
  }
  for (const std::string& reply : replies) {
    ASSERT_EQ(
        natsConnection_PublishRequest(two_->handle().get(), subject_.c_str(), reply.c_str(), "", 0),
        NATS_OK);
  }
  EXPECT_EQ(answered_on.get_future().get(), replies[3]) << "the first that is answered";
}

TEST_F(NodeRollTest, PassesOverAnswersOfAnotherClusterWithTheSameKey) {
  NodeRoll roll(*one_, subject_, key_, [] { return Json{{"node", 1}}; });
  NodeRoll other(*two_, node_roll_subject("mill"), key_, [] { return Json{{"node", 2}}; });
  ASSERT_TRUE(other.answer());
  const Listening relays(*two_, subject_, [&](NatsMsgHandle& question) {
    EXPECT_EQ(natsConnection_PublishRequest(two_->handle().get(), node_roll_subject("mill").c_str(),
                                            natsMsg_GetReply(question.get()), "", 0),
              NATS_OK);
  });
  ASSERT_EQ(round_trip(two_->handle().get(), kPatience), NATS_OK);
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_THAT(*nodes, ElementsAre(Json{{"node", 1}}));
}

TEST_F(NodeRollTest, SaysThatThereIsNoConnection) {
  NodeRoll roll(*one_, subject_, key_, [] { return Json::object(); });
  server_.process().kill();
  EXPECT_TRUE(eventually([&] { return !one_->connected(); }));
  const Result<std::vector<Json>> nodes = roll.ask(kAskTime);
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
