// walk_back: each message once, the newest first, whatever the gaps and sizes of the stream are.
#include "orchestrator/service/walk_back.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Sequences = std::vector<uint64_t>;

class WalkBackTest : public testing::Test {
 protected:
  /// Reads the messages of stored_ in pages of page_ messages.
  Result<StoredEvents::Page> read(uint64_t first, uint64_t last) {
    ++reads_;
    StoredEvents::Page page;
    for (const uint64_t sequence : stored_) {
      if (sequence < first || sequence > last) continue;
      if (page.events.size() == page_) {
        page.next = sequence;
        break;
      }
      page.events.push_back({.ns = {}, .sequence = sequence, .stamped = {}, .message = {}});
    }
    return page;
  }
  BackwardEnd walk(const BackwardRange& range, size_t wanted = SIZE_MAX) {
    seen_.clear();
    const Result<BackwardEnd> end = walk_back(
        range, [this](uint64_t first, uint64_t last) { return read(first, last); },
        [&](StoredEvent& event) {
          seen_.push_back(event.sequence);
          return seen_.size() < wanted;
        });
    EXPECT_TRUE(end);
    return end.value_or(BackwardEnd{});
  }
  Sequences backwards(uint64_t first, uint64_t last) const {
    Sequences all;
    for (auto one = stored_.rbegin(); one != stored_.rend(); ++one) {
      if (*one >= first && *one <= last) all.push_back(*one);
    }
    return all;
  }

  Sequences stored_;
  size_t page_ = 1'000;
  size_t reads_ = 0;
  Sequences seen_;
};

TEST_F(WalkBackTest, SeesEachMessageOfADenseStream) {
  for (uint64_t i = 1; i <= 500; ++i) stored_.push_back(i);
  for (const size_t page : {size_t{1'000}, size_t{40}}) {
    page_ = page;
    const BackwardEnd end = walk({.last = 500});
    EXPECT_EQ(seen_, backwards(1, 500)) << page;
    EXPECT_EQ(end.before, 0U) << page;
    EXPECT_EQ(end.looked, 500U) << page;
  }
}

TEST_F(WalkBackTest, SeesTheFewMessagesOfASparseStream) {
  stored_ = {3, 70'000, 5'000'000, 5'000'001, 900'000'000};
  const BackwardEnd end = walk({.last = 1'000'000'000});
  EXPECT_EQ(seen_, backwards(1, 1'000'000'000));
  EXPECT_EQ(end.before, 0U);
  EXPECT_LT(reads_, 20U);
}

TEST_F(WalkBackTest, StaysInItsRange) {
  stored_ = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(walk({.first = 3, .last = 5}).before, 0U);
  EXPECT_EQ(seen_, (Sequences{5, 4, 3}));
  EXPECT_EQ(walk({.first = 7, .last = 6}).looked, 0U);
  EXPECT_EQ(walk({.first = 1, .last = 0}).looked, 0U);
}

TEST_F(WalkBackTest, ContinuesWhereItEnded) {
  for (uint64_t i = 2; i <= 200; i += 2) stored_.push_back(i);
  BackwardEnd end = walk({.last = 200}, 3);
  EXPECT_EQ(seen_, (Sequences{200, 198, 196}));
  EXPECT_EQ(end.before, 196U);
  EXPECT_EQ(end.looked, 3U);
  end = walk({.last = end.before - 1, .most = 2});
  EXPECT_EQ(seen_, (Sequences{194, 192}));
  EXPECT_EQ(end.before, 192U);
}

TEST_F(WalkBackTest, ReadsMessagesThatFillAPageEach) {
  for (uint64_t i = 1; i <= 20; ++i) stored_.push_back(i);
  page_ = 1;
  BackwardEnd end = walk({.last = 20});
  Sequences all = seen_;
  EXPECT_FALSE(all.empty());
  for (int walks = 0; end.before != 0 && walks < 20; ++walks) {
    end = walk({.last = end.before - 1});
    all.insert(all.end(), seen_.begin(), seen_.end());
  }
  EXPECT_EQ(all, backwards(1, 20));
}

TEST_F(WalkBackTest, ReadsNoFurtherWindowWhenItIsLate) {
  for (uint64_t i = 1; i <= 100; ++i) stored_.push_back(i);
  const BackwardEnd end = walk({.last = 100, .window = 10, .is_late = [] { return true; }});
  EXPECT_EQ(seen_, backwards(91, 100));
  EXPECT_EQ(end.before, 91U);
}

TEST_F(WalkBackTest, ReportsTheErrorOfARead) {
  const Result<BackwardEnd> end = walk_back(
      {.last = 5},
      [](uint64_t, uint64_t) -> Result<StoredEvents::Page> { return fail("broker.timeout", ""); },
      [](StoredEvent&) { return true; });
  EXPECT_EQ(end.error().code, "broker.timeout");
}

}  // namespace
}  // namespace millrace
