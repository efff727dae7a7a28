// The head and the manifest of a backup: what they say about a store, their JSON form, and which
// texts are refused.
#include "orchestrator/backup/manifest.h"

#include <fmt/format.h>

#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

BackupManifest some_manifest() {
  return {.head = {.store = std::string(32, 'a'),
                   .format = kStoreFormat,
                   .commit = 42,
                   .cursor = {.stream_created = 1'630'497'600'000'000'001,
                              .sequence = 17,
                              .stamped = from_millis(1'630'497'600'000)},
                   .time = from_millis(1'630'497'601'000),
                   .release = "0.1.0",
                   .key_row = std::string("\xff\x00\x10", 3),
                   .since = from_millis(1'630'497'000'000)},
          .rows = {{"live", 2}, {"meta", 5}},
          .chunks = {{.bytes = 7, .hash = std::string(64, '0')},
                     {.bytes = 9, .hash = std::string(64, 'f')}}};
}

TEST(Manifest, IsReadAsItWasWritten) {
  const BackupManifest manifest = some_manifest();
  EXPECT_EQ(decode_backup_manifest(encode(manifest)), manifest);
  EXPECT_EQ(decode_backup_head(encode(manifest.head)), manifest.head);
  const BackupManifest least{.head = {.format = 1}};
  EXPECT_EQ(decode_backup_manifest(encode(least)), least);
}

// docs/FORMATS.md, "Backup".
TEST(Manifest, HasTheDocumentedMembers) {
  EXPECT_EQ(Json::parse(encode(some_manifest())),
            (Json{{"version", 1},
                  {"store", std::string(32, 'a')},
                  {"format", kStoreFormat},
                  {"minor", 0},
                  {"commit", 42},
                  {"cursor",
                   {{"streamCreated", 1'630'497'600'000'000'001},
                    {"sequence", 17},
                    {"stamped", "2021-09-01T12:00:00.000Z"}}},
                  {"time", "2021-09-01T12:00:01.000Z"},
                  {"millrace", "0.1.0"},
                  {"key", "ff0010"},
                  {"since", "2021-09-01T11:50:00.000Z"},
                  {"rows", {{"live", 2}, {"meta", 5}}},
                  {"chunks",
                   {{{"bytes", 7}, {"hash", std::string(64, '0')}},
                    {{"bytes", 9}, {"hash", std::string(64, 'f')}}}}}));
}

TEST(Manifest, IsRefusedIfItIsCutAtAnyByte) {
  const std::string text = encode(some_manifest());
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_EQ(code_of(decode_backup_manifest(std::string_view(text).substr(0, size))),
              kBackupDamaged)
        << size;
  }
}

TEST(Manifest, IsRefusedWithTheNameOfAMissingOrWrongMember) {
  const Json whole = Json::parse(encode(some_manifest()));
  for (const auto& [name, value] : whole.items()) {
    for (const Json& wrong : {Json(), Json(-1), Json("x"), Json::array({1})}) {
      Json json = whole;
      if (wrong.is_null()) {
        json.erase(name);
      } else {
        json[name] = wrong;
      }
      const auto read = decode_backup_manifest(dump_json(json));
      const bool is_other_text = name == "millrace" && wrong == "x";
      const bool may_be_missing =
          (name == "key" || name == "minor" || name == "since") && wrong.is_null();
      EXPECT_EQ(read.has_value(), is_other_text || may_be_missing) << name << " " << wrong;
      if (read) continue;
      EXPECT_EQ(read.error().code, kBackupDamaged);
      EXPECT_THAT(read.error().message, HasSubstr(name));
    }
  }
}

TEST(Manifest, IsRefusedIfItHasAnotherVersionOrANewerFormatOfTheStore) {
  Json json = Json::parse(encode(some_manifest()));
  json["version"] = 2;
  const auto other = decode_backup_manifest(dump_json(json));
  EXPECT_EQ(code_of(other), "backup.version");
  EXPECT_THAT(other.error().message, HasSubstr("has version 2, this release reads version 1"));
  json["version"] = 1;
  json["format"] = kStoreFormat + 1;
  const auto newer = decode_backup_manifest(dump_json(json));
  EXPECT_EQ(code_of(newer), "store.version");
  EXPECT_THAT(newer.error().message, HasSubstr("; millrace 0.1.0 made the backup; restore it with "
                                               "a newer release than "));
  json["format"] = kStoreFormat;
  json["minor"] = kStoreMinor + 1;
  const auto larger = decode_backup_manifest(dump_json(json));
  EXPECT_EQ(code_of(larger), "store.version") << "a later release may have tables that are lost";
  EXPECT_THAT(larger.error().message,
              HasSubstr(fmt::format("format {0}.{1}, this release reads up to format {0}.{2}",
                                    kStoreFormat, kStoreMinor + 1, kStoreMinor)));
  json["minor"] = "0";
  EXPECT_EQ(code_of(decode_backup_manifest(dump_json(json))), kBackupDamaged);
  json.erase("minor");
  const auto without = decode_backup_manifest(dump_json(json));
  ASSERT_TRUE(without) << "an earlier release writes no minor number";
  EXPECT_EQ(without->head.minor, 0U);
  json["format"] = 0;
  EXPECT_EQ(code_of(decode_backup_manifest(dump_json(json))), kBackupDamaged);
}

class BackupHeadTest : public BackupTest {};

TEST_F(BackupHeadTest, IsRefusedForAStoreOfALaterReleaseOrThatLacksRows) {
  const struct {
    const char* key;
    std::string value;
    const char* code;
  } cases[] = {{"format", rows::key_of(kStoreFormat + 1), "store.version"},
               {"minor", rows::key_of(kStoreMinor + 1), "store.version"},
               {"loading", "any", "store.joining"}};
  make_sound();
  for (const auto& one : cases) {
    tx->put(Table::kMeta, one.key, one.value);
    EXPECT_EQ(code_of(read_backup_head(*tx, 1)), one.code);
    tx->erase(Table::kMeta, one.key);
    tx->put(Table::kMeta, "format", rows::key_of(kStoreFormat));
  }
  EXPECT_EQ(code_of(read_backup_head(*tx, 1)), "");
}

TEST_F(BackupHeadTest, DescribesTheStoreAsOfTheCommit) {
  make_sound();
  const Snapshot view = Snapshot::take(*environment).value();
  const auto head = read_backup_head(view, view.commit());
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->store, "01020300000000000000000000000000");
  EXPECT_EQ(head->format, kStoreFormat);
  EXPECT_GT(head->commit, 0U);
  EXPECT_EQ(head->cursor.stream_created, 7);
  EXPECT_EQ(head->cursor.sequence, 3U);
  EXPECT_TRUE(opens_key_row(environment->seal(), head->key_row));
  EXPECT_FALSE(opens_key_row(Seal::make(), head->key_row));
}

TEST_F(BackupHeadTest, HasTheNumberOfItsCommit) {
  make_sound();
  const uint64_t before = Snapshot::take(*environment).value().commit();
  write_engine_time(*tx, from_millis(1'630'497'700'000));
  commit();
  EXPECT_EQ(Snapshot::take(*environment).value().commit(), before + 1);
}

TEST_F(BackupHeadTest, IsNotMadeOfAStoreWithoutRows) {
  const Snapshot view = Snapshot::take(*environment).value();
  EXPECT_EQ(code_of(read_backup_head(view, 0)), "store.not_found");
}

}  // namespace
}  // namespace millrace
