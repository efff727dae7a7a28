// Damages: records damaged rows, and passes on all other errors.
#include "orchestrator/memory/damages.h"

#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

Error damage(const std::string& what) { return {std::string(kDamagedRow), what}; }
const Error kUnreadable{"store.io", "the disk does not answer"};

TEST(Damages, CountEqualErrorMessagesOnce) {
  Damages damages;
  EXPECT_EQ(damages.count(), 0U);
  EXPECT_EQ(damages.list(), Json::array());
  damages.note(damage("row 1"));
  damages.note(damage("row 2"));
  damages.note(damage("row 1"));
  EXPECT_EQ(damages.count(), 2U);
  EXPECT_EQ(damages.list(), Json::parse(R"(["row 1", "row 2"])"));
  EXPECT_TRUE(damages.ready()) << "millrace stays ready";
}

TEST(Damages, ListTheFirstDamagedRowsAndCountAll) {
  Damages damages;
  const OnDamage note = damages.noting();
  for (size_t i = 0; i < Damages::kListed + 20; ++i) note(damage(std::to_string(i)));
  EXPECT_EQ(damages.count(), Damages::kListed + 20);
  EXPECT_EQ(damages.list().size(), Damages::kListed);
  EXPECT_EQ(damages.list().back(), std::to_string(Damages::kListed - 1));
}

TEST(Damages, SkipADamagedRowAndNoOtherError) {
  Damages damages;
  EXPECT_TRUE(damages.pass_over(Status()));
  EXPECT_TRUE(damages.pass_over(Status(tl::unexpected(damage("row 1")))));
  const Status unreadable = damages.pass_over(Status(tl::unexpected(kUnreadable)));
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error(), kUnreadable);
  EXPECT_EQ(damages.count(), 1U);
}

TEST(Damages, ReturnNothingForADamagedRow) {
  using Read = Result<std::optional<int>>;
  Damages damages;
  EXPECT_EQ(damages.pass_over(Read(7)), Read(7));
  EXPECT_EQ(damages.pass_over(Read(std::nullopt)), Read(std::nullopt));
  const Read damaged = damages.pass_over(Read(tl::unexpected(damage("row 1"))));
  ASSERT_TRUE(damaged);
  EXPECT_FALSE(*damaged);
  const Read unreadable = damages.pass_over(Read(tl::unexpected(kUnreadable)));
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error(), kUnreadable);
  EXPECT_EQ(damages.count(), 1U);
}

TEST(Damages, MakeMillraceUnreadyOnlyForADamagedRowThatIsHeld) {
  Damages damages;
  damages.hold(damage("row 1"));
  damages.hold(damage("row 2"));
  damages.note(damage("row 3"));
  EXPECT_EQ(damages.count(), 3U);
  const Status ready = damages.ready();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().message, "row 1") << "the error names the first held row";
}

}  // namespace
}  // namespace millrace
