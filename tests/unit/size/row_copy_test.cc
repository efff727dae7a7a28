// Copying rows: a copy has the rows of the store and full pages, and a copy with any difference is
// found.
#include "orchestrator/size/row_copy.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/all_rows.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class RowCopyTest : public StoreTest {
 protected:
  RowCopyTest() {
    auto opened = LmdbFile::open(place_.path(), uint64_t{1} << 30);
    EXPECT_TRUE(opened) << opened.error().message;
    copy_ = std::move(*opened);
  }

  Snapshot view() const { return Snapshot::take(*environment).value(); }

  /// Writes some rows into each table.
  void fill_tables() {
    for (const TableName& one : kTables) {
      tx->put(one.table, "a", "");
      tx->put(one.table, std::string("k\0\xff", 3), std::string("\0\xff", 2));
      tx->put(one.table, "large", std::string(20'000, 'v'));
    }
    commit();
  }
  void copy() {
    const auto copied = copy_rows(view(), *copy_, nullptr);
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(*copied, all_rows(view()).size());
  }
  RowsByKey copied_rows() const {
    RowsByKey rows;
    LmdbReader reader(*copy_);
    EXPECT_TRUE(reader.begin());
    for (const TableName& one : kTables) {
      const auto letter = static_cast<char>(one.table);
      const KeyRange range{std::string(1, letter), std::string(1, static_cast<char>(letter + 1))};
      for (LmdbCursor row(reader, range, Direction::kForward); row.valid(); row.next()) {
        rows.emplace(std::pair(one.table, row.key()), row.value());
      }
    }
    EXPECT_TRUE(reader.status());
    return rows;
  }
  /// Changes a row of the copy.
  void change(const std::string& absolute_key, std::optional<std::string_view> value) {
    auto writer = LmdbWriter::begin(*copy_).value();
    ASSERT_TRUE(writer.write(absolute_key, value));
    ASSERT_TRUE(writer.commit());
  }
  std::string difference() const {
    const Status checked = check_copy(view(), *copy_, nullptr);
    if (checked) return "";
    EXPECT_EQ(checked.error().code, kCopyDiffers);
    return checked.error().message;
  }

  Folder place_{fast_folder()};
  std::unique_ptr<LmdbFile> copy_;
};

TEST_F(RowCopyTest, CopiesAllRowsAndTheNumberOfTheLastCommit) {
  fill_tables();
  ASSERT_TRUE(environment->checkpoint());
  tx->put(Table::kLive, "in memory only", "value");
  tx->erase(Table::kLive, "a");
  commit();
  copy();
  EXPECT_EQ(copied_rows() == all_rows(view()), true);
  EXPECT_EQ(copy_->checkpointed().value(), view().commit());
  EXPECT_EQ(difference(), "");
}

TEST_F(RowCopyTest, CopiesAStoreWithoutRows) {
  copy();
  EXPECT_TRUE(copied_rows().empty());
  EXPECT_EQ(copy_->checkpointed().value(), std::nullopt) << "there was no commit";
  EXPECT_EQ(difference(), "");
}

TEST_F(RowCopyTest, CopiesMoreRowsThanFitIntoOneTransaction) {
  for (int i = 0; i < 5; ++i) {
    tx->put(Table::kVariables, std::to_string(i),
            std::string(7'000'000, static_cast<char>('a' + i)));
    commit();
  }
  copy();
  EXPECT_EQ(copied_rows() == all_rows(view()), true);
  EXPECT_EQ(difference(), "");
}

TEST_F(RowCopyTest, FillsThePagesOfTheCopy) {
  const auto key = [](int i) { return fmt::format("{:05}", i); };
  for (int i = 0; i < 4'000; ++i) tx->put(Table::kLive, key(i), std::string(200, 'v'));
  commit();
  ASSERT_TRUE(environment->checkpoint());
  for (int i = 0; i < 4'000; i += 2) tx->erase(Table::kLive, key(i));
  commit();
  ASSERT_TRUE(environment->checkpoint());
  copy();
  const LmdbFile::Size size = copy_->measure().value();
  EXPECT_LT(size.used_bytes, environment->used_bytes() * 3 / 4) << "half of the rows were erased";
  EXPECT_LT(size.free_bytes, 64 * copy_->page_bytes());
  EXPECT_EQ(difference(), "");
}

TEST_F(RowCopyTest, FindsAMissingAnAddedAndAChangedRow) {
  fill_tables();
  copy();
  const struct {
    const char* key;
    std::optional<std::string_view> changed;
    std::optional<std::string_view> right;
  } rows[] = {
      {"ea", std::nullopt, ""},
      {"ea", "v", ""},
      {"e ", "added", std::nullopt},
      {"ez", "added behind the last row", std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} = {}", row.key, row.changed.value_or("nothing")));
    change(row.key, row.changed);
    EXPECT_THAT(difference(), HasSubstr("a row of the table ended"));
    change(row.key, row.right);
    EXPECT_EQ(difference(), "");
  }
}

TEST_F(RowCopyTest, ReportsTheNumberOfRows) {
  for (int i = 0; i < 10'000; ++i) tx->put(Table::kLive, std::to_string(i), "v");
  commit();
  std::vector<uint64_t> reported;
  const OnRows report = [&](uint64_t rows) { reported.push_back(rows); };
  ASSERT_TRUE(copy_rows(view(), *copy_, report));
  EXPECT_THAT(reported, testing::ElementsAre(4096, 8192));
  ASSERT_TRUE(check_copy(view(), *copy_, report));
  EXPECT_THAT(reported, testing::ElementsAre(4096, 8192, 4096, 8192));
}

}  // namespace
}  // namespace millrace
