// Replay rows: the replays of ranges of the event stream, with their progress, so that a replay
// continues after a restart. Rows `replay/` of table `meta`. A damaged row gives an error that
// names it (damage.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfReplays = 3;

/// The id of a replay: random bits.
using ReplayId = std::array<uint8_t, 16>;

struct ReplayRecord {
  // On disk: never renumber.
  enum class State : uint8_t { kRunning = 0, kDone = 1, kStopped = 2, kFailed = 3 };
  State state = State::kRunning;
  TimePoint created_at;
  int64_t stream_created = 0;      ///< which stream, as Cursor::stream_created
  uint64_t first = 0;              ///< the range began at this sequence
  uint64_t next = 0;               ///< all messages before this sequence are done
  uint64_t last = 0;               ///< the range ends with this sequence
  std::optional<TimePoint> since;  ///< only messages that were stored then or later
  std::optional<TimePoint> until;  ///< only messages that were stored before
  std::string type;                ///< a glob; empty: all
  std::string source;              ///< a glob; empty: all
  std::string target;              ///< the text of kTargetAttribute; empty: none
  uint32_t rate = 0;               ///< events per second, at least 1
  bool is_dry = false;             ///< only counts
  uint64_t matched = 0;
  uint64_t sent = 0;
  uint64_t refused = 0;  ///< events that would be too large with the attributes of a replay
  uint64_t lost = 0;     ///< sequences that the stream removed before they were read
  Error error;           ///< of kFailed

  bool operator==(const ReplayRecord&) const = default;
};
std::string encode(const ReplayRecord& record);
/// Decoding fails with `store.corrupt`.
Result<ReplayRecord> decode_replay(std::string_view bytes);

struct ReplayPlace {
  NamespaceNumber ns{};
  ReplayId id{};

  auto operator<=>(const ReplayPlace&) const = default;
};
/// The place in the key of a row; nullopt: the key of a replay has another form.
std::optional<ReplayPlace> replay_place(std::string_view key);

Result<std::optional<ReplayRecord>> read_replay(const View& view, const ReplayPlace& place);
void write_replay(Transaction& tx, const ReplayPlace& place, const ReplayRecord& record);
void erase_replay(Transaction& tx, const ReplayPlace& place);
/// Visits all replays, by namespace and id.
Status each_replay(const View& view,
                   const std::function<void(const ReplayPlace&, const ReplayRecord&)>& see,
                   const OnDamage& damaged = nullptr);

}  // namespace millrace
