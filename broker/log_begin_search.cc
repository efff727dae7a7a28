#include "broker/log_begin_search.h"

#include <algorithm>
#include <utility>

#include "broker/log/log_message.h"
#include "broker/log_stream.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

/// How many foreign messages in a row are passed over.
constexpr uint64_t kMostForeign = 64;

struct ReadMessage {
  uint64_t sequence = 0;
  TimePoint stamped{};
  LogMessage message;
};

/// The latest message of the log from `first` to `at`; nullopt: there is none among the last ones.
Result<std::optional<ReadMessage>> message_up_to(Connection& connection, const StreamSettings& log,
                                                 std::string_view key, uint64_t first,
                                                 uint64_t at) {
  for (uint64_t looked = 0; looked < kMostForeign && at >= first; ++looked, --at) {
    Result<StoredMessage> stored = fetch_stored(connection, log.name, {{"seq", at}});
    if (!stored && stored.error().code == "broker.not_found") continue;
    if (!stored) return tl::unexpected(std::move(stored).error());
    Result<LogMessage> message =
        read_log_message(key, stored->sequence, std::move(stored->message));
    if (message) {
      return ReadMessage{stored->sequence, broker_time(stored->stamped), *std::move(message)};
    }
  }
  return std::nullopt;
}

}  // namespace

// The epochs of the messages only grow, so the first message of an epoch is found by bisection.
Result<std::optional<StoredLogBegin>> find_log_begin(Connection& connection,
                                                     const StreamSettings& log,
                                                     std::string_view key,
                                                     const LogPosition& position) {
  if (position.sequence == 0) return std::nullopt;
  const StreamInfo stream = TRY(find_log(connection, log));
  uint64_t first = std::max<uint64_t>(stream.first_sequence, 1);
  uint64_t last = position.sequence;
  std::optional<ReadMessage> found;
  while (first <= last) {
    const uint64_t middle = first + (last - first) / 2;
    std::optional<ReadMessage> read = TRY(message_up_to(connection, log, key, first, middle));
    if (!read || read->message.epoch < position.name.epoch) {
      first = middle + 1;
    } else {
      last = read->sequence - 1;
      found = std::move(read);
    }
  }
  if (!found || found->message.kind != LogKind::kBegin) return std::nullopt;
  const Result<LogBegin> begin = decode_log_begin(found->message.payload);
  if (!begin || found->message.epoch != position.name.epoch) return std::nullopt;
  return StoredLogBegin{found->sequence, found->stamped, *begin};
}

Result<bool> is_log_of_key(Connection& connection, const StreamSettings& log,
                           std::string_view key) {
  const StreamInfo info = TRY(find_log(connection, log));
  const uint64_t first = std::max<uint64_t>(info.first_sequence, 1);
  if (info.last_sequence < first) return true;
  return TRY(message_up_to(connection, log, key, first, info.last_sequence)).has_value();
}

Result<LogStart> find_log_start(Connection& connection, const StreamSettings& log,
                                std::string_view key, uint64_t behind) {
  const StreamInfo info = TRY(find_log_behind(connection, log, behind));
  LogStart start{.first = std::max<uint64_t>(info.first_sequence, 1)};
  const uint64_t last = std::min(info.last_sequence, kMostForeign);
  for (uint64_t at = 1; start.first == 1 && at <= last; ++at) {
    StoredMessage stored = TRY(fetch_stored(connection, log.name, {{"seq", at}}));
    const Result<LogMessage> message = read_log_message(key, at, std::move(stored.message));
    if (!message) continue;
    if (message->kind == LogKind::kBegin) start.base = TRY(decode_log_begin(message->payload)).base;
    return start;
  }
  return start;
}

}  // namespace millrace
