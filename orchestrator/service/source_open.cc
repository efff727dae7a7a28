// Where a source begins to read its origin stream: behind the stored position, or, if the stream
// was created again or was rolled back, at the place that the engine is asked to store.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orchestrator/batch/source_consumer.h"
#include "orchestrator/service/source_origin.h"
#include "orchestrator/service/source_run.h"

namespace millrace {

/// The origin stream; nullopt: the source has no stream of millrace any more. A stream of millrace
/// that is missing is made again, because every message on its subjects is lost until then.
Result<std::optional<OriginState>> SourceRun::origin_state() {
  const OriginState state = TRY(ensure_origin(parts_.origins, ns_, place_.name, settings_));
  if (!settings_.has_source_stream()) return std::optional(state);
  // The source may have been deleted since its rows were read; then its stream was deleted, too.
  const std::optional<Rows> now = TRY(read_rows());
  if (now && now->source.stream.empty()) return std::optional(state);
  TRY(parts_.origins.remove_source_stream(ns_, place_.name));
  return std::optional<OriginState>();
}

/// Opens the reader behind the stored position. Returns false if the source reads from another
/// place now, so that its rows must be read again.
Result<bool> SourceRun::open(const Rows& rows) {
  const std::optional<OriginState> found = TRY(origin_state());
  if (!found) return false;
  const OriginState& state = *found;
  if (state.created != origin_.created) {
    // What it has removed before is of no source: it may be a mirror, whose first sequence is that
    // of its stream.
    const uint64_t before = settings_.consume ? 0 : std::max<uint64_t>(state.first, 1) - 1;
    TRY(move(rows, state.created, before,
             {"source.recreated",
              fmt::format("stream {} was deleted and created again; it is read from its first "
                          "message",
                          stream_)}));
    count(&SourceFigures::recreated, &SourceTotals::recreated);
    return false;
  }
  if (const auto floor = TRY(rolled_back_to(rows, state))) {
    TRY(move(rows, state.created, *floor,
             {"source.rolled_back",
              fmt::format("stream {} has lost messages up to {} that were applied; the messages "
                          "after {} are read",
                          stream_, rows.origin.applied.highest(), *floor)}));
    count(&SourceFigures::rolled_back, &SourceTotals::rolled_back);
    return false;
  }
  const uint64_t floor = rows.origin.applied.floor();
  count_gaps(state);
  count_gone(rows, state);
  reader_ = TRY(parts_.origins.open({.stream = stream_,
                                     .subjects = origin_filters(settings_),
                                     .consumer = consumer_name(ns_, place_.name, origin_.source),
                                     .after = floor,
                                     .consumes = settings_.consume,
                                     .stays = settings_.consume && state.needs_interest(),
                                     .batch = batch_of(settings_.rate)}));
  position_ = floor;
  careful_ = most_unapplied(settings_.rate);
  event_stream_ = rows.cursor.stream_created;
  count(&SourceFigures::consumers, &SourceTotals::consumers);
  return true;
}

/// The sequence behind which an origin stream that has lost its newest messages is read; nullopt:
/// it has lost none that were applied.
Result<std::optional<uint64_t>> SourceRun::rolled_back_to(const Rows& rows,
                                                          const OriginState& state) {
  const uint64_t highest = rows.origin.applied.highest();
  const TimePoint stamped = rows.origin.stamped;
  if (highest == 0) return std::optional<uint64_t>();
  // A consumed stream has lost the messages that are acknowledged, also the highest one. All that
  // it has are read; those that were applied before have the ids of then.
  if (settings_.consume) return state.last < highest ? std::optional<uint64_t>(0) : std::nullopt;
  // Nothing was read yet: which of the present messages came later is not known.
  if (stamped == TimePoint()) {
    return state.last < highest ? std::optional(state.last) : std::nullopt;
  }
  bool is_missing = false;
  if (state.last >= highest) {
    const auto present = TRY(parts_.origins.message_at(stream_, highest));
    if (present && present->stamped == stamped) return std::optional<uint64_t>();
    is_missing = !present;
    if (is_missing && state.first > highest) return std::optional<uint64_t>();
  }
  // Messages of the same millisecond as the newest applied one count as applied.
  const uint64_t before = TRY(parts_.origins.sequence_before(stream_, stamped + Duration(1)));
  // It may have been removed alone: then those that came later have higher sequences.
  if (is_missing && before >= highest) return std::optional<uint64_t>();
  return std::optional(before);
}

Status SourceRun::move(const Rows& rows, uint64_t created, uint64_t floor, const Error& what) {
  notice(what);
  TRY(await_command(parts_, MoveSource{.ns = ns_,
                                       .name = place_.name,
                                       .from = rows.source.origin,
                                       .created = created,
                                       .floor = floor}));
  return {};
}

/// Has all messages of a consumed stream that was rolled back read. Those that were applied before
/// have the ids of then.
Status SourceRun::move_to_all(const Rows& rows) {
  TRY(move(
      rows, origin_.created, 0,
      {"source.rolled_back",
       fmt::format("stream {} was rolled back, and has messages with the sequences of other ones "
                   "that were applied; all that it has are read",
                   stream_)}));
  count(&SourceFigures::rolled_back, &SourceTotals::rolled_back);
  close();
  return {};
}

}  // namespace millrace
