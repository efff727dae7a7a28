#include "orchestrator/store/rows/archive_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr NamespaceNumber kFirst{1};
constexpr NamespaceNumber kSecond{2};

class ArchiveRowsTest : public StoreTest {
 protected:
  std::vector<std::pair<NamespaceNumber, ArchivePosition>> archives() {
    std::vector<std::pair<NamespaceNumber, ArchivePosition>> found;
    EXPECT_TRUE(each_archive(
        *tx,
        [&](NamespaceNumber ns, const ArchivePosition& position) {
          found.emplace_back(ns, position);
        },
        [&](const Error& error) { damage.push_back(error.message); }));
    return found;
  }

  std::vector<std::string> damage;
};

TEST_F(ArchiveRowsTest, HaveAPositionForEachNamespace) {
  EXPECT_EQ(read_archive(*tx, kFirst).value(), std::nullopt);
  const ArchivePosition position{.file = 2, .length = 300'000'000'000};
  write_archive(*tx, kFirst, {});
  write_archive(*tx, kSecond, position);
  EXPECT_EQ(read_archive(*tx, kFirst).value(), ArchivePosition());
  EXPECT_EQ(read_archive(*tx, kSecond).value(), position);
  EXPECT_THAT(archives(), ElementsAre(Pair(kFirst, ArchivePosition()), Pair(kSecond, position)));
  erase_archive(*tx, kFirst);
  EXPECT_THAT(archives(), ElementsAre(Pair(kSecond, position)));
}

TEST_F(ArchiveRowsTest, AreReportedIfTheyAreDamaged) {
  write_archive(*tx, kSecond, {});
  tx->put(Table::kMeta, std::string("archive/\0\0\0\1", 12), "rubbish");
  EXPECT_THAT(archives(), ElementsAre(Pair(kSecond, ArchivePosition())));
  EXPECT_THAT(damage, ElementsAre(HasSubstr("of table meta is damaged")));
  EXPECT_EQ(read_archive(*tx, kFirst).error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
