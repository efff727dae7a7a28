// A log that loses what a log book has appended, while the book does not know yet that the log had
// it: no acknowledgement from before the loss makes a commit certain.
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log/log_book.h"
#include "tests/unit/broker/log/log_book_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class LogBookLossTest;
struct LossSeen {
  const char* name;
  std::vector<std::string> (LogBookLossTest::*see)();
};
void PrintTo(const LossSeen& loss, std::ostream* out) { *out << loss.name; }

/// The log has acknowledged the second part and not the first one, and then lost what it had. Each
/// function is a way in which the book finds out, and returns what the book does then.
class LogBookLossTest : public LogBookTest, public testing::WithParamInterface<LossSeen> {
 public:
  Words after_a_question() {
    EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
    book_.stream_ends(100, now_);
    return actions();
  }
  Words after_a_low_end() {
    refused(1, 95);
    EXPECT_EQ(book_.low_end(), 95U);
    book_.go_on(now_);
    return actions_after(kLookAgain);
  }
  Words after_an_error() {
    book_.send_failed(1, {"broker.refused", "no room"}, now_);
    return actions_after(kTimeout);
  }
  Words after_a_message_that_is_not_there() {
    refused(1, 101);
    EXPECT_THAT(actions(), ElementsAre("read 101"));
    book_.not_found(101, now_);
    return actions_after(kLookAgain);
  }
};

TEST_P(LogBookLossTest, AnAcknowledgementBehindAPartThatIsSentAgainDoesNotCount) {
  append({"a", "b"});
  actions();
  acknowledged(2, 102);
  EXPECT_THAT((this->*GetParam().see)(), ElementsAre("3: a behind 100", "4: b behind 101"));
  acknowledged(2, 102);  // once more, late
  acknowledged(3, 101);
  EXPECT_EQ(outcome(), std::nullopt);
  EXPECT_EQ(book_.place(), (LogPlace{101, sent_[1].chain}));
  acknowledged(4, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LogBookLossTest,
    testing::Values(LossSeen{"Question", &LogBookLossTest::after_a_question},
                    LossSeen{"LowEnd", &LogBookLossTest::after_a_low_end},
                    LossSeen{"Error", &LogBookLossTest::after_an_error},
                    LossSeen{"NotThere", &LogBookLossTest::after_a_message_that_is_not_there}),
    [](const auto& one) { return one.param.name; });

TEST_F(LogBookTest, AnAcknowledgementBehindAPartThatWasReadDoesNotCount) {
  append({"a", "b"});
  actions();
  acknowledged(2, 102);
  EXPECT_THAT(actions_after(kTimeout), ElementsAre("ask"));
  book_.stream_ends(101, now_);  // it has lost b
  EXPECT_THAT(actions(), ElementsAre("read 101"));
  found(101, sent_[1]);
  EXPECT_EQ(outcome(), std::nullopt);
  EXPECT_EQ(book_.place(), (LogPlace{101, sent_[1].chain}));
  EXPECT_THAT(actions(), ElementsAre("3: b behind 101"));
  acknowledged(3, 102);
  EXPECT_EQ(outcome(), Ended::kCertain);
}

}  // namespace
}  // namespace millrace
