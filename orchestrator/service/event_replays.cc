#include "orchestrator/service/event_replays.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/excerpt.h"
#include "matchers/glob.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/service/awaited_publish.h"
#include "orchestrator/service/event_admission.h"
#include "orchestrator/service/event_replay.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// How long a replay waits after an error of the broker, or while no further event may be
/// published.
constexpr Duration kAfterFailure{1'000};
/// How many events one page publishes at most: at most a quarter of a second of the rate.
constexpr size_t kMostInPage = 250;
constexpr uint64_t kPagesInSecond = 4;
/// How many messages one page reads at least, so that a slow replay passes quickly over the
/// messages that do not match.
constexpr size_t kFewestRead = 64;

using ReplayStatus = ReplayRecord::State;

tl::unexpected<Error> no_replay(std::string_view ns, const std::string& id) {
  return fail("replay.not_found",
              fmt::format("there is no replay \"{}\" in namespace \"{}\"", excerpt(id), ns));
}

Result<ReplayId> parse_replay_id(std::string_view ns, const std::string& text) {
  ReplayId id{};
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() != 2 * id.size()) return no_replay(ns, text);
  for (size_t i = 0; i < id.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return no_replay(ns, text);
    id[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return id;
}

bool has_type_and_source(const ReplayRecord& record, const Event& event) {
  return (record.type.empty() || glob_matches(record.type, event.type)) &&
         (record.source.empty() || glob_matches(record.source, event.source));
}

}  // namespace

std::string_view name_of_state(ReplayRecord::State state) {
  switch (state) {
    case ReplayStatus::kRunning:
      return "running";
    case ReplayStatus::kDone:
      return "done";
    case ReplayStatus::kStopped:
      return "stopped";
    case ReplayStatus::kFailed:
      return "failed";
  }
  return "failed";
}

Json replay_json(const ReplayId& id, const ReplayRecord& record, Json target,
                 const std::optional<Error>& hindrance) {
  Json json = {{"id", to_hex(id)},
               {"state", name_of_state(record.state)},
               {"createdAt", format_rfc3339(record.created_at)},
               {"dryRun", record.is_dry},
               {"rate", record.rate},
               {"first", record.first},
               {"last", record.last},
               {"matched", record.matched},
               {"sent", record.sent},
               {"refused", record.refused},
               {"lost", record.lost},
               {"position", record.next}};
  if (record.since) json["since"] = format_rfc3339(*record.since);
  if (record.until) json["until"] = format_rfc3339(*record.until);
  if (!record.type.empty()) json["type"] = record.type;
  if (!record.source.empty()) json["source"] = record.source;
  if (!target.is_null()) json["to"] = std::move(target);
  if (!record.error.code.empty()) json["error"] = to_json(record.error);
  if (hindrance) json["waits"] = to_json(*hindrance);
  return json;
}

void EventReplays::start_thread() {
  thread_ = std::thread([this] { run(); });
}

void EventReplays::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventReplays::run() {
  name_thread("replays");
  run_behind_others(kBackgroundNiceness);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    has_new_ = false;
    lock.unlock();
    const std::optional<Duration> wait = turn();
    lock.lock();
    const auto wakes = [this] { return stopping_ || has_new_; };
    if (wait) {
      changed_.wait_for(lock, *wait, wakes);
    } else {
      changed_.wait(lock, wakes);
    }
  }
}

Result<ReplayRecord> EventReplays::prepare(std::string_view ns, const RangeReplay& range) const {
  const StreamSpan span = TRY(parts_.events.span());
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  if (range.rate == 0 || range.rate > kMostReplayRate) {
    return fail("replay.rate", fmt::format("the rate is {} events a second; expected 1 to {}",
                                           range.rate, kMostReplayRate));
  }
  ReplayRecord replay{.created_at = parts_.clock.now(),
                      .stream_created = span.created,
                      .first = std::max<uint64_t>(range.first, span.first),
                      .last = range.last == 0 ? span.last : std::min(range.last, span.last),
                      .since = std::max(range.since.value_or(record.created_at), record.created_at),
                      .until = range.until,
                      .type = range.type,
                      .source = range.source,
                      .target = TRY(target_text(view, record.number, ns, range.target)),
                      .rate = range.rate,
                      .is_dry = range.is_dry};
  replay.next = replay.first;
  return replay;
}

void EventReplays::begin(std::string_view ns, const RangeReplay& range, const Done& done) {
  Result<ReplayRecord> record = prepare(ns, range);
  if (!record) return done(tl::unexpected(std::move(record).error()));
  ChangeReplay begin{
      .ns = std::string(ns), .kind = ChangeReplay::Kind::kBegin, .record = *std::move(record)};
  randombytes_buf(begin.id.data(), begin.id.size());
  parts_.command(std::move(begin), [this, done](Result<Json> answer) {
    {
      const std::lock_guard lock(mutex_);
      has_new_ = true;
    }
    changed_.notify_all();
    done(std::move(answer));
  });
}

Result<Json> EventReplays::shown(const View& view, const ReplayPlace& place,
                                 const ReplayRecord& record) const {
  Json target;
  if (!record.target.empty()) target = TRY(shown_target(view, place.ns, record.target));
  return replay_json(place.id, record, std::move(target), hindrance_of(place, record));
}

Result<Json> EventReplays::list(std::string_view ns) const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  std::vector<std::pair<ReplayId, ReplayRecord>> found;
  TRY(each_replay(view, [&](const ReplayPlace& place, const ReplayRecord& one) {
    if (place.ns == record.number) found.emplace_back(place.id, one);
  }));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(b.second.created_at, b.first) < std::tie(a.second.created_at, a.first);
  });
  Json items = Json::array();
  for (const auto& [id, one] : found) {
    items.push_back(TRY(shown(view, {.ns = record.number, .id = id}, one)));
  }
  return Json{{"items", std::move(items)}, {"next", nullptr}};
}

Result<Json> EventReplays::get(std::string_view ns, const std::string& id) const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  const ReplayId parsed = TRY(parse_replay_id(ns, id));
  const ReplayPlace place{.ns = record.number, .id = parsed};
  const auto found = TRY(read_replay(view, place));
  if (!found) return no_replay(ns, id);
  return shown(view, place, *found);
}

void EventReplays::stop(std::string_view ns, const std::string& id, const Done& done) {
  const Result<ReplayId> parsed = parse_replay_id(ns, id);
  if (!parsed) return done(tl::unexpected(parsed.error()));
  parts_.command(
      ChangeReplay{.ns = std::string(ns), .id = *parsed, .kind = ChangeReplay::Kind::kStop}, done);
}

/// The running replays of the store. Damaged rows are left out; the store check names them.
Result<std::vector<EventReplays::Running>> EventReplays::running() const {
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  std::vector<Running> found;
  TRY(each_replay(
      view,
      [&](const ReplayPlace& place, const ReplayRecord& record) {
        if (record.state == ReplayStatus::kRunning) {
          found.push_back({.place = place, .record = record, .ns = {}});
        }
      },
      [](const Error&) {}));
  if (found.empty()) return found;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    for (Running& one : found) {
      if (one.place.ns == record.number) one.ns = name;
    }
  }));
  std::erase_if(found, [](const Running& one) { return one.ns.empty(); });
  return found;
}

/// Of the replays that are due, the turn is for the namespace whose latest turn is the oldest, and
/// in the namespace for the replay whose latest turn is the oldest.
std::optional<Duration> EventReplays::turn() {
  const Result<std::vector<Running>> replays = running();
  if (!replays) return kAfterFailure;
  forget_ended(*replays);
  if (replays->empty()) return std::nullopt;
  const TimePoint now = parts_.clock.now();
  const Running* chosen = nullptr;
  std::optional<TimePoint> next_due;
  const auto order = [this](const Running& one) {
    return std::pair(turns_[one.place.ns], paces_[one.place].turn);
  };
  for (const Running& one : *replays) {
    const TimePoint due = paces_[one.place].due;
    if (!next_due || due < *next_due) next_due = due;
    if (due <= now && (chosen == nullptr || order(one) < order(*chosen))) chosen = &one;
  }
  if (chosen == nullptr) return *next_due - now;
  turns_[chosen->place.ns] = paces_[chosen->place].turn = ++last_turn_;
  const Result<Duration> pause = advance(*chosen);
  note_hindrance(chosen->place, pause);
  paces_[chosen->place].due = now + pause.value_or(kAfterFailure);
  return Duration(0);
}

/// Forgets what concerns no running replay.
void EventReplays::forget_ended(const std::vector<Running>& replays) {
  std::set<ReplayPlace> places;
  std::set<NamespaceNumber> namespaces;
  for (const Running& one : replays) {
    places.insert(one.place);
    namespaces.insert(one.place.ns);
  }
  const auto is_gone = [&](const auto& one) { return !places.contains(one.first); };
  std::erase_if(paces_, is_gone);
  std::erase_if(turns_, [&](const auto& one) { return !namespaces.contains(one.first); });
  const std::lock_guard lock(mutex_);
  std::erase_if(hindrances_, is_gone);
}

void EventReplays::note_hindrance(const ReplayPlace& place, const Result<Duration>& page) {
  const std::lock_guard lock(mutex_);
  if (page) {
    hindrances_.erase(place);
  } else {
    hindrances_[place] = page.error();
  }
}

std::optional<Error> EventReplays::hindrance_of(const ReplayPlace& place,
                                                const ReplayRecord& record) const {
  if (record.state != ReplayStatus::kRunning) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = hindrances_.find(place);
  if (found == hindrances_.end()) return std::nullopt;
  return found->second;
}

/// Sends one page, and notes the progress. Returns how long the replay must wait because of its
/// rate or the quota. After an error, the page is sent again.
Result<Duration> EventReplays::advance(const Running& replay) {
  Duration pause{0};
  const ReplayRecord after = TRY(send_page(replay, pause));
  TRY(note_progress(replay, after));
  return pause;
}

Result<ReplayRecord> EventReplays::send_page(const Running& replay, Duration& pause) {
  ReplayRecord before = replay.record;
  const StreamSpan span = TRY(parts_.events.span());
  if (span.created != before.stream_created) {
    before.state = ReplayStatus::kFailed;
    before.error = {
        "replay.stream",
        "the event stream was deleted and created again, so the range does not exist any "
        "more; begin another replay"};
    return before;
  }
  if (auto lost = TRY(target_loss(replay))) {
    before.state = ReplayStatus::kFailed;
    before.error = *std::move(lost);
    return before;
  }
  if (span.first > before.next) {
    const uint64_t first = std::min(span.first, before.last + 1);
    before.lost += first - before.next;
    before.next = first;
  }
  if (before.next > before.last) {
    before.state = ReplayStatus::kDone;
    return before;
  }
  const size_t most = std::clamp<uint64_t>(before.rate / kPagesInSecond, 1, kMostInPage);
  const StoredEvents::Page page =
      TRY(parts_.events.read({.ns = replay.ns,
                              .first = before.next,
                              .since = before.since,
                              .last = before.last,
                              .limit = before.is_dry ? 0 : std::max(most, kFewestRead)}));
  Portion portion = portion_of(replay, before, page, most);
  const size_t wanted = portion.messages.size();
  TRY(admit(replay, before, page, portion));
  const size_t admitted = portion.messages.size();
  ReplayRecord& after = portion.after;
  for (const auto& ack : publish_and_wait(parts_.publisher, std::move(portion.messages))) {
    if (ack) {
      ++after.sent;
    } else if (ack.error().code == kTooLarge) {
      ++after.refused;  // the broker will never store it
    } else {
      return tl::unexpected(ack.error());
    }
  }
  pause = admitted < wanted ? kAfterFailure : Duration(admitted * 1'000 / after.rate);
  return after;
}

/// Why nothing can take the events of the replay any more; nullopt: something can.
Result<std::optional<Error>> EventReplays::target_loss(const Running& replay) const {
  if (replay.record.target.empty()) return std::optional<Error>();
  const Snapshot view = TRY(Snapshot::take(parts_.environment));
  return lost_target(view, replay.place.ns, replay.record.target);
}

/// What the replay publishes of the messages that were read: at most `most` events.
EventReplays::Portion EventReplays::portion_of(const Running& replay, const ReplayRecord& before,
                                               const StoredEvents::Page& page, size_t most) const {
  Portion portion{.after = before, .messages = {}};
  ReplayRecord& after = portion.after;
  uint64_t next = page.next;
  const std::string_view key = parts_.environment.seal().message_key();
  for (const StoredEvent& stored : page.events) {
    if (after.until && stored.stamped >= *after.until) {
      next = 0;  // no later message is in the range
      break;
    }
    if (portion.messages.size() == most) {
      next = stored.sequence;
      break;
    }
    const Result<Event> event = decode_nats(stored.message);
    if (!event || !has_type_and_source(after, *event)) continue;
    ++after.matched;
    if (after.is_dry) continue;
    // Copies of one event get one id: the range may have an event twice, which takes effect once.
    const std::string id = fmt::format("replay-{}-{}", to_hex(replay.place.id),
                                       to_hex(fingerprint_of(replay.ns, *event)));
    const Result<Event> copy = replay_of(*event, id, after.target);
    if (!copy) ++after.refused;
    if (copy) portion.messages.push_back(message_to_publish(key, replay.ns, *copy));
  }
  if (next == 0) after.state = ReplayStatus::kDone;
  after.next = next == 0 ? after.last + 1 : next;
  return portion;
}

/// Admits the portion. If the quota of the namespace permits only a part of it now, the portion
/// becomes that part, so a quota below the size of a page slows a replay down and does not stop it.
Status EventReplays::admit(const Running& replay, const ReplayRecord& before,
                           const StoredEvents::Page& page, Portion& portion) const {
  while (!portion.messages.empty()) {
    const size_t count = portion.messages.size();
    Status admitted = parts_.admit(replay.ns, count);
    if (admitted || count == 1 || admitted.error().code != kOverRate) return admitted;
    portion = portion_of(replay, before, page, count / 2);
  }
  return {};
}

/// Writes the progress, and waits for the commit.
Status EventReplays::note_progress(const Running& replay, const ReplayRecord& after) {
  const auto written = std::make_shared<std::promise<Result<Json>>>();
  std::future<Result<Json>> answer = written->get_future();
  parts_.command(ChangeReplay{.ns = replay.ns,
                              .id = replay.place.id,
                              .kind = ChangeReplay::Kind::kMove,
                              .record = after},
                 [written](Result<Json> result) { written->set_value(std::move(result)); });
  TRY(answer.get());
  return {};
}

}  // namespace millrace
