#include "tests/unit/cluster/role_node.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {
namespace {

constexpr Duration kEngineLimit{3'000};
constexpr Duration kAnswerTimeout{1'000};

}  // namespace

RoleNode::RoleNode(RoleNet& net, uint8_t number) : net_(net), number_(number) {
  net_.on_stored.emplace_back([this] { send_messages(); });
}

// The process.

void RoleNode::start() {
  ++process_;
  ++net_.incarnations;
  incarnation_ = {};
  for (size_t i = 0; i < 4; ++i) {
    incarnation_[i] = static_cast<uint8_t>(net_.incarnations >> (8 * i));
  }
  is_alive_ = true;
  is_paused_ = is_serving_ = is_draining_ = is_open_ = false;
  waiting_.clear();
  held_.clear();
  wakes_.reset();
  read_ = sent_ = folder_;
  lead_.reset();
  appends_.clear();
  role_.emplace(NodeRole::Settings{.engine_limit = kEngineLimit, .founds = number_ == 0}, folder_);
  for (uint64_t sequence = folder_; sequence > 0; --sequence) {
    if (net_.stored[sequence - 1].what != LogHeard::What::kBegin) continue;
    role_->heard(heard(sequence, 0), net_.clock.now());
    break;
  }
  set_clock(clock_offset_);
}

void RoleNode::die(Duration time) {
  if (!is_alive_) return;
  is_alive_ = false;
  ++process_;
  net_.clock.after(time, [this] {
    if (!is_alive_) start();
  });
}

void RoleNode::pause(Duration time) {
  if (!is_running()) return;
  is_paused_ = true;
  after(time, [this] { resume(); });
}

void RoleNode::resume() {
  if (!is_alive_ || !is_paused_) return;
  is_paused_ = false;
  check_effects();  // a thread that performs effects may be the first that runs
  for (const Fact& fact : std::exchange(waiting_, {})) fact();
  pump();
}

void RoleNode::cut_link(Duration time) {
  if (!has_link_) return;
  has_link_ = false;
  net_.clock.after(time, [this] { restore_link(); });
}

void RoleNode::restore_link() {
  if (has_link_) return;
  has_link_ = true;
  const std::vector<Fact> held = std::exchange(held_, {});
  if (!is_alive_ || !is_open_) return;
  if (net_.random.chance(50)) {
    is_open_ = false;
    report([this] { role_->reader_closed(); });
    return;
  }
  for (const Fact& arrival : held) arrival();
}

void RoleNode::ask_to_stop() {
  report([this] { role_->stop_asked(net_.clock.now()); });
}

void RoleNode::set_clock(Duration offset) {
  clock_offset_ = offset;
  report([this] { role_->clock_measured(clock_offset_); });
}

void RoleNode::check_effects() const {
  if (may_serve() && net_.latest_epoch() != incarnation_) {
    net_.violate(fmt::format("node {} may have effects in the epoch of another one", number_));
  }
}

/// Does that after that time, unless the process has ended until then.
void RoleNode::after(Duration time, Fact what) {
  net_.clock.after(time, [this, process = process_, what = std::move(what)] {
    if (process == process_) what();
  });
}

/// Reports to the role what happens, when the process runs.
void RoleNode::report(Fact fact) {
  if (!is_alive_) return;
  if (is_paused_) {
    waiting_.push_back(std::move(fact));
    return;
  }
  fact();
  pump();
}

void RoleNode::pump() {
  const uint64_t process = process_;
  for (const NodeAction& action : role_->take_actions(net_.clock.now())) {
    perform(action);
    if (process != process_) return;
  }
  const auto next = role_->next_time(net_.clock.now());
  if (!next || wakes_ == next) return;
  wakes_ = next;
  after(std::chrono::ceil<Duration>(*next - net_.clock.now()), [this, next] {
    if (wakes_ == next) report([] {});
  });
}

void RoleNode::perform(const NodeAction& action) {
  using What = NodeAction::What;
  switch (action.what) {
    case What::kOpenReader:
      is_open_ = false;
      return after(net_.delay(), [this] { open_reader(); });
    case What::kAppendBegin:
      return begin(action);
    case What::kStartEngine:
      ++net_.counts[action.is_careful ? "careful starts" : "starts"];
      return after(Duration(50 + net_.random.below(1'500)), [this] {
        report([this] {
          role_->engine_loaded(net_.clock.now());
          turn_later();
        });
      });
    case What::kAppendBeat:
      return append(LogHeard::What::kBeat);
    case What::kServe:
      is_serving_ = true;
      return;
    case What::kStopServing:
      ++net_.counts["stops of effects"];
      is_serving_ = false;
      return;
    case What::kDrain:
      is_draining_ = true;
      return after(Duration(net_.random.below(800)),
                   [this] { report([this] { role_->drained(); }); });
    case What::kAppendEnd:
      if (is_serving_) net_.violate(fmt::format("node {} ends with effects", number_));
      return append(LogHeard::What::kEnd);
    case What::kReplace:
      ++net_.counts["replaced"];
      return start();
    case What::kExit:
      ++net_.counts["exits"];
      return die(Duration(100 + net_.random.below(2'000)));
  }
}

// The reader of the log.

void RoleNode::open_reader() {
  if (!has_link_ || !net_.has_leader) return after(Duration(300), [this] { open_reader(); });
  is_open_ = true;
  ++reader_;
  sent_ = read_;
  report([this] { role_->reader_opened(); });
  send_messages();
  send_heartbeat(reader_);
}

void RoleNode::send_heartbeat(uint64_t reader) {
  if (!is_open_ || reader != reader_) return;
  if (net_.has_leader || net_.speaks_without_leader) {
    const uint64_t pending = net_.log.last_sequence() - sent_;
    send_to_reader([this, pending] { role_->broker_heard(pending, net_.clock.now()); });
  }
  after(Duration(500), [this, reader] { send_heartbeat(reader); });
}

void RoleNode::send_messages() {
  while (is_alive_ && is_open_ && net_.has_leader && sent_ < net_.stored.size()) {
    const uint64_t sequence = ++sent_;
    const uint64_t pending = net_.stored.size() - sent_;
    send_to_reader([this, sequence, pending] { read(sequence, pending); });
  }
}

void RoleNode::see_leader() {
  send_to_reader([this] { role_->leader_changed(net_.clock.now()); });
  send_messages();
}

/// Sends it to the open reader, behind all that was sent before.
void RoleNode::send_to_reader(Fact fact) {
  if (!is_alive_ || !is_open_) return;
  arrives_ = std::max(arrives_, net_.clock.now() + net_.delay());
  const Duration time = std::chrono::ceil<Duration>(arrives_ - net_.clock.now());
  after(time, [this, fact = std::move(fact), reader = reader_] { receive(fact, reader); });
}

void RoleNode::receive(Fact fact, uint64_t reader) {
  if (!is_open_ || reader != reader_) return;
  if (has_link_) return report(std::move(fact));
  held_.emplace_back([this, process = process_, fact = std::move(fact), reader] {
    if (process == process_) receive(fact, reader);
  });
}

void RoleNode::read(uint64_t sequence, uint64_t pending) {
  if (sequence != read_ + 1) return;  // of a former reader
  read_ = sequence;
  role_->heard(heard(sequence, pending), net_.clock.now());
  if (!net_.fault(20)) return apply(sequence);
  const int longest = net_.random.chance(10) ? 3'000 : 100;
  after(Duration(net_.random.below(longest)),
        [this, sequence] { report([this, sequence] { apply(sequence); }); });
}

LogHeard RoleNode::heard(uint64_t sequence, uint64_t pending) const {
  const RoleNet::Stored& stored = net_.stored.at(sequence - 1);
  const MemoryLog::Message& message = net_.log.messages().at(sequence - 1);
  return {.what = stored.what,
          .sequence = sequence,
          .pending = pending,
          .age = std::chrono::ceil<Duration>(net_.clock.now() - stored.at),
          .is_own = !message.is_commit() && message.position.name.incarnation == incarnation_,
          .unclean = stored.unclean};
}

void RoleNode::apply(uint64_t sequence) {
  folder_ = std::max(folder_, sequence);
  role_->applied(sequence);
}

// Appends.

void RoleNode::begin(const NodeAction& action) {
  if (action.expects != folder_) {
    net_.violate(fmt::format("node {} begins behind {}, but has applied the log up to {}", number_,
                             action.expects, folder_));
  }
  if (std::chrono::abs(clock_offset_) > Duration(1'000)) {
    net_.violate(fmt::format("node {} begins with a wrong clock", number_));
  }
  const auto made = std::make_shared<Begin>(
      Begin{.expects = action.expects, .unclean = action.unclean, .sent = net_.clock.now()});
  if (has_link_) {
    net_.clock.after(net_.delay(), [this, made, process = process_, incarnation = incarnation_] {
      store_begin(made, process, incarnation);
    });
  }
  after(kAnswerTimeout, [this, made] {
    if (made->is_known) return;
    ++net_.counts["begins without an answer"];
    end_begin(*made, false);
  });
}

void RoleNode::store_begin(const std::shared_ptr<Begin>& begin, uint64_t process,
                           const RandomName& incarnation) {
  if (!has_link_ || !net_.has_leader) return;
  RandomName node{};
  node[0] = static_cast<uint8_t>(number_ + 1);
  auto lead = net_.log.start_epoch(node, incarnation, begin->expects);
  const bool is_taken = lead.has_value();
  if (is_taken) {
    if (process == process_) lead_ = *std::move(lead);
    net_.note_stored(LogHeard::What::kBegin, begin->unclean);
  }
  if (process != process_) return;
  after(net_.delay(), [this, begin, is_taken] {
    if (has_link_ && !begin->is_known && !net_.fault(10)) end_begin(*begin, is_taken);
  });
}

void RoleNode::end_begin(Begin& begin, bool is_taken) {
  begin.is_known = true;
  report([this, is_taken, sent = begin.sent] {
    if (is_taken) {
      role_->begin_taken(sent);
    } else {
      role_->begin_failed();
    }
  });
}

void RoleNode::append(LogHeard::What what) {
  appends_.push_back(what);
  if (appends_.size() == 1) send_append();
}

void RoleNode::send_append() {
  CHECK(lead_ != nullptr);
  attempt(std::make_shared<Append>(
      Append{.what = appends_.front(), .sent = net_.clock.now(), .lead = lead_}));
}

void RoleNode::attempt(const std::shared_ptr<Append>& append) {
  if (append->is_known) return;
  if (has_link_) {
    net_.clock.after(net_.delay(), [this, append, process = process_] { store(append, process); });
  }
  after(kAnswerTimeout, [this, append] { attempt(append); });
}

void RoleNode::store(const std::shared_ptr<Append>& append, uint64_t process) {
  if (!has_link_ || !net_.has_leader) return;
  if (!append->is_stored && !append->is_refused) {
    const auto position = append->lead->append("");
    append->is_stored = position.has_value();
    append->is_refused = !append->is_stored;
    if (append->is_stored) net_.note_stored(append->what);
  }
  if (process != process_) return;
  after(net_.delay(), [this, append] {
    if (append->is_known || !has_link_ || net_.fault(10)) return;
    append->is_known = true;
    report([this, append] { end_append(*append); });
  });
}

void RoleNode::end_append(const Append& append) {
  if (append.is_refused) {
    ++net_.counts["deposed"];
    role_->epoch_lost();
    return;
  }
  appends_.pop_front();
  if (append.what == LogHeard::What::kBeat) {
    role_->beat_taken(append.sent);
  } else if (append.what == LogHeard::What::kEnd) {
    role_->end_taken();
  } else {
    ++net_.counts["commits"];
    role_->commit_taken(append.sent, net_.clock.now());
    turn_later();
  }
  if (!appends_.empty()) send_append();
}

// The engine.

void RoleNode::turn_later() {
  after(Duration(20 + net_.random.below(300)), [this] { report([this] { turn(); }); });
}

void RoleNode::turn() {
  if (is_draining_) return;
  const NodeRole::Time now = net_.clock.now();
  if (hangs_until_ > now) {
    const Duration left = std::chrono::ceil<Duration>(hangs_until_ - now);
    return after(left, [this] { report([this] { turn(); }); });
  }
  role_->turn_completed(now);
  if (!net_.random.chance(40)) return turn_later();
  role_->commit_started();
  append(LogHeard::What::kCommit);
}

}  // namespace millrace
