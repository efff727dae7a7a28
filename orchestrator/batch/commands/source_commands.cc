#include "orchestrator/batch/commands/source_commands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orchestrator/batch/source_consumer.h"

namespace millrace {
namespace {

Result<std::vector<OriginStream>> origins_of(const CommandContext& context,
                                             const SourceId& source) {
  std::vector<OriginStream> all;
  TRY(each_origin_of(
      context.batch.tx, source,
      [&](const OriginStream& origin, const OriginRecord&) { all.push_back(origin); },
      context.batch.damages.noting()));
  return all;
}

/// Adds the row of the origin stream that the source reads from now on: of the stream that was
/// created at that time, in a round that it has not had. The newest rows of the source stay, so
/// that events which it has published before are applied once, too.
Result<OriginStream> begin_origin(const CommandContext& context, const SourceId& source,
                                  uint64_t created, const OriginRecord& record) {
  OriginStream next{.source = source, .created = created, .round = 0};
  std::vector<OriginStream> all = TRY(origins_of(context, source));
  for (const OriginStream& one : all) {
    if (one.created == created) next.round = std::max(next.round, one.round + 1);
  }
  const size_t most = kOriginsKept - 1;
  for (size_t i = 0; i + most < all.size(); ++i) context.batch.origins.erase(all[i]);
  context.batch.origins.put(next, record);
  context.batch.origins.write();  // a later command of this batch reads the rows
  return next;
}

/// Refuses a further source if there are too many.
Status refuse_too_many(const CommandContext& context, NamespaceNumber ns) {
  size_t all = 0;
  size_t here = 0;
  TRY(each_source(
      context.batch.tx,
      [&](const SourcePlace& place, const SourceRecord&) {
        ++all;
        here += place.ns == ns ? 1 : 0;
      },
      context.batch.damages.noting()));
  if (here < kMostSourcesOfNamespace && all < kMostSources) return {};
  return fail("source.too_many",
              fmt::format("this namespace has {} sources, and all namespaces have {}; at most {} "
                          "and {} are possible: delete one, or read several subjects with one",
                          here, all, kMostSourcesOfNamespace, kMostSources));
}

/// Refuses a further consumer while too many of former sources are not deleted.
Status refuse_too_many_left(const CommandContext& context) {
  size_t left = 0;
  TRY(each_left_consumer(
      context.batch.tx, [&](const SourceConsumer&) { ++left; }, context.batch.damages.noting()));
  if (left < kMostLeftConsumers) return {};
  return fail("source.consumers_left",
              fmt::format("{} consumers of sources that were deleted or changed could not be "
                          "deleted at the broker yet, and {} are possible; the log says why: wait "
                          "until the broker is reachable, or give millrace the right to delete "
                          "them",
                          left, kMostLeftConsumers));
}

/// Writes which consumer must be deleted: the one that the source `had`, unless it `has` the same.
void note_left_consumer(Transaction& tx, const std::optional<SourceConsumer>& had,
                        const std::optional<SourceConsumer>& has) {
  if (had && had != has) write_left_consumer(tx, *had);
  if (has) erase_left_consumer(tx, *has);
}

tl::unexpected<Error> no_source(const std::string& ns, const std::string& name) {
  return fail("source.not_found", fmt::format("namespace \"{}\" has no source \"{}\"", ns, name));
}

/// The record of a source that exists.
Result<SourceRecord> find_source(const CommandContext& context, const SourcePlace& place,
                                 const std::string& ns) {
  auto found = TRY(read_source(context.batch.tx, place));
  if (!found) return no_source(ns, place.name);
  return *std::move(found);
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const ApplySource& command) {
  const SourcePlace place{.ns = TRY(find_namespace(context, command.ns)), .name = command.name};
  const auto before = TRY(context.batch.damages.pass_over(read_source(context.batch.tx, place)));
  SourceRecord record = command.record;
  record.created_at = record.applied_at = context.now;
  const bool continues = before && !command.restarts && before->stream == record.stream &&
                         before->begin == record.begin;
  if (before) {
    record.created_at = before->created_at;
    record.is_paused = before->is_paused;
    record.origin.source = before->origin.source;
  } else {
    TRY(refuse_too_many(context, place.ns));
    if (const auto over = TRY(context.instances.quotas().refusal_of_bytes(place.ns))) {
      return tl::unexpected(*over);
    }
  }
  const auto had =
      before ? consumer_of(command.ns, place, *before) : std::optional<SourceConsumer>();
  const auto has = consumer_of(command.ns, place, record);
  if (has && has != had) TRY(refuse_too_many_left(context));
  if (continues) {
    record.origin = before->origin;
  } else {
    record.origin = TRY(begin_origin(context, record.origin.source, command.record.origin.created,
                                     {.ns = place.ns, .applied = AppliedSequences(command.floor)}));
  }
  record.is_paused = command.paused.value_or(record.is_paused);
  write_source(context.batch.tx, place, record);
  note_left_consumer(context.batch.tx, had, has);
  return Json{{"name", command.name}, {"created", !before}, {"continues", continues}};
}

Result<Json> run_command(const CommandContext& context, const PauseSource& command) {
  const SourcePlace place{.ns = TRY(find_namespace(context, command.ns)), .name = command.name};
  SourceRecord record = TRY(find_source(context, place, command.ns));
  record.is_paused = command.paused;
  write_source(context.batch.tx, place, record);
  return Json{{"name", command.name}, {"paused", command.paused}};
}

Result<Json> run_command(const CommandContext& context, const DeleteSource& command) {
  const SourcePlace place{.ns = TRY(find_namespace(context, command.ns)), .name = command.name};
  const SourceRecord record = TRY(find_source(context, place, command.ns));
  for (const OriginStream& origin : TRY(origins_of(context, record.origin.source))) {
    context.batch.origins.erase(origin);
  }
  erase_source(context.batch.tx, place);
  note_left_consumer(context.batch.tx, consumer_of(command.ns, place, record), std::nullopt);
  return Json{{"name", command.name}, {"deleted", true}};
}

Result<Json> run_command(const CommandContext& context, const MoveSource& command) {
  const SourcePlace place{.ns = TRY(find_namespace(context, command.ns)), .name = command.name};
  SourceRecord record = TRY(find_source(context, place, command.ns));
  if (record.origin != command.from) return Json{{"name", command.name}, {"moved", false}};
  record.origin = TRY(begin_origin(context, record.origin.source, command.created,
                                   {.ns = place.ns, .applied = AppliedSequences(command.floor)}));
  write_source(context.batch.tx, place, record);
  return Json{{"name", command.name}, {"moved", true}};
}

Result<Json> run_command(const CommandContext& context, const ForgetConsumer& command) {
  erase_left_consumer(context.batch.tx, command.consumer);
  return Json{{"forgotten", true}};
}

Result<Json> run_command(const CommandContext& context, const RefuseMessages& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  OriginRecord* const record = TRY(context.batch.origins.find(command.origin));
  if (record == nullptr || record->ns != ns) return no_source(command.ns, command.name);
  size_t refused = 0;
  for (const RefusedMessage& one : command.messages) {
    const uint64_t highest = record->applied.highest();
    if (record->applied.add(one.previous, one.sequence) != AppliedSequences::Added::kNew) continue;
    if (one.sequence > highest) record->stamped = one.stamped;
    record->refused_sequence = one.sequence;
    record->refused_at = context.now;
    record->refusal = one.reason;
    ++record->refused;
    ++refused;
    // The sequence is in the text, and not in Millrace-Sequence, which is of the event stream.
    TRY(context.batch.dead_letter(
        {.ns = command.ns,
         .reason = {one.reason.code, fmt::format("message {} of source \"{}\": {}", one.sequence,
                                                 command.name, one.reason.message)},
         .message = one.message,
         .number = ns,
         .source = command.name}));
  }
  if (refused > 0) context.batch.origins.change(command.origin);
  context.batch.origins.write();
  context.batch.outcome.counts.source_refused += refused;
  return Json{{"name", command.name}, {"refused", refused}};
}

Status refuse_source_streams(const CommandContext& context, NamespaceNumber ns,
                             const std::string& name) {
  std::vector<std::string> found;
  TRY(each_source_of(
      context.batch.tx, ns,
      [&](const SourcePlace& place, const SourceRecord& record) {
        if (record.stream.empty()) found.push_back(place.name);
      },
      context.batch.damages.noting()));
  if (found.empty()) return {};
  return fail(
      "namespace.not_empty",
      fmt::format("namespace \"{}\" has sources with streams that millrace made ({}), which "
                  "are deleted with their sources; delete these sources first",
                  name, fmt::join(found, ", ")));
}

Status erase_sources(const CommandContext& context, NamespaceNumber ns, const std::string& name) {
  std::vector<std::pair<SourcePlace, SourceRecord>> all;
  TRY(each_source_of(
      context.batch.tx, ns,
      [&](const SourcePlace& place, const SourceRecord& record) {
        all.emplace_back(place, record);
      },
      context.batch.damages.noting()));
  for (const auto& [place, record] : all) {
    for (const OriginStream& origin : TRY(origins_of(context, record.origin.source))) {
      context.batch.origins.erase(origin);
    }
    erase_source(context.batch.tx, place);
    note_left_consumer(context.batch.tx, consumer_of(name, place, record), std::nullopt);
  }
  return {};
}

}  // namespace millrace
