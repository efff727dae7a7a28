#include "orchestrator/service/awaited_publish.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLarge = "large";

/// Notes what is published; answer() gives the outcomes.
class NotingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    sent.push_back(message.data);
    waiting.push_back(std::move(done));
  }
  std::vector<Status> publish_unacknowledged(std::vector<NatsMessage> messages) override {
    std::vector<Status> outcomes;
    outcomes.reserve(messages.size());
    for (const NatsMessage& message : messages) {
      const bool is_large = message.data == kLarge;
      if (!is_large) sent.push_back(message.data + " without");
      outcomes.push_back(is_large ? fail(std::string(kTooLarge), "it is too large") : Status());
    }
    return outcomes;
  }
  void answer(Result<PublishAck> ack) {
    const Done done = std::move(waiting.front());
    waiting.erase(waiting.begin());
    done(std::move(ack));
  }

  std::vector<std::string> sent;
  std::vector<Done> waiting;
};

std::vector<NatsMessage> messages(const std::vector<std::string>& data) {
  std::vector<NatsMessage> all;
  all.reserve(data.size());
  for (const std::string& one : data) all.push_back({.subject = "s", .headers = {}, .data = one});
  return all;
}

/// "7" for an acknowledgement with this sequence, or the code of the error.
std::vector<std::string> outcomes(AwaitedPublish published) {
  std::vector<std::string> texts;
  for (const Result<PublishAck>& one : std::move(published).wait()) {
    texts.push_back(one ? std::to_string(one->sequence) : one.error().code);
  }
  return texts;
}

TEST(AwaitedPublish, HasTheOutcomeOfEachMessage) {
  NotingPublisher publisher;
  AwaitedPublish published(publisher, messages({"a", "b"}));
  EXPECT_THAT(publisher.sent, ElementsAre("a", "b"));
  publisher.answer(PublishAck{.sequence = 7});
  EXPECT_FALSE(published.is_over());
  publisher.answer(fail("broker.refused", "no"));
  EXPECT_TRUE(published.is_over());
  EXPECT_THAT(outcomes(std::move(published)), ElementsAre("7", "broker.refused"));
}

TEST(AwaitedPublish, IsOverAtOnceWithoutMessages) {
  NotingPublisher publisher;
  AwaitedPublish published(publisher, {}, Acks::kLast);
  EXPECT_TRUE(published.is_over());
  EXPECT_THAT(outcomes(std::move(published)), IsEmpty());
}

TEST(AwaitedPublish, AsksForTheAcknowledgementOfTheLastMessageOnly) {
  NotingPublisher publisher;
  AwaitedPublish published(publisher, messages({"a", kLarge, "b", "c"}), Acks::kLast);
  EXPECT_THAT(publisher.sent, ElementsAre("a without", "b without", "c"));
  EXPECT_FALSE(published.is_over());
  publisher.answer(PublishAck{.sequence = 9});
  EXPECT_TRUE(published.is_over());
  EXPECT_THAT(outcomes(std::move(published)), ElementsAre("9", "broker.too_large", "9", "9"));
}

TEST(AwaitedPublish, KnowsOfNoMessageBeforeALastOneThatFails) {
  NotingPublisher publisher;
  AwaitedPublish published(publisher, messages({"a", "b"}), Acks::kLast);
  publisher.answer(fail(std::string(kTooLarge), "it is too large"));
  EXPECT_THAT(outcomes(std::move(published)), ElementsAre("broker.timeout", "broker.too_large"));
}

}  // namespace
}  // namespace millrace
