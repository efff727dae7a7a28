#include "orchestrator/backup/manifest.h"

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

constexpr size_t kHashDigits = 64;
constexpr size_t kIdDigits = 32;

tl::unexpected<Error> wrong_member(std::string_view name, std::string_view expected) {
  return fail(std::string(kBackupDamaged),
              fmt::format("the head or manifest of the backup is damaged: \"{}\" is missing or is "
                          "not {}; use another backup",
                          name, expected));
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

const Json* find_member(const Json& object, std::string_view name) {
  const auto found = object.find(std::string(name));
  return found == object.end() ? nullptr : &*found;
}

Result<uint64_t> number_member(const Json& object, std::string_view name) {
  const Json* const value = find_member(object, name);
  if (value != nullptr && value->is_number_unsigned()) return value->get<uint64_t>();
  return wrong_member(name, "a whole number of at least 0");
}

Result<std::string> text_member(const Json& object, std::string_view name) {
  const Json* const value = find_member(object, name);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  return wrong_member(name, "a text");
}

Result<TimePoint> time_member(const Json& object, std::string_view name) {
  const std::string text = TRY(text_member(object, name));
  const Result<TimePoint> time = parse_rfc3339(text);
  if (time) return *time;
  return wrong_member(name, "a time (RFC 3339)");
}

Result<std::string> hex_member(const Json& object, std::string_view name, size_t digits) {
  std::string text = TRY(text_member(object, name));
  if (text.size() == digits && is_hex(text)) return text;
  return wrong_member(name, fmt::format("{} hexadecimal digits", digits));
}

Result<Cursor> cursor_member(const Json& object) {
  const Json* const json = find_member(object, "cursor");
  if (json == nullptr || !json->is_object()) return wrong_member("cursor", "an object");
  const uint64_t created = TRY(number_member(*json, "streamCreated"));
  if (created > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return wrong_member("streamCreated", "a time in nanoseconds since 1970");
  }
  Cursor cursor{.stream_created = static_cast<int64_t>(created)};
  cursor.sequence = TRY(number_member(*json, "sequence"));
  cursor.stamped = TRY(time_member(*json, "stamped"));
  return cursor;
}

/// The bytes of key_row; empty: the store needs no key.
Result<std::string> key_member(const Json& object) {
  if (find_member(object, "key") == nullptr) return std::string();
  const std::string digits = TRY(text_member(object, "key"));
  std::string bytes(digits.size() / 2, '\0');
  size_t size = 0;
  const bool is_row = !digits.empty() && digits.size() % 2 == 0 && is_hex(digits) &&
                      sodium_hex2bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                                     digits.data(), digits.size(), nullptr, &size, nullptr) == 0;
  if (is_row) return bytes;
  return wrong_member("key", "a row in hexadecimal digits");
}

Result<RowCounts> rows_member(const Json& object) {
  const Json* const json = find_member(object, "rows");
  if (json == nullptr || !json->is_object()) return wrong_member("rows", "an object");
  RowCounts rows;
  for (const auto& [table, count] : json->items()) {
    if (!count.is_number_unsigned()) return wrong_member("rows", "an object with numbers");
    rows.emplace(table, count.get<uint64_t>());
  }
  return rows;
}

Json to_object(const BackupHead& head) {
  Json json = {{"version", kBackupVersion},
               {"store", head.store},
               {"format", head.format},
               {"minor", head.minor},
               {"commit", head.commit},
               {"cursor",
                {{"streamCreated", static_cast<uint64_t>(head.cursor.stream_created)},
                 {"sequence", head.cursor.sequence},
                 {"stamped", format_rfc3339(head.cursor.stamped)}}},
               {"time", format_rfc3339(head.time)},
               {"millrace", head.release}};
  if (!head.key_row.empty()) json["key"] = to_hex(head.key_row);
  if (head.since) json["since"] = format_rfc3339(*head.since);
  return json;
}

}  // namespace

Result<BackupHead> read_backup_head(const View& view, uint64_t commit) {
  TRY(check_known_numbers(view));
  const auto format = TRY(read_format(view));
  if (!format) {
    return fail("store.not_found", "the store has no rows yet, so there is nothing to back up");
  }
  BackupHead head{.format = *format, .minor = TRY(read_minor(view)), .commit = commit};
  if (const auto identity = TRY(read_store_identity(view))) head.store = to_hex(identity->id);
  head.cursor = TRY(read_cursor(view));
  head.key_row = TRY(read_key_row(view)).value_or("");
  return head;
}

Json encode(const BackupHead& head) { return to_object(head); }

Json summary_of(const BackupHead& head) {
  Json summary = encode(head);
  summary.erase("version");
  summary.erase("key");
  summary.erase("since");
  return summary;
}

Result<BackupHead> decode_backup_head(const Json& json) {
  if (!json.is_object()) return wrong_member("version", "a member of a JSON object");
  const uint64_t version = TRY(number_member(json, "version"));
  if (version != kBackupVersion) {
    return fail("backup.version",
                fmt::format("the backup has version {}, this release reads version {}; restore it "
                            "with the release that made it, or a newer one",
                            version, kBackupVersion));
  }
  BackupHead head;
  head.store = TRY(text_member(json, "store"));
  if (!head.store.empty()) head.store = TRY(hex_member(json, "store", kIdDigits));
  head.format = TRY(number_member(json, "format"));
  if (find_member(json, "minor") != nullptr) head.minor = TRY(number_member(json, "minor"));
  head.commit = TRY(number_member(json, "commit"));
  head.cursor = TRY(cursor_member(json));
  head.time = TRY(time_member(json, "time"));
  head.release = TRY(text_member(json, "millrace"));
  head.key_row = TRY(key_member(json));
  if (find_member(json, "since") != nullptr) head.since = TRY(time_member(json, "since"));
  if (head.format == 0) return wrong_member("format", "the number of a format, from 1 on");
  if (head.format <= kStoreFormat && head.minor <= kStoreMinor) return head;
  return fail(
      "store.version",
      fmt::format(
          "the store of the backup has format {}.{}, this release reads up to "
          "format {}.{}; millrace {} made the backup; restore it with a newer release than {}",
          head.format, head.minor, kStoreFormat, kStoreMinor, excerpt(head.release),
          MILLRACE_VERSION));
}

std::string encode(const BackupManifest& manifest) {
  Json json = to_object(manifest.head);
  json["rows"] = Json::object();
  for (const auto& [table, count] : manifest.rows) json["rows"][table] = count;
  json["chunks"] = Json::array();
  for (const ChunkEntry& chunk : manifest.chunks) {
    json["chunks"].push_back({{"bytes", chunk.bytes}, {"hash", chunk.hash}});
  }
  return dump_json(json) + "\n";
}

Result<BackupManifest> decode_backup_manifest(std::string_view text) {
  const Result<Json> json = parse_own_json(text);
  if (!json) {
    return fail(std::string(kBackupDamaged),
                fmt::format("the manifest of the backup is damaged: {}; use another backup",
                            json.error().message));
  }
  BackupManifest manifest{.head = TRY(decode_backup_head(*json))};
  manifest.rows = TRY(rows_member(*json));
  const Json* const chunks = find_member(*json, "chunks");
  if (chunks == nullptr || !chunks->is_array()) return wrong_member("chunks", "a list");
  for (const Json& one : *chunks) {
    if (!one.is_object()) return wrong_member("chunks", "a list of objects");
    ChunkEntry entry{.bytes = TRY(number_member(one, "bytes"))};
    entry.hash = TRY(hex_member(one, "hash", kHashDigits));
    manifest.chunks.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace millrace
