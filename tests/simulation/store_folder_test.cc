// The store check on whole folders: sound folders, and folders that are damaged, in use, or have
// another key or format.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/store_damage.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class StoreFolder : public testing::Test {
 protected:
  StoreFolder() {
    std::filesystem::copy(RichStore::instance().folder(), folder.path(),
                          std::filesystem::copy_options::recursive);
  }

  Result<StoreReport> check(const std::filesystem::path& key_file = {}) const {
    return check_folder(folder.path(), key_file, test_check_options());
  }
  Codes codes(const std::filesystem::path& key_file = {}) const {
    const auto report = check(key_file);
    EXPECT_TRUE(report) << report.error().message;
    return report ? codes_of(*report) : Codes();
  }
  std::string bytes(const char* file) const {
    std::ifstream in(folder.path() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const char* file, const std::string& text) const {
    std::ofstream(folder.path() / file, std::ios::binary) << text;
  }

  Folder folder;
};

TEST_F(StoreFolder, IsSoundWithAllKindsOfRows) {
  for (const char* const table :
       {"meta", "namespaces", "workflows", "definitions", "live", "ended", "history", "groups",
        "delayed", "outbox", "sent", "dedupe", "recent", "idempotency", "variables", "secrets",
        "schedules", "tasks", "hooks"}) {
    EXPECT_TRUE(RichStore::instance().tables().contains(table)) << "there is no row in " << table;
  }
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->sound()) << lines_of(*report);
  EXPECT_EQ(report->unreadable, 0U);
  EXPECT_GT(report->rows.at("history"), 10U);
}

TEST_F(StoreFolder, HasCompensationsThatAreMadeAndOthersThatHaveFailed) {
  const auto environment = Environment::open(folder.path(), {.read_only = true}).value();
  const Snapshot view = Snapshot::take(*environment).value();
  const Instance made = read_head(view, Table::kLive, kDefault, id_of("undoes")).value().value();
  EXPECT_TRUE(made.compensating);
  EXPECT_EQ(made.compensations, 2U);
  EXPECT_FALSE(read_compensation(view, made, 1).value().of_call);
  const Instance failed = read_head(view, Table::kEnded, kDefault, id_of("halts")).value().value();
  EXPECT_TRUE(failed.compensation_error);
  EXPECT_EQ(failed.status, InstanceStatus::kFailed);
  EXPECT_EQ(failed.compensations, 2U);
  EXPECT_TRUE(read_compensation(view, failed, 1).value().of_call);
}

TEST_F(StoreFolder, IsNotChangedByACheck) {
  constexpr const char* kFiles[] = {"data.mdb",  "lock.mdb", "journal-0",
                                    "journal-1", "in-hand",  "secret-key"};
  std::map<std::string, std::string> before;
  for (const char* const file : kFiles) before[file] = bytes(file);
  ASSERT_FALSE(before["journal-0"].empty());
  EXPECT_THAT(codes(), IsEmpty());
  for (const char* const file : kFiles) EXPECT_EQ(bytes(file) == before[file], true) << file;
}

TEST_F(StoreFolder, IsCheckedWithoutItsKeyExceptForSealedRows) {
  std::filesystem::remove(folder.path() / "secret-key");
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->sound()) << lines_of(*report);
  EXPECT_GE(report->unreadable, 3U);  // at least the secret and two sealed calls
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "secret-key")) << "the check creates no key";
}

TEST_F(StoreFolder, IsReportedWithAnotherSecretKeyThanItsOwn) {
  write("other-key", std::string(64, 'b'));
  EXPECT_EQ(codes(folder.path() / "other-key"), Codes{"store.key"});
}

TEST_F(StoreFolder, IsDamagedWhenItsDataFileIsTruncated) {
  std::filesystem::resize_file(folder.path() / "data.mdb", 8192);
  EXPECT_EQ(codes(), Codes{"store.damaged"});
}

TEST_F(StoreFolder, IsDamagedWhenItsDataFileIsEmpty) {
  {
    const auto environment = Environment::open(folder.path());
    ASSERT_TRUE(environment);
    Transaction tx(**environment);
    for (int i = 0; i < 3; ++i) {  // until both journal files have been used again
      tx.put(Table::kMeta, "key", "value");
      ASSERT_TRUE(tx.commit());
      ASSERT_TRUE((*environment)->checkpoint());
    }
  }
  std::filesystem::resize_file(folder.path() / "data.mdb", 0);
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(codes_of(*report), Codes{"store.damaged"});
  EXPECT_THAT(lines_of(*report), HasSubstr("data.mdb was emptied, removed or replaced"));
}

TEST_F(StoreFolder, IsDamagedWhenAJournalIsDamaged) {
  // Damages both files, because one of them is in use.
  for (const char* const file : {"journal-0", "journal-1"}) {
    std::string journal = bytes(file);
    for (size_t at = 4096; at < std::min<size_t>(journal.size(), 4200); ++at) journal[at] = '!';
    write(file, journal);
  }
  EXPECT_EQ(codes(), Codes{"store.damaged"});
}

TEST_F(StoreFolder, IsDamagedWhenItsCrashNoteIsInvalid) {
  write("in-hand", "inputs and outputs");
  EXPECT_EQ(codes(), Codes{"note.damaged"});
}

TEST_F(StoreFolder, IsSoundWithACrashNote) {
  std::string note = "inputs 3 deaths 1 event 17 crashed";
  note.resize(127, ' ');
  write("in-hand", note + "\n");
  EXPECT_EQ(codes(), Codes{"note.damaged"}) << "`crashed` must be at the end of the line";
  note = "inputs 3 deaths 1 event 17";
  note.resize(120, ' ');
  write("in-hand", note + "crashed\n");
  EXPECT_THAT(codes(), IsEmpty());
}

TEST_F(StoreFolder, IsRefusedWhileItIsInUse) {
  const auto open = Environment::open(folder.path(), {.checkpoints_at_close = false});
  ASSERT_TRUE(open);
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.locked");
}

TEST_F(StoreFolder, IsRefusedWhenItsFormatIsNewer) {
  {
    const auto open = Environment::open(folder.path(), {.checkpoints_at_close = false}).value();
    Transaction tx(*open);
    tx.put(Table::kMeta, "format", rows::key_of(kStoreFormat + 1));
    ASSERT_TRUE(tx.commit());
  }
  const auto report = check();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.version");
}

TEST(StoreCheck, RefusesAnEmptyFolder) {
  const Folder folder;
  const auto report = check_folder(folder.path(), {}, test_check_options());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.not_found");
  EXPECT_THAT(report.error().message, HasSubstr("data.mdb"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is made";
}
}  // namespace
}  // namespace millrace
