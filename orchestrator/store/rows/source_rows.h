// Source rows: the sources of the namespaces (rows `source/` of table `meta`), and which sequences
// of their origin streams were applied (rows `origin/`). An event of a source and the row of its
// origin stream change in one commit. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/applied_sequences.h"
#include "model/instance.h"
#include "model/origin_mark.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfSources = 5;

/// A source as it was applied last.
struct SourceRecord {
  OriginStream origin;   ///< which stream is read now
  TimePoint created_at;  ///< when the source got its id
  TimePoint applied_at;  ///< when the settings were applied last
  bool is_paused = false;
  std::string stream;    ///< the name of the origin stream, as in the settings
  std::string begin;     ///< where reading began, as JSON text of the settings
  std::string settings;  ///< JSON text (orchestrator/definition/source_settings.h)

  bool operator==(const SourceRecord&) const = default;
};
std::string encode(const SourceRecord& record);
/// Decoding fails with `store.corrupt`.
Result<SourceRecord> decode_source(std::string_view bytes);

struct SourcePlace {
  NamespaceNumber ns{};
  std::string name;

  auto operator<=>(const SourcePlace&) const = default;
};
/// The place in the key of a row; nullopt: the key of a source has another form.
std::optional<SourcePlace> source_place(std::string_view key);

Result<std::optional<SourceRecord>> read_source(const View& view, const SourcePlace& place);
void write_source(Transaction& tx, const SourcePlace& place, const SourceRecord& record);
void erase_source(Transaction& tx, const SourcePlace& place);
/// Visits all sources, by namespace and name.
Status each_source(const View& view,
                   const std::function<void(const SourcePlace&, const SourceRecord&)>& see,
                   const OnDamage& damaged = nullptr);
/// The same, for the sources of one namespace.
Status each_source_of(const View& view, NamespaceNumber ns,
                      const std::function<void(const SourcePlace&, const SourceRecord&)>& see,
                      const OnDamage& damaged = nullptr);

/// How far an origin stream was applied.
struct OriginRecord {
  NamespaceNumber ns{};      ///< of the source
  AppliedSequences applied;  ///< also the messages that became dead letters
  TimePoint stamped;         ///< when the message `applied.highest()` was stored; 0: none was read
  uint64_t events = 0;       ///< how many events were applied
  uint64_t repeated = 0;     ///< how many repetitions of events were dropped
  uint64_t refused = 0;      ///< how many messages became dead letters
  uint64_t refused_sequence = 0;  ///< of the newest message that became a dead letter
  TimePoint refused_at;           ///< when that message was refused
  Error refusal;                  ///< why; an empty code: no message was refused

  bool operator==(const OriginRecord&) const = default;
};
std::string encode(const OriginRecord& record);
/// Decoding fails with `store.corrupt`.
Result<OriginRecord> decode_origin(std::string_view bytes);

/// The origin stream in the key of a row; nullopt: the key of an origin has another form.
std::optional<OriginStream> origin_place(std::string_view key);

Result<std::optional<OriginRecord>> read_origin(const View& view, const OriginStream& origin);
void write_origin(Transaction& tx, const OriginStream& origin, const OriginRecord& record);
/// Visits the rows of one source, by the creation of the stream and its round.
Status each_origin_of(const View& view, const SourceId& source,
                      const std::function<void(const OriginStream&, const OriginRecord&)>& see,
                      const OnDamage& damaged = nullptr);
void erase_origin(Transaction& tx, const OriginStream& origin);

}  // namespace millrace
