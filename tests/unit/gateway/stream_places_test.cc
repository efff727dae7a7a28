#include "gateway/stream_places.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(StreamPlaces, LeaveSomeForFurtherClients) {
  const auto places = std::make_shared<StreamPlaces>(8);
  std::vector<StreamPlaces::Place> taken;
  const auto take_all = [&](const std::string& client) {
    size_t count = 0;
    while (StreamPlaces::Place place = places->take(client)) {
      taken.push_back(std::move(place));
      ++count;
    }
    return count;
  };
  EXPECT_EQ(take_all("a"), 4U);
  EXPECT_EQ(take_all("b"), 2U);
  EXPECT_EQ(take_all("c"), 1U);
  EXPECT_EQ(take_all("d"), 1U);
  EXPECT_EQ(take_all("e"), 0U) << "none is left";
  EXPECT_EQ(places->used(), 8U);
  EXPECT_EQ(places->refused(), 5U);
}

TEST(StreamPlaces, AreFreeAgainWhenTheirStreamsEnd) {
  const auto places = std::make_shared<StreamPlaces>(1);
  StreamPlaces::Place place = places->take("a");
  EXPECT_TRUE(place);
  EXPECT_FALSE(places->take("a"));
  EXPECT_FALSE(places->take("b"));
  place.reset();
  EXPECT_EQ(places->used(), 0U);
  EXPECT_TRUE(places->take("b"));
}

TEST(StreamPlaces, MayBeGivenBackLate) {
  auto places = std::make_shared<StreamPlaces>(1);
  const std::weak_ptr<StreamPlaces> watched = places;
  StreamPlaces::Place place = places->take("a");
  places.reset();
  EXPECT_FALSE(watched.expired());
  place.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace millrace
