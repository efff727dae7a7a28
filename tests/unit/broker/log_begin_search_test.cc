#include "broker/log_begin_search.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/broker/log_fixture.h"

namespace millrace {
namespace {

class LogBeginSearchTest : public JetStreamLogFixture {
 protected:
  /// The sequence of the `begin`; 0: it is not found.
  uint64_t begin_of(const LogPosition& position) {
    const auto found = find_log_begin(*connection_, log_, kTestLogKey, position);
    EXPECT_TRUE(found) << found.error().message;
    if (!found || !*found) return 0;
    EXPECT_EQ((*found)->begin.address, kBegin.address);
    EXPECT_GT((*found)->stamped, TimePoint());
    return (*found)->sequence;
  }
  LogPosition commit(JetStreamLog& log) {
    const Result<LogPosition> position = log.append("a");
    EXPECT_TRUE(position) << position.error().message;
    return position ? *position : LogPosition();
  }
};

TEST_F(LogBeginSearchTest, FindsTheBeginOfTheEpochOfACommit) {
  EXPECT_EQ(begin_of({}), 0u) << "a store without a commit of the log";
  const std::unique_ptr<JetStreamLog> one = active(1);  // at 1
  const LogPosition first = commit(*one);
  for (int i = 0; i < 9; ++i) commit(*one);
  const LogPosition late = commit(*one);
  const std::unique_ptr<JetStreamLog> two = active(2);  // at 13
  const LogPosition next = commit(*two);
  client_->publish_acked(log_.subjects, "", "foreign");
  client_->publish_acked(log_.subjects, "", "foreign");
  const LogPosition behind = commit(*two);
  EXPECT_EQ(behind.sequence, 17u);
  EXPECT_EQ(begin_of(first), 1u);
  EXPECT_EQ(begin_of(late), 1u);
  EXPECT_EQ(begin_of(next), 13u);
  EXPECT_EQ(begin_of(behind), 13u);
}

TEST_F(LogBeginSearchTest, KnowsWhetherTheNewestMessagesAreOfTheKey) {
  const std::string other(32, 'b');
  const auto is_of = [&](std::string_view key) {
    const Result<bool> known = is_log_of_key(*connection_, log_, key);
    EXPECT_TRUE(known) << known.error().message;
    return known && *known;
  };
  EXPECT_TRUE(is_of(other)) << "an empty log is of any key";
  const std::unique_ptr<JetStreamLog> one = active(1);
  commit(*one);
  client_->publish_acked(log_.subjects, "", "foreign");
  EXPECT_TRUE(is_of(kTestLogKey));
  EXPECT_FALSE(is_of(other));
}

TEST_F(LogBeginSearchTest, SaysThatThereIsNoLog) {
  client_->api("STREAM.DELETE." + log_.name);
  const auto found =
      find_log_begin(*connection_, log_, kTestLogKey, {.sequence = 5, .name = {.epoch = 1}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "cluster.not_founded");
}

}  // namespace
}  // namespace millrace
