#include "app/cluster_node.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/random_id.h"
#include "base/bytes.h"
#include "broker/log_stream.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/node_id.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How often the engine is asked whether it makes turns.
constexpr Duration kTurnEach{1'000};

/// The longest time between two heartbeats of the broker while the log is read. A shorter silence
/// than that of `takeover_after` must have several of them (cluster/silence.h).
constexpr Duration kLongestHeartbeat{500};

/// How long an `end` may take.
constexpr Duration kEndTime{10'000};

}  // namespace

/// The log, as the engine sees it: each commit waits until the log has it and this node has
/// a fresh lead, because the actions of the batch follow.
class ClusterNode::Lead final : public CommitLog {
 public:
  explicit Lead(ClusterNode& node) : node_(node) {}

  Result<LogPosition> append(std::string_view write_set) override {
    TRY(node_.check_clock_step());
    node_.note([](NodeRole& role, Time) { role.commit_started(); });
    Result<LogPosition> position = node_.log_->append(write_set);
    const bool is_over = !position && position.error().code != "log.too_large";
    const Time sent = node_.log_->confirmed().value_or(Time());
    node_.note([&](NodeRole& role, Time now) {
      role.commit_taken(sent, now);
      node_.applied_ = node_.log_->sequence();
      if (position) node_.committed_ = position->sequence;
      if (position) node_.lost_.clear();
      if (is_over) role.epoch_lost();
    });
    while (position && !node_.has_fresh_lead()) {
      if (const Status beat = node_.beat(); !beat) {
        return millrace::fail("log.closed", beat.error().message);
      }
    }
    return position;
  }

 private:
  ClusterNode& node_;
};

// The facts.

bool ClusterNode::has_fresh_lead() const {
  return steady_clock::now().time_since_epoch().count() < fresh_until_;
}

/// Allows effects as long as the lead is fresh, if this node serves.
void ClusterNode::permit(const NodeRole::NodeLead& lead) {
  const std::lock_guard lock(permit_mutex_);
  if (is_serving_) running_.load()->allow_until(lead.fresh_until, lead.sent);
}

void ClusterNode::set_serving(bool serves) {
  {
    const std::lock_guard lock(permit_mutex_);
    is_serving_ = serves;
    if (!serves) running_.load()->forbid();
  }
  if (serves) note([](NodeRole&, Time) {});
}

// Start and end.

Result<std::unique_ptr<ClusterNode>> ClusterNode::make(ProcessParts& process,
                                                       std::unique_ptr<Environment> store,
                                                       NodeEvents events) {
  std::unique_ptr<ClusterNode> node(new ClusterNode(process, std::move(store), std::move(events)));
  TRY(node->open());
  return node;
}

ClusterNode::ClusterNode(ProcessParts& process, std::unique_ptr<Environment> store,
                         NodeEvents events)
    : process_(process),
      settings_(process.settings.cluster),
      stream_(log_stream(settings_.name, process.settings.streams)),
      events_(std::move(events)),
      key_(store->seal().log_key()),
      incarnation_(random_id()),
      first_epoch_(static_cast<uint64_t>(process.clock.now().time_since_epoch().count())),
      store_(std::move(store)) {}

Status ClusterNode::open() {
  node_ = TRY(node_id(process_.settings.data, random_id));
  ConnectionSettings for_following = process_.settings.nats;
  for_following.name += " log";
  following_ = TRY(Connection::open(std::move(for_following)));
  ConnectionSettings for_appending = process_.settings.nats;
  for_appending.name += " commits";
  appending_ = TRY(Connection::open(std::move(for_appending)));
  {
    Transaction tx(*store_);
    Status checked = check_store_of_cluster(tx, settings_.name);
    if (!checked && checked.error().code != "store.joining") return checked;
  }
  // A store of a server without a cluster founds one; a store that lacks rows is cleared.
  Result<std::unique_ptr<LogFollower>> follower = LogFollower::open(*store_);
  const bool is_joining = !follower && follower.error().code == "store.joining";
  const bool has_base = !follower && follower.error().code == "store.cluster" && settings_.founds;
  if (!follower && !is_joining && !has_base) return tl::unexpected(follower.error());
  if (follower) {
    follower_ = *std::move(follower);
    position_ = follower_->position();
  }
  founds_ = settings_.founds && position_.sequence == 0 && !is_joining;
  if (settings_.founds && !founds_) {
    spdlog::info("--found has no effect: the folder is that of a node of the cluster already");
  }
  roll_ = std::make_unique<NodeRoll>(*following_,
                                     node_roll_subject(settings_.name, process_.settings.streams),
                                     key_, [this] { return state(); });
  mender_ = std::make_unique<LogMender>(*appending_, stream_, key_);
  set_position();
  if (follower_) read_registered();
  return {};
}

/// Makes the role of a node whose store has that much of the log. The caller holds mutex_, or there
/// are no threads yet.
void ClusterNode::set_position() {
  history_ = history_at(position_);
  applied_ = position_.sequence;
  committed_ = position_.sequence;
  kept_ = std::make_shared<KeptLog>(history_.place);
  role_.emplace(NodeRole::Settings{.takeover_after = settings_.takeover_after,
                                   .max_clock_offset = settings_.max_clock_offset,
                                   .founds = founds_},
                position_.sequence);
  if (clock_offset_) role_->clock_measured(*clock_offset_);
  if (is_stop_asked_) role_->stop_asked(steady_clock::now());
}

void ClusterNode::start() {
  node_thread_ = std::thread(&ClusterNode::run, this);
  clock_thread_ = std::thread(&ClusterNode::watch_cluster, this);
}

ClusterNode::~ClusterNode() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  if (mender_) mender_->stop();
  if (clock_thread_.joinable()) clock_thread_.join();
  if (node_thread_.joinable()) node_thread_.join();
  close_reader();
  {
    const std::lock_guard lock(log_mutex_);
    if (log_) log_->stop();
  }
  loader_.stop();
  appender_.stop();
  snapshots_.reset();
  if (engine_) engine_->abandon();
  engine_.reset();
}

void ClusterNode::ask_to_stop() {
  note([this](NodeRole& role, Time now) {
    is_stop_asked_ = true;
    role.stop_asked(now);
  });
}

void ClusterNode::end(NodeEnd how) {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  events_.on_end(std::move(how));
}

// The node thread.

void ClusterNode::run() {
  name_thread("cluster-node");
  run_promptly();
  if (!join_cluster()) return;
  Time ask_at{};  // when the engine is asked next
  std::unique_lock lock(mutex_);
  while (!is_closed_) {
    if (is_base_due_) {
      lock.unlock();
      begin_with_base();
      lock.lock();
    }
    const std::vector<NodeAction> actions = role_->take_actions(steady_clock::now());
    if (!actions.empty()) {
      lock.unlock();
      for (const NodeAction& action : actions) perform(action);
      lock.lock();
      continue;
    }
    const Time now = steady_clock::now();
    Time wake = now + kTurnEach;
    if (const auto next = role_->next_time(now)) wake = std::min(wake, *next);
    const uint64_t seen = facts_;
    changed_.wait_until(lock, wake, [&] { return is_closed_ || facts_ != seen; });
    if (steady_clock::now() < ask_at) continue;
    ask_at = steady_clock::now() + kTurnEach;
    lock.unlock();
    ask_for_turn();
    lock.lock();
  }
}

void ClusterNode::perform(const NodeAction& action) {
  using What = NodeAction::What;
  switch (action.what) {
    case What::kOpenReader:
      return open_reader();
    case What::kAppendBegin:
      return appender_.put([this, action] { append_begin(action); });
    case What::kStartEngine:
      spdlog::info("this node is the active of cluster {} now", settings_.name);
      close_reader();
      events_.on_active_changed();
      return loader_.put([this, is_careful = action.is_careful] { start_engine(is_careful); });
    case What::kAppendBeat:
      return appender_.put([this] {
        if (const Status done = beat(); !done) spdlog::warn("{}", done.error().message);
      });
    case What::kServe:
      return set_serving(true);
    case What::kStopServing:
      set_serving(false);
      return events_.on_lead_lost();
    case What::kDrain:
      return loader_.put([this] {
        if (engine_) engine_->drain();
        note([](NodeRole& role, Time) { role.drained(); });
      });
    case What::kAppendEnd:
      return appender_.put([this] { append_end(); });
    case What::kReplace:
      return end({NodeEnd::What::kReplace});
    case What::kExit:
      return end({NodeEnd::What::kExit});
  }
}

void ClusterNode::open_reader() {
  const std::lock_guard lock(reader_mutex_);
  if (reader_) return reader_->reopen();
  reader_ = std::make_unique<LogReader>(
      *following_,
      LogReaderSettings{
          .stream = stream_,
          .key = key_,
          .newest_format = kStoreFormat,
          .kept = kept_,
          .pull = {.heartbeat = std::min(kLongestHeartbeat, settings_.takeover_after / 4)}},
      follower_->position(), static_cast<LogSink&>(*this));
}

/// An active needs no reader: an append shows whether another node has an epoch now.
void ClusterNode::close_reader() {
  std::unique_ptr<LogReader> reader;
  {
    const std::lock_guard lock(reader_mutex_);
    reader.swap(reader_);
  }
}

/// Asks the engine for a turn, unless the question before is not answered yet.
void ClusterNode::ask_for_turn() {
  RunningEngine* const engine = running_;
  if (engine == nullptr || is_asked_for_turn_.exchange(true)) return;
  engine->ask_turn([this] {
    is_asked_for_turn_ = false;
    const std::lock_guard lock(mutex_);
    role_->turn_completed(steady_clock::now());
  });
}

// The thread that appends.

JetStreamLogSettings ClusterNode::log_settings() {
  const std::lock_guard lock(mutex_);
  return {.stream = stream_,
          .key = key_,
          .node = node_,
          .incarnation = incarnation_,
          .format = kStoreFormat,
          .first_epoch = first_epoch_,
          .kept = kept_,
          .takeover_after = settings_.takeover_after,
          .deposed_by = [this] { return deposed_by(); },
          .may_restore = [this](uint64_t stream_end) { return may_restore(stream_end); }};
}

/// Makes log_ behind the log as this node has read it. `has_base`: for a `begin` with a base.
void ClusterNode::open_log(bool has_base) {
  LogHistory history;
  {
    const std::lock_guard lock(mutex_);
    history = history_;
    epoch_ = history.incarnation == incarnation_
                 ? history.epoch
                 : epoch_behind(history.epoch, has_base, first_epoch_);
  }
  auto log = std::make_unique<JetStreamLog>(*appending_, log_settings(), history);
  const std::lock_guard lock(log_mutex_);
  log_ = std::move(log);
}

/// The id of the base that a `begin` has which expects that sequence: the rows with which the
/// cluster is founded, or with which an operator continues a log that has lost something.
std::optional<std::string> ClusterNode::base_of_begin(uint64_t expects) const {
  const std::lock_guard lock(mutex_);
  if (!lost_base_.empty()) return lost_base_;
  if (is_base(position_) && expects == 0) return to_hex(position_.chain);
  return std::nullopt;
}

void ClusterNode::append_begin(const NodeAction& action) {
  LogBegin begin{.address = settings_.url,
                 .version = MILLRACE_VERSION,
                 .base = base_of_begin(action.expects),
                 .unclean = action.unclean};
  open_log(begin.base.has_value());
  Status began = check_rank(action.expects);
  if (began) began = log_->begin(std::move(begin));
  if (began) {
    crash_point(CrashPoint::kEpochOpened);
    const Time sent = *log_->confirmed();
    return note([this, sent](NodeRole& role, Time) {
      lost_base_.clear();
      role.begin_taken(sent);
    });
  }
  if (std::exchange(begin_failure_, began.error().message) != began.error().message) {
    spdlog::info("this node has not become the active: {}", began.error().message);
  }
  {
    const std::lock_guard lock(log_mutex_);
    log_.reset();
  }
  note([](NodeRole& role, Time) { role.begin_failed(); });
}

Status ClusterNode::beat() {
  Status done = log_->beat();
  const std::optional<Time> sent = log_->confirmed();
  note([&](NodeRole& role, Time) {
    applied_ = log_->sequence();
    if (done) lost_.clear();
    if (done && sent) role.beat_taken(*sent);
    if (!done) role.epoch_lost();
  });
  return done;
}

void ClusterNode::append_end() {
  const Status done = log_->end(kEndTime);
  if (done) {
    spdlog::info("this node has ended its epoch: a standby takes over at once");
  } else {
    spdlog::warn("the epoch of this node has no end in the log: {}", done.error().message);
  }
  note([&](NodeRole& role, Time) { done ? role.end_taken() : role.epoch_lost(); });
}

// The thread that loads the engine.

void ClusterNode::start_engine(bool is_careful) {
  follower_.reset();
  if (!log_) open_log(false);  // the log has a `begin` of this node whose answer was lost
  lead_ = std::make_unique<Lead>(*this);
  const Status started = load_engine(is_careful);
  if (!started) return end({NodeEnd::What::kFailed, started.error()});
  events_.on_service(engine_->service());
  note([](NodeRole& role, Time now) { role.engine_loaded(now); });
}

Status ClusterNode::load_engine(bool is_careful) {
  const ClusterLead lead{
      .log = *lead_,
      .epoch = epoch_,
      .on_log_error =
          [this](const Error&) { note([](NodeRole& role, Time) { role.epoch_lost(); }); },
      .is_careful = is_careful};
  engine_ = TRY(RunningEngine::make(process_, std::move(store_), lead));
  running_ = engine_.get();
  crash_point(CrashPoint::kActive);
  TRY(engine_->start());
  return {};
}

// The thread of the reader.

bool ClusterNode::deliver(LogNews news) {
  note([&](NodeRole& role, Time now) { note_news(news, role, now); });
  if (!news.commits.empty()) {
    if (const Status applied = apply_commits(*follower_, news.commits); !applied) {
      fail(applied.error());
      return false;
    }
    read_registered();
  }
  const uint64_t applied = news.history.place.sequence;
  note([&](NodeRole& role, Time now) {
    applied_ = applied;
    if (!news.commits.empty()) committed_ = news.commits.back().position.sequence;
    if (news.messages > 0) applied_stamped_ = news.stamped;
    role.applied(applied);
    if (news.is_at_end) role.broker_heard(0, now);
  });
  if (news.begin || news.has_ended) events_.on_active_changed();
  const std::lock_guard lock(mutex_);
  return !is_closed_;
}

/// Reports what was read. The caller holds mutex_.
void ClusterNode::note_news(const LogNews& news, NodeRole& role, Time now) {
  const auto age_of = [&](TimePoint stamped) {
    return process_.clock.now() - stamped - clock_offset_.value_or(Duration(0));
  };
  const uint64_t pending = news.is_at_end ? 0 : news.pending;
  const uint64_t last = news.history.place.sequence;
  const bool is_foreign = news.messages == 0 && last != history_.place.sequence;
  if (news.is_opened) role.reader_opened();
  if (news.is_at_end && leader_ != news.leader) {
    if (!leader_.empty()) role.leader_changed(now);
    leader_ = news.leader;
  }
  has_ended_ = news.has_ended;
  if (news.messages > 0) stamped_ = news.stamped;
  if (news.begin) {
    address_ = news.begin->address;
    lost_base_.clear();
    role.heard({.what = LogHeard::What::kBegin,
                .sequence = news.begin_sequence,
                .pending = 1,
                .age = age_of(news.begin_stamped),
                .is_own = news.history.incarnation == incarnation_,
                .unclean = news.begin->unclean},
               now);
  }
  if (news.messages > 0 && !(news.begin && news.begin_sequence == last)) {
    role.heard({.what = news.has_ended ? LogHeard::What::kEnd : LogHeard::What::kBeat,
                .sequence = last,
                .pending = pending,
                .age = age_of(news.stamped)},
               now);
  }
  if (is_foreign) {
    role.heard({.what = LogHeard::What::kForeign, .sequence = last, .pending = pending}, now);
  }
  history_ = news.history;
}

void ClusterNode::fail(const Error& error) {
  if (error.code == "log.trimmed") {
    spdlog::warn("{}: the process starts again, and loads a snapshot", error.message);
    return end({NodeEnd::What::kReplace});
  }
  spdlog::error("this node does not follow the log of the cluster any further: {} [{}]",
                error.message, error.code);
  note([&](NodeRole& role, Time) { role.follow_failed(error); });
}

}  // namespace millrace
