#include "orchestrator/service/page.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// A page with at most `limit` of the numbers from 0 to `count` - 1.
Json page_of(int count, size_t limit) {
  Page page(limit);
  for (int i = 0; i < count && page.has_room(); ++i) page.add(i, std::to_string(i));
  return std::move(page).json();
}

TEST(Page, IsTheLastPageIfAllItemsFit) {
  EXPECT_EQ(page_of(0, 3), (Json{{"items", Json::array()}, {"next", nullptr}}));
  EXPECT_EQ(page_of(2, 3), (Json{{"items", {0, 1}}, {"next", nullptr}}));
  EXPECT_EQ(page_of(3, 3), (Json{{"items", {0, 1, 2}}, {"next", nullptr}}));
}

TEST(Page, NamesItsLastItemAsThePageCursorIfMoreItemsFollow) {
  EXPECT_EQ(page_of(4, 3), (Json{{"items", {0, 1, 2}}, {"next", "2"}}));
  EXPECT_EQ(page_of(9, 1), (Json{{"items", Json::array({0})}, {"next", "0"}}));
}

TEST(Page, ExceedsItsLimitUntilItHasAnItemThatCanBeThePageCursor) {
  Page page(2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(page.has_room());
    page.add(i);
  }
  page.add(5, "five");
  EXPECT_FALSE(page.has_room());
  EXPECT_EQ(std::move(page).json(), (Json{{"items", {0, 1, 2, 3, 4, 5}}, {"next", "five"}}));
}

TEST(Page, CountsTheBytesOfElementsThatItDoesNotShow) {
  Page page(10);
  page.add(0, "0");
  page.pass("1", Page::kMostBytes);
  EXPECT_FALSE(page.has_room());
  EXPECT_EQ(std::move(page).json(), (Json{{"items", Json::array({0})}, {"next", "1"}}));
}

TEST(Page, NamesTheCursorAtWhichItWasEnded) {
  Page page(3);
  page.add(0, "0");
  page.continue_at("7");
  EXPECT_EQ(std::move(page).json(), (Json{{"items", Json::array({0})}, {"next", "7"}}));
}

TEST(Page, EndsAfterTheItemWithWhichItIsLarge) {
  Page page(10);
  page.add(0, "0", Page::kMostBytes - 1);
  EXPECT_TRUE(page.has_room());
  page.add(1, "1", 5 * Page::kMostBytes);
  EXPECT_FALSE(page.has_room());
  EXPECT_EQ(std::move(page).json(), (Json{{"items", {0, 1}}, {"next", "1"}}));
}

}  // namespace
}  // namespace millrace
