#include "orchestrator/backup/restored_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/transaction.h"
#include "os/read_file.h"
#include "os/write_file.h"

namespace millrace {
namespace {

constexpr const char* kRestoredFile = "restored";
constexpr size_t kMostRestoredBytes = 65'536;
/// The end of the year 9999 in milliseconds: times of a record are before it, and as near to 1970,
/// so that a time that is computed from them is one, too.
constexpr int64_t kEndOfTimes = 253'402'300'800'000;

Json encode_restored(const RestoredStreams& streams) {
  Json json = {{"since", to_millis(streams.since)}, {"ends", Json::object()}};
  if (streams.opened) json["opened"] = to_millis(*streams.opened);
  for (const auto& [name, end] : streams.ends) {
    json["ends"][name] = {{"created", end.created}, {"lastSequence", end.last_sequence}};
  }
  return json;
}

/// Whether the JSON is one that encode_restored() returns.
bool is_restored_record(const Json& json) {
  const auto has_number = [](const Json& object, const char* name) {
    return object.is_object() && object.contains(name) && object[name].is_number_integer();
  };
  const auto has_time = [&](const char* name) {
    if (!has_number(json, name)) return false;
    const Json& time = json[name];
    if (time.is_number_unsigned()) return time.get<uint64_t>() < uint64_t{kEndOfTimes};
    return time.get<int64_t>() > -kEndOfTimes;
  };
  if (!has_time("since") || !json.contains("ends") || !json["ends"].is_object()) return false;
  if (json.contains("opened") && !has_time("opened")) return false;
  const Json& ends = json["ends"];
  for (const Json& end : ends) {
    if (!has_number(end, "created") || !has_number(end, "lastSequence") ||
        !end["lastSequence"].is_number_unsigned()) {
      return false;
    }
  }
  return true;
}

RestoredStreams decode_restored(const Json& json) {
  RestoredStreams streams{.since = from_millis(json["since"].get<int64_t>())};
  if (json.contains("opened")) streams.opened = from_millis(json["opened"].get<int64_t>());
  const Json& ends = json["ends"];
  for (const auto& [name, end] : ends.items()) {
    streams.ends[name] = {.created = end["created"].get<int64_t>(),
                          .last_sequence = end["lastSequence"].get<uint64_t>()};
  }
  return streams;
}

}  // namespace

Result<std::optional<RestoredStreams>> read_restored_file(const std::filesystem::path& data) {
  const std::filesystem::path path = data / kRestoredFile;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::nullopt;
  const std::string text = TRY(read_file(path, kMostRestoredBytes));
  const Result<Json> json = parse_own_json(text);
  if (!json || !is_restored_record(*json)) {
    return fail("store.corrupt",
                fmt::format("the file {} does not have the record of a restored store; if you "
                            "remove it, messages that another millrace sent after the backup may "
                            "be sent again",
                            path.string()));
  }
  return decode_restored(*json);
}

Result<std::optional<TimePoint>> read_restored_since(const std::filesystem::path& data,
                                                     TimePoint now) {
  const std::optional<RestoredStreams> streams = TRY(read_restored_file(data));
  if (!streams || is_over(*streams, now)) return std::nullopt;
  return streams->since;
}

Status write_restored_file(const std::filesystem::path& data, const RestoredStreams& streams) {
  const std::filesystem::path path = data / kRestoredFile;
  const int error = replace_file(path, dump_json(encode_restored(streams)) + "\n");
  if (error == 0) return {};
  return fail("store.io", fmt::format("writing {}: {}", path.string(), std::strerror(error)));
}

Result<std::optional<RestoredStreams>> find_restored_streams(Environment& environment,
                                                             TimePoint now) {
  const std::filesystem::path& data = environment.folder();
  const Snapshot view = TRY(Snapshot::take(environment));
  const bool is_led = environment.is_led();
  TRY(is_led ? check_known_numbers(view) : check_known_format(view));
  std::optional<RestoredStreams> streams = TRY(read_restored_file(data));
  const std::optional<StoreIdentity> known = TRY(read_store_identity(view));
  const std::string mark = TRY(environment.mark());
  if (!is_led && known && known->folder != mark) {
    const Cursor cursor = TRY(read_cursor(view));
    RestoredStreams copied = restored_at(cursor);
    if (streams) copied.since = std::min(copied.since, streams->since);
    streams = copied;
    TRY(write_restored_file(data, *streams));
  }
  if (!streams || !is_over(*streams, now)) return streams;
  std::error_code failed;
  std::filesystem::remove(data / kRestoredFile, failed);
  if (!failed) return std::nullopt;
  return fail("store.io",
              fmt::format("removing {}: {}", (data / kRestoredFile).string(), failed.message()));
}

}  // namespace millrace
