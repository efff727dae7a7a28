#include "orchestrator/service/sources.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include "base/excerpt.h"
#include "cloudevents/json_format.h"
#include "orchestrator/definition/invalid_setting.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/service/mapping_programs.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/namespace_types.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/source_json.h"
#include "orchestrator/service/source_mapping.h"
#include "orchestrator/service/source_origin.h"
#include "orchestrator/service/tried_event.h"
#include "orchestrator/service/type_warnings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// How often the rows are looked through for sources that have changed without a request to this
/// object, for example with their namespace.
constexpr std::chrono::milliseconds kBetweenSourceLooks(500);

tl::unexpected<Error> no_such_source(std::string_view ns, std::string_view name) {
  return fail("source.not_found",
              fmt::format("namespace \"{}\" has no source \"{}\"", ns, excerpt(name)));
}

/// The sequence behind which a new source begins. Error `settings.invalid`: the place lies behind
/// the end of the stream, so earlier messages than the settings say would be read.
Result<uint64_t> floor_of(OriginStreams& origins, const std::string& stream,
                          const SourceSettings& settings, const OriginState& state, TimePoint now) {
  const SourceBegin& begin = settings.begin;
  switch (begin.kind) {
    case SourceBegin::Kind::kNew:
      break;
    case SourceBegin::Kind::kAll:
      return std::max<uint64_t>(state.first, 1) - 1;
    case SourceBegin::Kind::kSequence:
      if (begin.sequence - 1 <= state.last) return begin.sequence - 1;
      return invalid_setting(
          "begin.sequence",
          fmt::format("stream \"{}\" ends with sequence {}; write at most {}, or \"new\"", stream,
                      state.last, state.last + 1));
    case SourceBegin::Kind::kTime: {
      if (begin.time > now) {
        return invalid_setting("begin.time",
                               fmt::format("{} is in the future; write a time that has come, or "
                                           "\"new\"",
                                           format_rfc3339(begin.time)));
      }
      const uint64_t before = TRY(origins.sequence_before(stream, begin.time));
      return std::min(before, state.last);
    }
  }
  return state.last;
}

/// Whether a source that consumes its stream wants other messages of it than before. The position
/// says nothing about these: they are in the stream until they are acknowledged.
bool wants_other_messages(const SourceRecord& before, const SourceSettings& settings) {
  const auto stored = read_source_settings(before.settings);
  if (!stored) return false;
  return (stored->consume || settings.consume) &&
         (stored->consume != settings.consume || stored->subjects != settings.subjects);
}

/// The name of the origin stream of a stored source.
std::string stream_of(const OriginStreams& origins, std::string_view ns, std::string_view name,
                      const SourceRecord& source) {
  return source.stream.empty() ? origins.source_stream_name(ns, name) : source.stream;
}

}  // namespace

SourceParts Sources::counted_in(SourceTotals& totals, SourceParts parts) {
  parts.totals = &totals;
  return parts;
}

void Sources::start_threads() {
  thread_ = std::thread([this] { run(); });
}

void Sources::stop_threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Sources::run() {
  name_thread("sources");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    has_changed_ = false;
    lock.unlock();
    release(adjust());
    remove_left_streams();
    lock.lock();
    changed_.wait_for(lock, kBetweenSourceLooks, [this] { return stopping_ || has_changed_; });
  }
  Readings all = std::exchange(readings_, {});
  lock.unlock();
  end(std::move(all));
  remove_left_streams();
  if (const auto looked = look()) release(looked->left);
}

/// The thread of one source.
void Sources::read(Reading& reading) {
  name_thread("source");
  run_behind_others(kBackgroundNiceness);
  std::unique_lock lock(mutex_);
  while (!reading.stops) {
    lock.unlock();
    const Duration wait = reading.run.turn();
    lock.lock();
    if (wait > Duration(0)) changed_.wait_for(lock, wait, [&] { return reading.stops; });
  }
}

Result<SourcesLook> Sources::look() const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return look_at_sources(view);
}

/// Whether the thread still reads a source that is to be read, as the consumer that it has.
bool Sources::goes_on(const SourcePlace& place, const Reading& reading,
                      const SourcesLook& look) const {
  const auto found = look.read.find(place);
  return found != look.read.end() && found->second.consumer == reading.consumer;
}

/// Starts the threads of sources that are to be read, and ends those of the others. Returns the
/// left consumers, of which no thread has one afterwards.
std::vector<SourceConsumer> Sources::adjust() {
  auto looked = look();
  if (!looked) {
    spdlog::warn("the sources cannot be read: {}", looked.error().message);
    return {};
  }
  Readings ended;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(past_, [&](const auto& one) { return !looked->all.contains(one.first); });
    for (auto one = readings_.begin(); one != readings_.end();) {
      if (goes_on(one->first, *one->second, *looked)) {
        ++one;
      } else {
        past_[one->first] = one->second->run.figures().past();  // until the thread has ended
        ended.insert(readings_.extract(one++));
      }
    }
    for (const auto& [place, source] : looked->read) {
      if (readings_.contains(place)) continue;
      if (ended.contains(place)) {
        has_changed_ = true;  // the next look starts its thread again
        continue;
      }
      auto reading = std::make_unique<Reading>(parts_, place, source);
      if (const auto past = past_.extract(place)) reading->run.count_on(past.mapped());
      reading->thread = std::thread([this, &one = *reading] { read(one); });
      readings_.emplace(place, std::move(reading));
    }
  }
  end(std::move(ended));
  return std::move(looked->left);
}

/// Deletes left consumers, and the rows of those that are gone. A row that stays, because the
/// engine does not answer any more, is found again by the next process.
void Sources::release(const std::vector<SourceConsumer>& left) {
  size_t remaining = left.size();
  for (const SourceConsumer& one : consumers_.release(left, parts_.origins)) {
    if (await_command(parts_, ForgetConsumer{one})) --remaining;
  }
  const std::lock_guard lock(mutex_);
  left_consumers_ = remaining;
}

void Sources::end(Readings ended) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, reading] : ended) reading->stops = true;
  }
  changed_.notify_all();
  for (const auto& [place, reading] : ended) reading->thread.join();
  const std::lock_guard lock(mutex_);
  for (const auto& [place, reading] : ended) past_[place] = reading->run.figures().past();
}

std::optional<SourceFigures> Sources::figures_of(const SourcePlace& place) const {
  const std::lock_guard lock(mutex_);
  const auto found = readings_.find(place);
  if (found != readings_.end()) return found->second->run.figures();
  const auto past = past_.find(place);
  return past == past_.end() ? std::nullopt : std::optional(past->second);
}

void Sources::add_to(PartLevels& levels) const {
  const std::lock_guard lock(mutex_);
  SourceLevels& sources = levels.sources;
  sources.consumers_left = left_consumers_;
  for (const auto& [place, reading] : readings_) {
    const SourceFigures figures = reading->run.figures();
    ++(figures.waits || !figures.is_read ? sources.waiting : sources.reading);
    sources.namespace_lag[reading->ns] += figures.lag.value_or(0);
    if (!figures.is_read) continue;
    const std::pair source(reading->ns, place.name);
    sources.read.emplace(source, figures.position);
    if (figures.lag) sources.lag.emplace(source, *figures.lag);
  }
  sources.consumers = totals_.consumers;
  sources.recreated = totals_.recreated;
  sources.rolled_back = totals_.rolled_back;
  sources.gone = totals_.gone;
  sources.lost_events = totals_.lost_events;
}

/// Passes the command to the engine, and looks at the rows again when it is done.
void Sources::command(Command command, const Done& done) {
  parts_.command(std::move(command), [this, done](Result<Json> answer) {
    {
      const std::lock_guard lock(mutex_);
      has_changed_ = true;
    }
    changed_.notify_all();
    done(std::move(answer));
  });
}

/// Whether the source exists, and millrace makes its stream.
Result<bool> Sources::has_source_stream(std::string_view ns, const std::string& name) const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const auto record = namespace_record(view, ns);
  if (!record) return false;
  const auto source = TRY(read_source(view, {.ns = record->number, .name = name}));
  return source && source->stream.empty();
}

/// Has the stream that millrace made for the source deleted, unless a source has it then.
void Sources::leave_stream(std::string_view ns, const std::string& name) {
  const std::lock_guard lock(mutex_);
  left_streams_.emplace(ns, name);
}

/// Deletes the streams of leave_stream(); those that cannot be deleted now are tried again.
void Sources::remove_left_streams() {
  std::set<std::pair<std::string, std::string>> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(left_streams_);
  }
  for (const auto& [ns, name] : left) {
    const auto is_needed = has_source_stream(ns, name);
    if (is_needed && *is_needed) continue;
    const Status removed = is_needed ? parts_.origins.remove_source_stream(ns, name)
                                     : Status(tl::unexpected(is_needed.error()));
    if (!removed) leave_stream(ns, name);
  }
}

void Sources::apply(std::string_view ns, const std::string& name, const Json& settings,
                    const Done& done) {
  Json warnings = Json::array();
  bool had_stream = false;  // of millrace
  bool has_stream = false;
  auto asked = [&]() -> Result<ApplySource> {
    const SourceSettings parsed = TRY(parse_source(settings));
    TRY(check_programs(parsed));
    warnings = warnings_about(ns, parsed);
    const Snapshot view = TRY(Snapshot::take(parts_.environment));
    const NamespaceRecord record = TRY(namespace_record(view, ns));
    ApplySource command{.ns = std::string(ns), .name = name, .record = {}, .paused = parsed.paused};
    command.record.stream = parsed.stream;
    command.record.begin = begin_text(settings);
    command.record.settings = dump_json(settings);
    const auto before = TRY(read_source(view, {.ns = record.number, .name = name}));
    had_stream = before && before->stream.empty();
    has_stream = parsed.has_source_stream();
    command.restarts = before && wants_other_messages(*before, parsed);
    if (before && !command.restarts && before->stream == parsed.stream &&
        before->begin == command.record.begin) {
      command.record.origin = before->origin;
      if (has_stream) TRY(ensure_origin(parts_.origins, ns, name, parsed));
      return command;
    }
    const OriginState state = TRY(ensure_origin(parts_.origins, ns, name, parsed));
    // Before the commit: a stream that is missing is made again, but nothing would delete it.
    if (had_stream && !has_stream) TRY(parts_.origins.remove_source_stream(ns, name));
    randombytes_buf(command.record.origin.source.data(), command.record.origin.source.size());
    command.record.origin.created = state.created;
    command.floor = TRY(floor_of(parts_.origins, origin_name(parts_.origins, ns, name, parsed),
                                 parsed, state, parts_.clock.now()));
    return command;
  }();
  if (!asked) return done(tl::unexpected(std::move(asked).error()));
  command(*std::move(asked), [this, done, ns = std::string(ns), name, had_stream, has_stream,
                              warnings = std::move(warnings)](Result<Json> answer) {
    const bool is_left = answer ? had_stream && !has_stream : has_stream && !had_stream;
    if (is_left) leave_stream(ns, name);
    done(add_warnings(std::move(answer), warnings));
  });
}

Result<Json> Sources::list(std::string_view ns) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  std::vector<std::pair<SourcePlace, SourceRecord>> found;
  TRY(each_source_of(view, record.number, [&](const SourcePlace& place, const SourceRecord& one) {
    found.emplace_back(place, one);
  }));
  Json items = Json::array();
  for (const auto& [place, one] : found) {
    const auto origin = TRY(read_origin(view, one.origin));
    items.push_back(source_json(place.name, stream_of(parts_.origins, ns, place.name, one), one,
                                origin.value_or(OriginRecord()), figures_of(place)));
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

Result<Json> Sources::get(std::string_view ns, const std::string& name) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const SourcePlace place{.ns = record.number, .name = name};
  const auto found = TRY(read_source(view, place));
  if (!found) return no_such_source(ns, name);
  const auto origin = TRY(read_origin(view, found->origin));
  Json json = source_json(name, stream_of(parts_.origins, ns, name, *found), *found,
                          origin.value_or(OriginRecord()), figures_of(place));
  json["settings"] = parse_own_json(found->settings).value_or(Json());
  return json;
}

void Sources::pause(std::string_view ns, const std::string& name, bool paused, const Done& done) {
  command(PauseSource{.ns = std::string(ns), .name = name, .paused = paused}, done);
}

/// The given settings, or the stored ones.
Result<SourceSettings> Sources::settings_of(std::string_view ns, const std::string& name,
                                            const std::optional<Json>& settings) const {
  std::optional<SourceSettings> given;
  if (settings) {
    given = TRY(parse_source(*settings));
    TRY(check_programs(*given));
  }
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  if (given) return *std::move(given);
  const auto found = TRY(read_source(view, {.ns = record.number, .name = name}));
  if (!found) return no_such_source(ns, name);
  return read_source_settings(found->settings);
}

/// The jq programs of the mapping are valid. Errors: those of check_mapping_programs().
Status Sources::check_programs(const SourceSettings& settings) const {
  if (!settings.mapping) return {};
  const std::array all = {PlacedMapping{.where = "mapping", .mapping = *settings.mapping}};
  return check_mapping_programs(all, parts_.check_programs);
}

/// See type_warnings(), which says nothing if the types of the namespace are not known. Without a
/// mapping, the messages of a consumed stream may all be lost to it.
Json Sources::warnings_about(std::string_view ns, const SourceSettings& settings) const {
  if (settings.consume && !settings.mapping) {
    return Json::array(
        {{{"path", "mapping"},
          {"message",
           "without a mapping, each message that is no CloudEvent becomes a dead letter, and is "
           "acknowledged, so that the stream may remove it; see what the messages become with "
           "`millrace source try`, or leave `consume` out"}}});
  }
  if (!settings.mapping || parts_.definitions == nullptr) return Json::array();
  const Result<Snapshot> view = Snapshot::take(parts_.environment);
  if (!view) return Json::array();
  const auto types = namespace_types(*view, ns, *parts_.definitions, false);
  if (!types || !*types) return Json::array();
  const std::array all = {PlacedMapping{.where = "mapping", .mapping = *settings.mapping}};
  return type_warnings(all, **types);
}

/// The events that the messages would become, in their order.
std::vector<MadeEvent> Sources::events_of(std::string_view ns, const std::string& name,
                                          const SourceSettings& settings,
                                          const std::vector<OriginMessage>& messages) const {
  const SourceMapping how{.mapping = shared_mapping(settings),
                          .stream = origin_name(parts_.origins, ns, name, settings),
                          .source = source_attribute(ns, name),
                          .lane = kTriedMappings,
                          .space = kTriedMappings};
  std::vector<MadeEvent> events;
  events.reserve(messages.size());
  for (const OriginMessage& message : messages) {
    events.push_back(make_event(how, message, parts_.clock.now(), parts_.evaluate));
  }
  return events;
}

/// What the message would become, and what its event would do.
Result<Json> Sources::tried(std::string_view ns, const OriginMessage& message,
                            Result<Event> event) const {
  Json item = TRY(tried_event(ns, std::move(event), judge_));
  item["sequence"] = message.sequence;
  item["time"] = format_rfc3339(message.stamped);
  item["subject"] = message.message.subject;
  return item;
}

Result<Json> Sources::try_messages(std::string_view ns, const std::string& name,
                                   const std::optional<Json>& settings) {
  const SourceSettings wanted = TRY(settings_of(ns, name, settings));
  using std::chrono::steady_clock;
  const std::vector<OriginMessage> newest =
      TRY(newest_messages(parts_.origins, ns, name, wanted, steady_clock::now() + kTryTime));
  std::vector<MadeEvent> events = events_of(ns, name, wanted, newest);
  const auto until = steady_clock::now() + kTryTime;
  Json items = Json::array();
  for (size_t i = 0; i < newest.size(); ++i) {
    const bool is_made = events[i].wait_until(until);
    items.push_back(TRY(tried(ns, newest[i], is_made ? events[i].take() : tried_too_long())));
  }
  return Json{{"stream", origin_name(parts_.origins, ns, name, wanted)},
              {"items", std::move(items)}};
}

void Sources::remove(std::string_view ns, const std::string& name, const Done& done) {
  DeleteSource asked{.ns = std::string(ns), .name = name};
  const auto has_stream = has_source_stream(ns, name);
  if (!has_stream) return done(tl::unexpected(has_stream.error()));
  if (!*has_stream) return command(std::move(asked), done);
  // Before the commit, because nothing would delete the stream of a source that does not exist; and
  // behind it, because the thread of the source may have made the stream again meanwhile.
  const Status removed = parts_.origins.remove_source_stream(ns, name);
  if (!removed) return done(tl::unexpected(removed.error()));
  command(asked, [this, asked, done](Result<Json> answer) {
    if (answer) leave_stream(asked.ns, asked.name);
    done(std::move(answer));
  });
}

}  // namespace millrace
