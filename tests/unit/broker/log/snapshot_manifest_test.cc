#include "broker/log/snapshot_manifest.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/json.h"
#include "tests/unit/broker/log/log_makers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

// The MAC is that of another implementation: Python's hashlib.blake2b.
constexpr const char* kManifest =
    R"({"bytes":40,"chunks":2,"first":11,"format":7,"from":{)"
    R"("chain":"00000000000000000000000000000003","commit":3,"epoch":1,)"
    R"("incarnation":"00000000000000000000000000000001",)"
    R"("node":"00000000000000000000000000000002","sequence":5},)"
    R"("hash":"abababababababababababababababababababababababababababababababab",)"
    R"("id":"00000000000000000000000000000007","mac":"79acce9b421baa6f23ba60c77ee887ed",)"
    R"("messages":3,"node":"00000000000000000000000000000005","rows":{"instances":4,"meta":2},)"
    R"("to":{"chain":"00000000000000000000000000000006","commit":1,"epoch":2,)"
    R"("incarnation":"00000000000000000000000000000004",)"
    R"("node":"00000000000000000000000000000005","sequence":9},"version":"0.1.0"})";

SnapshotManifest manifest_of_seven() {
  return {.id = to_hex(incarnation_of(7)),
          .from = {.sequence = 5,
                   .name = {.epoch = 1, .commit = 3, .incarnation = incarnation_of(1)},
                   .node = incarnation_of(2),
                   .chain = incarnation_of(3)},
          .to = {.sequence = 9,
                 .name = {.epoch = 2, .commit = 1, .incarnation = incarnation_of(4)},
                 .node = incarnation_of(5),
                 .chain = incarnation_of(6)},
          .chunks = 2,
          .messages = 3,
          .bytes = 40,
          .rows = {{"instances", 4}, {"meta", 2}},
          .format = 7,
          .hash = "abababababababababababababababababababababababababababababababab",
          .first_sequence = 11,
          .node = to_hex(incarnation_of(5)),
          .version = "0.1.0"};
}

/// The members with another MAC, which fits.
std::string with_new_mac(Json members) {
  members.erase("mac");
  members["mac"] = to_hex(keyed_fingerprint(kLogKey, {"millrace snapshot", dump_json(members)}));
  return dump_json(members);
}

TEST(SnapshotManifest, IsAJsonObjectWithAMac) {
  EXPECT_EQ(encode_snapshot_manifest(manifest_of_seven(), kLogKey), kManifest);
  EXPECT_EQ(decode_snapshot_manifest(kManifest, kLogKey), manifest_of_seven());
}

TEST(SnapshotManifest, MayBeABase) {
  SnapshotManifest base = manifest_of_seven();
  base.from = {};
  base.to = {};
  EXPECT_EQ(decode_snapshot_manifest(encode_snapshot_manifest(base, kLogKey), kLogKey), base);
}

TEST(SnapshotManifest, MayHaveMembersOfLaterReleases) {
  Json members = *parse_json(kManifest);
  members["later"] = {{"a", {1.5}}};
  EXPECT_EQ(decode_snapshot_manifest(with_new_mac(members), kLogKey), manifest_of_seven());
}

TEST(SnapshotManifest, IsForeignWithoutTheMacOfTheKey) {
  struct Row {
    std::string body;
    std::string key;
    const char* expected;
  };
  std::string changed = kManifest;
  changed.replace(changed.find("\"messages\":3"), 12, "\"messages\":4");
  Json added = *parse_json(kManifest);
  added["later"] = 1;
  const std::vector<Row> rows = {
      {kManifest, std::string(32, 'o'), "has another MAC"},
      {changed, kLogKey, "has another MAC"},
      {dump_json(added), kLogKey, "has another MAC"},
      {R"({"mac":1})", kLogKey, "has another MAC"},
      {R"({"id":"1"})", kLogKey, "has no member `mac`"},
      {"[]", kLogKey, "is not an object"},
      {"{", kLogKey, "is not JSON"},
      {"", kLogKey, "is not JSON"},
      {std::string(65'537, ' '), kLogKey, "has 65537 bytes; expected at most 65536"},
  };
  for (const Row& row : rows) {
    const auto read = decode_snapshot_manifest(row.body, row.key);
    ASSERT_FALSE(read) << row.body;
    EXPECT_EQ(read.error().code, "snapshot.foreign") << row.body;
    EXPECT_THAT(read.error().message, HasSubstr(row.expected));
  }
}

TEST(SnapshotManifest, IsUnreadableInAnotherForm) {
  struct Row {
    const char* changes;
    const char* expected;
  };
  const std::vector<Row> rows = {
      {R"({"id":"7"})", "`id` that is not 32 lower-case hexadecimal digits"},
      {R"({"hash":"ab"})", "`hash` that is not 64 lower-case hexadecimal digits"},
      {R"({"node":7})", "`node` that is not a text"},
      {R"({"version":null})", "has no member `version`"},
      {R"({"chunks":-1})", "`chunks` that is not a whole number of at least 0"},
      {R"({"messages":null})", "has no member `messages`"},
      {R"({"bytes":"1"})", "`bytes` that is not a whole number"},
      {R"({"format":1.5})", "`format` that is not a whole number"},
      {R"({"first":null})", "has no member `first`"},
      {R"({"rows":[]})", "`rows` that is not an object"},
      {R"({"rows":{"meta":-2}})", "`meta` that is not a whole number"},
      {R"({"from":5})", "`from` that is not an object"},
      {R"({"to":{"sequence":null}})", "has no member `sequence`"},
      {R"({"to":{"chain":"6"}})", "`chain` that is not 32 lower-case hexadecimal digits"},
      {R"({"from":{"sequence":10}})", "begins at 10 of the log and ends before that, at 9"},
  };
  for (const Row& row : rows) {
    Json members = *parse_json(kManifest);
    members.merge_patch(*parse_json(row.changes));
    const auto read = decode_snapshot_manifest(with_new_mac(members), kLogKey);
    ASSERT_FALSE(read) << row.changes;
    EXPECT_EQ(read.error().code, "snapshot.unreadable") << row.changes;
    EXPECT_THAT(read.error().message, HasSubstr(row.expected)) << row.changes;
  }
}

}  // namespace
}  // namespace millrace
