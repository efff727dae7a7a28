// StreamAnswer: the queue of an answer without a known length.
#include "gateway/stream_answer.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::shared_ptr<const std::string> text(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

class StreamAnswerTest : public testing::Test {
 protected:
  int wakes = 0;
  std::shared_ptr<StreamPlaces> places = std::make_shared<StreamPlaces>(2);
  StreamAnswer stream{places->take("a"), [this] { ++wakes; }};
};

TEST_F(StreamAnswerTest, ReturnsTheBytesInPiecesAndWakesTheConnectionOnce) {
  EXPECT_TRUE(stream.send(text("abc")));
  EXPECT_TRUE(stream.send(text("defgh")));
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(stream.queued(), 8U);
  EXPECT_EQ(stream.take(5), "abcde");
  EXPECT_EQ(stream.queued(), 3U);
  EXPECT_TRUE(stream.send(text("i")));
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(stream.take(5), "fghi");
  EXPECT_EQ(stream.take(5), "");
  EXPECT_FALSE(stream.has_ended());
}

TEST_F(StreamAnswerTest, EndsBehindItsLastBytes) {
  stream.send(text("a"));
  stream.end(text("b"));
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.send(text("c")));
  stream.end(text("d"));
  EXPECT_FALSE(stream.has_ended());
  EXPECT_EQ(stream.take(10), "ab");
  EXPECT_TRUE(stream.has_ended());
}

TEST_F(StreamAnswerTest, EndsWithAResetIfTheClientDoesNotReadEnough) {
  EXPECT_TRUE(stream.send(text(std::string(StreamAnswer::kMostQueued, 'x'))));
  EXPECT_FALSE(stream.send(text("y")));
  EXPECT_FALSE(stream.is_open());
  const std::string taken = stream.take(2 * StreamAnswer::kMostQueued);
  EXPECT_EQ(taken.substr(StreamAnswer::kMostQueued),
            "event: reset\ndata: {\"why\":\"overrun\"}\n\n");
  EXPECT_TRUE(stream.has_ended());
}

TEST_F(StreamAnswerTest, TakesAMessageThatIsLargerThanItsQueue) {
  EXPECT_TRUE(stream.send(text("a")));
  EXPECT_TRUE(stream.send(text(std::string(3 * StreamAnswer::kMostQueued, 'x'))));
  EXPECT_TRUE(stream.is_open());
  EXPECT_FALSE(stream.send(text("b")));
}

TEST_F(StreamAnswerTest, TakesNothingOnceItsConnectionIsClosed) {
  stream.send(text("a"));
  stream.close();
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.send(text("b")));
  EXPECT_EQ(stream.queued(), 0U);
  EXPECT_EQ(stream.take(10), "");
  EXPECT_EQ(wakes, 1);
}

TEST_F(StreamAnswerTest, FreesItsPlaceWhenItIsDestroyed) {
  {
    const StreamAnswer other(places->take("b"), [] {});
    EXPECT_EQ(places->used(), 2U);
  }
  EXPECT_EQ(places->used(), 1U);
}

TEST_F(StreamAnswerTest, GivesItsPlaceToAnotherStreamWhenItIsClosed) {
  EXPECT_EQ(places->used(), 1U);
  stream.close();
  EXPECT_EQ(places->used(), 0U) << "although the stream is still among those that get messages";
  EXPECT_FALSE(stream.is_open());
}

}  // namespace
}  // namespace millrace
