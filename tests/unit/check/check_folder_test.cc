// check_folder: the findings in the files of a store, and the errors.
#include <fstream>

#include "tests/support/file_bytes.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CheckFolderTest : public CheckTest {
 protected:
  CheckFolderTest() {
    define("id: ends\nstates: [{id: a, type: noop}]");
    start("ends");
    run_command(PutSecret{.ns = "default", .name = "s", .value = "secret"});
    close();
  }
  void close() {
    batch.reset();
    tx.reset();
    environment.reset();
  }
  Result<StoreReport> check(const std::filesystem::path& key = {}) const {
    return check_folder(folder.path(), key, options);
  }
  std::vector<std::string> lines() const {
    const auto report = check();
    EXPECT_TRUE(report) << report.error().message;
    return report ? lines_of(*report) : std::vector<std::string>();
  }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream(folder.path() / name, std::ios::binary) << bytes;
  }
};

TEST_F(CheckFolderTest, HasNoFindingInAnUndamagedStoreAndDoesNotChangeIt) {
  const std::string before = file_bytes(folder.path() / "data.mdb");
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(lines_of(*report), IsEmpty());
  EXPECT_GT(report->rows.at("meta"), 0U);
  EXPECT_EQ(report->unreadable, 0U);
  EXPECT_EQ(file_bytes(folder.path() / "data.mdb") == before, true);
}

TEST_F(CheckFolderTest, ReportsDamagedFilesAndDamagedPagesAsFindings) {
  const StoreReport files = damaged_files("what was found");
  EXPECT_THAT(lines_of(files), ElementsAre("store.damaged files/: what was found"));
  EXPECT_EQ(files.count(), 1U);
  PageReport pages;
  pages.damages = {{.tree = "live", .page = 7, .found = "one"}, {.tree = "x", .page = 9}};
  pages.count = 5;
  const StoreReport report = damaged_pages(pages);
  EXPECT_THAT(lines_of(report),
              ElementsAre("store.damaged live/page 7: one", "store.damaged x/page 9: "));
  EXPECT_EQ(report.count(), 5U) << "omitted findings are counted";
  EXPECT_TRUE(report.rows.empty());
}

TEST_F(CheckFolderTest, FindsDamagedPagesAndReadsNoRow) {
  std::string bytes = file_bytes(folder.path() / "data.mdb");
  for (size_t page = 2; page * 4096 < bytes.size(); ++page) bytes[page * 4096] ^= 0x55;
  write("data.mdb", bytes);
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(lines_of(*report), testing::Each(StartsWith("store.damaged ")));
  EXPECT_THAT(lines_of(*report), testing::Contains(HasSubstr("/page ")));
  EXPECT_TRUE(report->rows.empty()) << "no row is read from a file with damaged pages";
}

TEST_F(CheckFolderTest, FindsAnEmptyOrMissingDataFile) {
  // Both journals are started again, so they require data.mdb.
  for (int i = 0; i < 3; ++i) {
    const auto opened = Environment::open(folder.path()).value();
    Transaction writer(*opened);
    write_engine_time(writer, now);
    ASSERT_TRUE(writer.commit());
    ASSERT_TRUE(opened->checkpoint());
  }
  write("data.mdb", "");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("store.damaged files/: ")));
  std::filesystem::remove(folder.path() / "data.mdb");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("store.damaged files/: ")));
}

TEST_F(CheckFolderTest, FindsADamagedCrashNote) {
  write("in-hand", "rubbish");
  EXPECT_THAT(lines(), ElementsAre(StartsWith("note.damaged "
                                              "in-hand"
                                              "/: ")));
}

TEST_F(CheckFolderTest, AllowsAnEmptyAndAMissingCrashNote) {
  write("in-hand", "");
  EXPECT_THAT(lines(), IsEmpty()) << "a process may end before its first batch";
  std::filesystem::remove(folder.path() / "in-hand");
  EXPECT_THAT(lines(), IsEmpty()) << "a restored folder has no crash note";
}

TEST_F(CheckFolderTest, FailsOnACrashNoteThatCannotBeRead) {
  std::filesystem::remove(folder.path() / "in-hand");
  std::filesystem::create_directory(folder.path() / "in-hand");
  const auto report = check();
  ASSERT_FALSE(report) << "a failed read is not damage";
  EXPECT_NE(report.error().code, "store.corrupt");
}

TEST_F(CheckFolderTest, CountsSealedRowsIfTheSecretKeyIsMissing) {
  std::filesystem::remove(folder.path() / "secret-key");
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(lines_of(*report), IsEmpty());
  EXPECT_EQ(report->unreadable, 1U);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "secret-key")) << "no key is created";
}

TEST_F(CheckFolderTest, FindsAWrongSecretKey) {
  const std::filesystem::path other = folder.path() / "other-key";
  std::ofstream(other) << std::string(64, 'a') << "\n";
  const auto report = check(other);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(lines_of(*report), testing::Contains(StartsWith("store.key meta/seal")));
}

TEST_F(CheckFolderTest, FailsForAFolderWithoutAStoreAndForAStoreInUse) {
  const Folder empty;
  const auto missing = check_folder(empty.path(), {}, options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "store.not_found");
  const auto held = Environment::open(folder.path()).value();
  const auto locked = check();
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, "store.locked");
}

TEST_F(CheckFolderTest, FailsForAStoreOfALaterFormat) {
  {
    const auto opened = Environment::open(folder.path()).value();
    Transaction writer(*opened);
    writer.put(Table::kMeta, kFormatKey, rows::key_of(kStoreFormat + 1));
    ASSERT_TRUE(writer.commit());
  }
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.version");
}

TEST_F(CheckFolderTest, FindsATreeThatIsMissingFromTheLmdbFileAndAnUnknownOne) {
  std::string bytes = file_bytes(folder.path() / "data.mdb");
  for (size_t at = 0; (at = bytes.find("hooks", at)) != std::string::npos; ++at) {
    bytes.replace(at, 5, "hook#");
  }
  write("data.mdb", bytes);
  EXPECT_THAT(lines(), ElementsAre(StartsWith("tree.missing hooks/: "),
                                   testing::AllOf(StartsWith("tree.unknown "), HasSubstr("hook#"),
                                                  HasSubstr("no release creates a tree"))));
}

}  // namespace
}  // namespace millrace
