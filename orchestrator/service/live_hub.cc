#include "orchestrator/service/live_hub.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "orchestrator/service/event_effects.h"

namespace millrace {
namespace {

/// The most bytes of records in one message, and of the detail of one record; a client reads a
/// longer detail by the call for the history.
constexpr size_t kMostHistoryBytes = size_t{64} << 10;
constexpr size_t kMostDetailBytes = size_t{16} << 10;
/// A stream that has more bytes to read gets no further records for now.
constexpr size_t kMostUnread = size_t{64} << 10;
constexpr size_t kRecordsAtOnce = 100;

/// Without a change that the ring has named, counts are read again after so many steps: the ring
/// does not name each change of the store, such as the purge of a deleted workflow.
constexpr uint64_t kStepsPerCount = 20;

/// Dead letters are asked for once a second.
constexpr uint64_t kStepsPerLetters = 2;

/// A batch that was applied when the first client came has not noted its changes, and may be
/// committed after the client has read the store. It is committed before so many steps have passed.
constexpr uint64_t kUnsureSteps = 2;

bool has_error(const Error& error, std::string_view suffix) {
  return std::string_view(error.code).ends_with(suffix);
}

/// What the request shows besides the history, as one text.
std::string key_of_request(const LiveRequest& request) {
  std::string key = request.ns + "/" + request.workflow;
  for (const InstanceStatus status : request.statuses) key += fmt::format("/{}", to_string(status));
  return key;
}

bool shows_only_history(const LiveRequest& request) {
  return request.history_of && !request.counts && !request.levels && !request.instances &&
         !request.events && !request.dead;
}

Json changed_items(const StatusCounts& counts, const std::string& workflow) {
  Json items = Json::array();
  for (const auto& [place, count] : counts) {
    if (workflow.empty() || place.first == workflow) {
      items.push_back({place.first, place.second, count});
    }
  }
  return items;
}

/// The record without its detail if that is large.
Json shortened(Json record) {
  const auto detail = record.find("detail");
  if (detail == record.end() || dump_json(*detail).size() <= kMostDetailBytes) return record;
  record.erase(detail);
  record["cut"] = true;
  return record;
}

}  // namespace

Status LiveHub::check(const LiveRequest& request) {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  TRY(parts_.queries.watched_place(view, request.ns, request.workflow));
  if (request.history_of) {
    TRY(parts_.queries.history(view, request.ns, *request.history_of,
                               {.limit = 1, .cursor = {}, .newest_first = true, .data = false}));
  }
  return {};
}

void LiveHub::add(LiveRequest request, std::shared_ptr<LiveSink> sink) {
  Json hello{{"boot", parts_.boot},
             {"now", format_rfc3339(parts_.clock.now())},
             {"version", parts_.version}};
  std::optional<Cursor> events;
  if (request.events) events = applied_events();
  if (events) hello["applied"] = events->sequence;
  if (const auto last = read_id(request.last_id)) {
    request.after = std::max(request.after, last->record);
  }
  sink->send(std::make_shared<const std::string>(live_message("hello", "", dump_json(hello))));
  std::string key = key_of_request(request);
  const std::lock_guard lock(lock_);
  new_.push_back({.request = std::move(request),
                  .sink = std::move(sink),
                  .key = std::move(key),
                  .events = events});
  parts_.ring.watch(true);
  begins_ = begins_ || !is_watched_;
  is_watched_ = true;
}

/// How far the engine has applied the event stream. nullopt: the store cannot be read now.
std::optional<Cursor> LiveHub::applied_events() const {
  const Cursor applied = parts_.applied();
  const auto view = Snapshot::take(parts_.environment);
  if (!view) return std::nullopt;
  const Result<Cursor> cursor = applied_in(*view, applied);
  if (!cursor) return std::nullopt;
  return *cursor;
}

void LiveHub::take_new_streams() {
  const std::lock_guard lock(lock_);
  for (Stream& stream : new_) streams_.push_back(std::move(stream));
  new_.clear();
  if (std::exchange(begins_, false)) unsure_steps_ = kUnsureSteps;
}

std::string LiveHub::id(const Stream& stream) const {
  std::string id = fmt::format("{}-{}", parts_.boot, steps_);
  if (stream.events) id += fmt::format(".{}", stream.events->sequence);
  if (stream.request.history_of) id += fmt::format("@{}", stream.request.after);
  return id;
}

/// Takes the changes from the ring. Returns whether a history may have records to send.
bool LiveHub::take_changes() {
  const bool has_histories = std::any_of(streams_.begin(), streams_.end(), [](const Stream& one) {
    return one.request.history_of.has_value();
  });
  WatchRing::Taken taken = parts_.ring.take();
  current_.lost += taken.lost;
  std::set<InstanceId> changed;
  for (const WatchedChange& change : taken.changes) {
    // So many come only if the store cannot be read for a while.
    if (current_.changes.size() == kMostLoggedChanges) {
      current_.lost += current_.changes.size();
      current_.changes.clear();
    }
    current_.changes.insert_or_assign(change.instance, change);
    if (has_histories) changed.insert(change.instance);
  }
  bool has_unread = false;
  for (Stream& stream : streams_) {
    if (!stream.request.history_of) continue;
    if (taken.lost > 0 || changed.contains(*stream.request.history_of)) stream.has_unread = true;
    has_unread = has_unread || stream.has_unread;
  }
  return has_unread;
}

void LiveHub::advance() {
  take_new_streams();
  ++tenths_;
  const bool has_unread = take_changes();
  const bool has_answers = broker_topics_.take();
  const bool is_step = tenths_ % kTenthsPerStep == 0;
  if (has_unread || has_answers || is_step) {
    // If the store cannot be read, the changes are shown in a later call.
    if (const auto view = Snapshot::take(parts_.environment)) {
      for (Stream& stream : streams_) send_history(*view, stream);
      broker_topics_.send(*view, streams_, std::bind_front(&LiveHub::id, this));
      if (is_step) step(*view);
    }
  }
  if (tenths_ % kTenthsPerLevels == 0) send_levels();
  drop_closed();
}

void LiveHub::step(const View& view) {
  current_.number = ++steps_;
  made_.clear();
  count_unnoted_changes();
  for (Stream& stream : streams_) find_place(view, stream);
  read_counts(view);
  for (Stream& stream : streams_) {
    if (!stream.is_found) continue;
    const LiveRequest& request = stream.request;
    if (stream.is_new && !request.last_id.empty()) {
      continue_stream(view, stream);
    } else if (request.instances) {
      send_instances(view, stream, current_, "instances/" + stream.key);
    }
    if (request.counts) send_counts(stream);
    stream.is_new = false;
  }
  const bool has_events = std::any_of(streams_.begin(), streams_.end(),
                                      [](const Stream& one) { return one.request.events; });
  broker_topics_.ask(streams_, has_events ? applied_events() : std::nullopt,
                     steps_ % kStepsPerLetters == 0);
  log_step();
}

/// Some time after the first client has come, and for histories from time to time, what no change
/// has named is read again.
void LiveHub::count_unnoted_changes() {
  const bool are_unnoted = unsure_steps_ > 0 && --unsure_steps_ == 0;
  if (are_unnoted) ++current_.lost;
  if (!are_unnoted && steps_ % kStepsPerCount != 0) return;
  for (Stream& stream : streams_) stream.has_unread = true;
}

/// Ends the stream if what it shows was deleted.
void LiveHub::find_place(const View& view, Stream& stream) {
  const LiveRequest& request = stream.request;
  const auto place = parts_.queries.watched_place(view, request.ns, request.workflow);
  const bool is_known = stream.ns != NamespaceNumber(0);
  const WatchedPlace known{stream.ns, stream.workflow, stream.created_at};
  const bool is_gone = place ? is_known && *place != known : has_error(place.error(), ".not_found");
  if (is_gone) stream.sink->end(reset_message("deleted"));
  stream.is_found = place && !is_gone;
  if (!stream.is_found) return;
  stream.ns = place->ns;
  stream.workflow = place->workflow;
  stream.created_at = place->created_at;
}

/// Shows a client that has come again what it has missed, or says that it must read everything
/// again.
void LiveHub::continue_stream(const View& view, Stream& stream) {
  const std::optional<MessageId> last = read_id(stream.request.last_id);
  const std::optional<Step> missed = last ? since(last->step) : std::nullopt;
  if (!missed) {
    // A history continues behind the record that the id names, and needs no changes.
    if (!last || !shows_only_history(stream.request)) {
      stream.sink->send(reset_message("restart"));
    }
    return;
  }
  if (last->event && stream.events) {
    stream.events->sequence = std::min(stream.events->sequence, *last->event);
  }
  if (stream.request.instances) send_instances(view, stream, *missed, "");
}

/// Reads `BOOT-STEP` of this process, with `.EVENT`, `@RECORD` or both behind it.
std::optional<LiveHub::MessageId> LiveHub::read_id(const std::string& text) const {
  const size_t dash = text.rfind('-');
  if (dash == std::string::npos || text.compare(0, dash, parts_.boot) != 0) return std::nullopt;
  const char* const end = text.data() + text.size();
  const char* at = text.data() + dash + 1;
  const auto reads = [&](uint64_t& number) {
    const auto [behind, error] = std::from_chars(at, end, number);
    at = behind;
    return error == std::errc();
  };
  const auto begins = [&](char mark) {
    const bool is_there = at != end && *at == mark;
    if (is_there) ++at;
    return is_there;
  };
  MessageId id;
  if (!reads(id.step)) return std::nullopt;
  if (begins('.') && !reads(id.event.emplace())) return std::nullopt;
  if (begins('@') && !reads(id.record)) return std::nullopt;
  if (at != end) return std::nullopt;
  return id;
}

/// The changes since that step; nullopt: they are not all known.
std::optional<LiveHub::Step> LiveHub::since(uint64_t last) const {
  const bool is_known = last < steps_ && last + 1 >= known_from_ && steps_ - last <= kMostSteps;
  if (!is_known) return std::nullopt;
  Step missed{.number = steps_};
  const auto add = [&](const Step& one) {
    for (const auto& [instance, change] : one.changes) {
      missed.changes.insert_or_assign(instance, change);
    }
    missed.lost += one.lost;
  };
  for (const Step& one : log_) {
    if (one.number > last) add(one);
  }
  add(current_);
  return missed;
}

void LiveHub::log_step() {
  if (!current_.changes.empty() || current_.lost > 0) {
    logged_ += current_.changes.size();
    log_.push_back(std::move(current_));
  }
  current_ = {};
  while (!log_.empty() &&
         (logged_ > kMostLoggedChanges || log_.front().number + kMostSteps < steps_)) {
    known_from_ = log_.front().number + 1;
    logged_ -= log_.front().changes.size();
    log_.pop_front();
  }
}

std::shared_ptr<const std::string> LiveHub::shared(const std::string& key,
                                                   const std::function<std::string()>& make) {
  if (key.empty()) return std::make_shared<const std::string>(make());
  auto& made = made_[key];
  if (!made) made = std::make_shared<const std::string>(make());
  return made;
}

void LiveHub::send_instances(const View& view, const Stream& stream, const Step& step,
                             const std::string& key) {
  const std::string message_id = id(stream);
  const auto text = shared(key.empty() ? "" : key + "#" + message_id, [&]() -> std::string {
    const auto& statuses = stream.request.statuses;
    std::vector<InstanceId> ids;
    for (const auto& [instance, change] : step.changes) {
      const bool fits =
          !change.is_deleted && change.ns == stream.ns &&
          (stream.workflow == WorkflowNumber(0) || change.workflow == stream.workflow) &&
          (statuses.empty() ||
           std::find(statuses.begin(), statuses.end(), change.status) != statuses.end());
      if (fits) ids.push_back(instance);
    }
    uint64_t more = step.lost;
    if (ids.size() > kMostItems) {
      more += ids.size() - kMostItems;
      ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(kMostItems));
    }
    if (ids.empty() && more == 0) return "";
    Result<Json> items = parts_.queries.heads(view, stream.request.ns, stream.ns, ids);
    if (!items) {
      more += ids.size();
      items = Json::array();
    }
    if (items->empty() && more == 0) return "";  // they were deleted since
    return live_message("instances", message_id,
                        dump_json({{"items", *std::move(items)}, {"more", more}}));
  });
  if (!text->empty()) stream.sink->send(text);
}

/// Reads the numbers of the namespaces that streams count: of each once, for all its streams.
void LiveHub::read_counts(const View& view) {
  std::set<NamespaceNumber> changed;
  for (const auto& [instance, change] : current_.changes) changed.insert(change.ns);
  const bool are_all_due = current_.lost > 0 || steps_ % kStepsPerCount == 0;
  for (auto& [ns, counts] : counts_) counts.is_watched = false;
  for (const Stream& stream : streams_) {
    if (stream.is_found && stream.request.counts) counts_[stream.ns].is_watched = true;
  }
  std::erase_if(counts_, [](const auto& one) { return !one.second.is_watched; });
  for (auto& [ns, counts] : counts_) {
    counts.is_read = false;
    counts.is_due = counts.is_due || are_all_due || changed.contains(ns);
    if (counts.is_due && steps_ >= counts.next_step) read_counts_of(view, ns, counts);
  }
}

void LiveHub::read_counts_of(const View& view, NamespaceNumber ns, SpaceCounts& counts) {
  auto found = parts_.queries.status_counts(view, ns);
  if (!found) return;  // the numbers are read in a later step
  const StatusCounts before = std::exchange(counts.now, std::move(found->counts));
  counts.changed.clear();
  for (const auto& [place, count] : counts.now) {
    const auto old = before.find(place);
    if (old == before.end() || old->second != count) counts.changed.emplace(place, count);
  }
  for (const auto& [place, count] : before) {
    if (!counts.now.contains(place)) counts.changed.emplace(place, 0);
  }
  counts.is_known = true;
  counts.is_read = true;
  counts.is_due = false;
  counts.next_step = steps_ + 1 + found->rows / parts_.count_rows_per_step;
}

/// Sends a client all numbers first, and then those that have changed.
void LiveHub::send_counts(Stream& stream) {
  const SpaceCounts& counts = counts_.at(stream.ns);
  const bool sends_all = !stream.has_counts;
  if (sends_all ? !counts.is_known : !counts.is_read) return;
  stream.has_counts = true;
  const std::string message_id = id(stream);
  const std::string key = (sends_all ? "all/" : "counts/") + stream.key + "#" + message_id;
  const auto text = shared(key, [&]() -> std::string {
    Json items = changed_items(sends_all ? counts.now : counts.changed, stream.request.workflow);
    if (items.empty() && !sends_all) return "";
    return live_message("counts", message_id, dump_json({{"changed", std::move(items)}}));
  });
  if (!text->empty()) stream.sink->send(text);
}

/// The gauges, and the rates if the call before was for a stream, too.
Json LiveHub::levels() {
  Json levels = parts_.levels();
  Json rates = rates_.since_last(parts_.clock.elapsed(), parts_.totals());
  if (rates.is_object()) levels["rates"] = std::move(rates);
  return levels;
}

void LiveHub::send_levels() {
  std::string text_of_levels;
  std::map<std::string, std::shared_ptr<const std::string>> texts;  // by id
  for (const Stream& stream : streams_) {
    if (!stream.request.levels) continue;
    if (text_of_levels.empty()) text_of_levels = dump_json(levels());
    auto& text = texts[id(stream)];
    if (!text) {
      text =
          std::make_shared<const std::string>(live_message("levels", id(stream), text_of_levels));
    }
    stream.sink->send(text);
  }
  if (text_of_levels.empty()) rates_.forget();
}

/// Sends the records of an instance that were not sent, as many as one message has.
void LiveHub::send_history(const View& view, Stream& stream) {
  LiveRequest& request = stream.request;
  if (!request.history_of || !stream.has_unread || stream.sink->queued() > kMostUnread) return;
  const std::string cursor = request.after > 0 ? std::to_string(request.after) : "";
  const auto page = parts_.queries.history(
      view, request.ns, *request.history_of,
      {.limit = kRecordsAtOnce, .cursor = cursor, .newest_first = false, .data = false});
  if (!page) {
    if (has_error(page.error(), ".not_found")) stream.sink->end(reset_message("deleted"));
    return;  // otherwise the records are read again in the next call
  }
  Json items = Json::array();
  size_t bytes = 0;
  bool is_whole = page->at("next").is_null();
  for (const Json& record : page->at("items")) {
    if (bytes > kMostHistoryBytes) {
      is_whole = false;
      break;
    }
    Json item = shortened(record);
    bytes += dump_json(item).size();
    request.after = item.at("number").get<uint64_t>();
    items.push_back(std::move(item));
  }
  stream.has_unread = !is_whole;
  if (items.empty()) return;
  const Json data{{"instance", to_string(*request.history_of)}, {"items", std::move(items)}};
  stream.sink->send(
      std::make_shared<const std::string>(live_message("history", id(stream), dump_json(data))));
}

/// Forgets the clients that have left. Some time after the last one, nothing is noted any more.
void LiveHub::drop_closed() {
  std::erase_if(streams_, [](const Stream& stream) { return !stream.sink->is_open(); });
  const std::lock_guard lock(lock_);
  idle_tenths_ = streams_.empty() && new_.empty() ? idle_tenths_ + 1 : 0;
  if (idle_tenths_ < kLingerTenths) return;
  parts_.ring.watch(false);
  is_watched_ = false;
  idle_tenths_ = 0;
  // The changes from now on are not known. The next client gets ids with a number of its own, so
  // that they name a place behind these changes.
  ++steps_;
  known_from_ = steps_ + 1;
  log_.clear();
  logged_ = 0;
  counts_.clear();
  rates_.forget();
  current_ = {};
}

}  // namespace millrace
