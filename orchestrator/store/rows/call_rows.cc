#include "orchestrator/store/rows/call_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

/// Since version 2 a call's row has its task and timeouts, since version 3 its latest error. Only a
/// call with progress has version 4.
constexpr uint8_t kCallVersion = 4;
constexpr uint8_t kVersionWithoutProgress = 3;

std::string call_key(const std::string& prefix, size_t index) {
  Writer key;
  key.raw(part_key(prefix, Part::kCall));
  key.u32(static_cast<uint32_t>(index));
  return key.take();
}

/// The JSON of a call. Most calls have no result yet, and many need their input no more, so all of
/// them share one null.
LazyJson get_call_json(Reader& reader) {
  static const LazyJson kNull = LazyJson::of_text("null");
  Reader ahead = reader;
  if (ahead.bytes() != "null") return get_json(reader);
  reader = ahead;
  return kNull;
}

bool stands_as(const Call& call, const Call& row) {
  return call.status == row.status && call.attempt == row.attempt && call.id == row.id &&
         call.retry_at == row.retry_at && call.started == row.started &&
         call.deadlines == row.deadlines && call.progress == row.progress &&
         call.input.shared_text() == row.input.shared_text() &&
         call.result.shared_text() == row.result.shared_text();
}

}  // namespace

std::string encode_call(const Call& call) {
  Writer writer = begin_record(call.progress ? kCallVersion : kVersionWithoutProgress);
  put_enum(writer, call.status);
  writer.varint(call.attempt);
  writer.id(call.id.bytes);
  put_optional(writer, call.retry_at, put_time);
  writer.bytes(call.input.text());
  writer.bytes(call.result.text());
  writer.boolean(call.outside);
  writer.boolean(call.started);
  put_optional(writer, call.first_at, put_time);
  for (const auto& deadline : call.deadlines) put_optional(writer, deadline, put_time);
  put_optional(writer, call.last_error, [](Writer& to, const CallFailure& failure) {
    put_error(to, failure.error);
    put_time(to, failure.at);
  });
  if (call.progress) {
    writer.bytes(call.progress->json);
    put_time(writer, call.progress->at);
  }
  return writer.take();
}

Result<Call> decode_call(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = read_version(reader, kCallVersion);
  Call call;
  call.status = get_enum(reader, Call::Status::kFailed);
  call.attempt = get_u32(reader);
  call.id.bytes = reader.id();
  call.retry_at = get_optional(reader, get_time);
  call.input = get_call_json(reader);
  call.result = get_call_json(reader);
  if (version >= 2) {
    call.outside = reader.boolean();
    call.started = reader.boolean();
    call.first_at = get_optional(reader, get_time);
    for (auto& deadline : call.deadlines) deadline = get_optional(reader, get_time);
  }
  if (version >= 3) {
    call.last_error = get_optional(reader, [](Reader& from) {
      Error error = get_error(from);
      return CallFailure{.error = std::move(error), .at = get_time(from)};
    });
  }
  if (version >= kCallVersion) {
    std::string json = get_json(reader).text();
    call.progress = CallProgress{.json = std::move(json), .at = get_time(reader)};
  }
  return end_record(reader, std::move(call), "call");
}

namespace {

tl::unexpected<Error> missing_call(Table table, std::string_view key, size_t calls) {
  return missing_row(table, key, fmt::format(", but the head has {} calls", calls));
}

/// Reads the calls from the index `first` on into `calls`; the head has `count` calls. One scan is
/// several times faster than a lookup of each row.
Status fill_calls(const View& view, Table table, const std::string& prefix, size_t count,
                  size_t first, std::vector<Call>& calls) {
  if (calls.empty()) return {};
  const std::string part = part_key(prefix, Part::kCall);
  size_t next = 0;
  TRY(walk(view, table, part, first == 0 ? std::string() : call_key(prefix, first),
           [&](std::string_view key, std::string_view value) -> Result<bool> {
             Reader index(key.substr(part.size()));
             const bool is_next =
                 next < calls.size() && index.u32() == first + next && index.done();
             if (!is_next) return false;
             calls[next++] = TRY(decode(view, table, key, value, decode_call));
             return true;
           }));
  if (next < calls.size()) return missing_call(table, call_key(prefix, first + next), count);
  return {};
}

}  // namespace

Status read_calls(const View& view, Table table, const std::string& prefix,
                  std::vector<Call>& calls) {
  return fill_calls(view, table, prefix, calls.size(), 0, calls);
}

Result<std::vector<Call>> read_calls_from(const View& view, Table table, const std::string& prefix,
                                          size_t count, size_t first, size_t most) {
  std::vector<Call> calls(first < count ? std::min(most, count - first) : 0);
  TRY(fill_calls(view, table, prefix, count, first, calls));
  return calls;
}

Status read_call(const View& view, Table table, const std::string& prefix, size_t index,
                 std::vector<Call>& calls) {
  if (index >= calls.size()) return {};
  const std::string key = call_key(prefix, index);
  auto call = TRY(read(view, table, key, decode_call));
  if (!call) return missing_call(table, key, calls.size());
  calls[index] = *std::move(call);
  return {};
}

namespace {

/// The size of the rows of the calls from the index `first` on, not sealed. One scan is several
/// times faster than a lookup of each row.
uint64_t size_from(const View& view, const std::string& prefix, size_t first) {
  uint64_t bytes = 0;
  view.scan(Table::kLive, part_key(prefix, Part::kCall), call_key(prefix, first),
            Direction::kForward, [&](std::string_view, std::string_view row) {
              bytes += Seal::plain_size(row);
              return true;
            });
  return bytes;
}

}  // namespace

uint64_t write_calls(Transaction& tx, const std::string& prefix, const Instance& instance,
                     const ChangedCalls& changed, uint64_t bytes, std::vector<size_t>* written) {
  const std::vector<Call>& calls = instance.calls;
  const std::vector<Call>& before = changed.before;
  const auto leave_out = [&](const std::string& key) {
    const auto row = tx.get(Table::kLive, key);
    if (row) bytes -= std::min<uint64_t>(bytes, Seal::plain_size(*row));
  };
  const auto write = [&](size_t i) {
    if (i < before.size() && stands_as(calls[i], before[i])) return;
    const std::string key = call_key(prefix, i);
    if (i < before.size()) leave_out(key);
    std::string encoded = encode_call(calls[i]);
    bytes += encoded.size();
    rows::put(tx, Table::kLive, key, std::move(encoded), instance.sealed | calls[i].sealed);
    if (written != nullptr) written->push_back(i);
  };
  if (changed.some != nullptr && calls.size() <= before.size()) {
    for (const size_t i : *changed.some) {
      if (i < calls.size()) write(i);
    }
  } else {
    for (size_t i = 0; i < calls.size(); ++i) write(i);
  }
  if (!calls.empty() && calls.size() < before.size()) {
    bytes -= std::min(bytes, size_from(tx, prefix, calls.size()));
  }
  for (size_t i = calls.size(); i < before.size(); ++i) {
    tx.erase(Table::kLive, call_key(prefix, i));
  }
  return calls.empty() ? 0 : bytes;
}

}  // namespace millrace
