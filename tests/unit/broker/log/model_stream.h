// A stream with replicas, as its clients see it, on a virtual clock: proposals are dropped, a
// leader that is cut off answers from an old state, answers come late, twice or never, and another
// leader keeps only some of the proposals of the one before it. All choices are drawn from a seed.
// One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/whole_number.h"
#include "broker/log/log_book.h"
#include "cloudevents/nats_binding.h"
#include "tests/model/random.h"

namespace millrace {

/// What happens at which time.
class LogClock {
 public:
  using Time = LogBook::Time;

  Time now() const { return now_; }
  void at(Time time, std::function<void()> what) {
    events_.emplace(std::max(time, now_), std::move(what));
  }
  void after(int milliseconds, std::function<void()> what) {
    at(now_ + Duration(milliseconds), std::move(what));
  }
  void run_until(Time end) {
    while (!events_.empty() && events_.begin()->first <= end) {
      now_ = events_.begin()->first;
      const std::function<void()> what = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      what();
    }
    now_ = std::max(now_, end);
  }

 private:
  Time now_{};
  std::multimap<Time, std::function<void()>> events_;
};

class ModelStream {
 public:
  struct Answer {
    enum class What { kStored, kRefused, kError, kNoResponders } what = What::kNoResponders;
    uint64_t sequence = 0;  ///< kStored: of the message; kRefused: the last one
  };

  /// There are faults before `faults_end` only.
  ModelStream(LogClock& clock, reference::Random& random, LogClock::Time faults_end)
      : clock_(clock), random_(random), faults_end_(faults_end) {
    lost_ = random_.below(30);
    late_ = random_.below(30);
    doubled_ = random_.below(20);
    dropped_ = random_.below(20);
    errors_ = random_.below(10);
    checks_when_proposed_ = random_.chance(50);
    clock_.at(faults_end, [this] {
      stale_.reset();
      has_leader_ = true;
    });
  }
  ModelStream(const ModelStream&) = delete;
  ModelStream& operator=(const ModelStream&) = delete;

  // Requests of clients.
  void publish(NatsMessage message, std::function<void(Answer)> answer) {
    travel([this, message = std::move(message), answer = std::move(answer)] {
      Leader* const leader = reached();
      if (leader == nullptr) return no_leader([answer] { answer({}); });
      if (faulty() && random_.chance(errors_)) {
        return travel([answer] { answer({Answer::What::kError}); });
      }
      propose(*leader, {message, expected_of(message), answer});
    });
  }
  /// `answer` gets the message; null: the leader does not have that sequence.
  void read(uint64_t sequence, std::function<void(const NatsMessage*)> answer,
            std::function<void()> failed) {
    travel([this, sequence, answer = std::move(answer), failed = std::move(failed)] {
      const Leader* const leader = reached();
      if (leader == nullptr) return no_leader(failed);
      const bool is_there = sequence >= 1 && sequence <= applied(*leader);
      // Not a pointer into stored_, which may grow meanwhile.
      const std::optional<NatsMessage> message =
          is_there ? std::optional(stored_[sequence - 1]) : std::nullopt;
      travel([answer, message] { answer(message ? &*message : nullptr); });
    });
  }
  void ask_end(std::function<void(uint64_t)> answer, std::function<void()> failed) {
    travel([this, answer = std::move(answer), failed = std::move(failed)] {
      const Leader* const leader = reached();
      if (leader == nullptr) return no_leader(failed);
      travel([answer, last = applied(*leader)] { answer(last); });
    });
  }

  /// Another program publishes a message, which expects no sequence.
  void add_foreign(NatsMessage message) {
    if (has_leader_) propose(current_, {std::move(message), std::nullopt, [](Answer) {}});
  }
  /// Another leader is elected, with some of the proposals of the one before it, which may answer
  /// from its old state for seconds.
  void elect() {
    if (!has_leader_) return;
    Leader former = current_;
    former.frozen = stored_.size();
    const int kept = random_.below(static_cast<int>(current_.pending.size()) + 1);
    for (int i = 0; i < kept; ++i) apply_first(false);
    current_.pending.clear();
    ++term_;
    has_leader_ = false;
    clock_.after(random_.below(4'000), [this] { has_leader_ = true; });
    if (!random_.chance(60)) return;
    stale_ = std::move(former);
    clock_.after(1'000 + random_.below(9'000), [this, term = term_] {
      if (term == term_) stale_.reset();
    });
  }

  /// All brokers lose power: the stream keeps its first `kept` messages, and what was under way
  /// between the clients and the brokers is lost.
  void forget(size_t kept) {
    const auto begin = static_cast<std::ptrdiff_t>(std::min(kept, stored_.size()));
    stored_.erase(stored_.begin() + begin, stored_.end());
    stored_at_.erase(stored_at_.begin() + begin, stored_at_.end());
    current_.pending.clear();
    stale_.reset();
    ++term_;
    ++power_cuts_;
    has_leader_ = false;
    clock_.after(random_.below(3'000), [this] { has_leader_ = true; });
  }

  /// What the stream has. Only forget() takes something from it.
  const std::vector<NatsMessage>& stored() const { return stored_; }
  /// When the stream has stored the message of that sequence.
  LogClock::Time stored_at(uint64_t sequence) const { return stored_at_[sequence - 1]; }

 private:
  struct Proposal {
    NatsMessage message;
    std::optional<uint64_t> expected;
    std::function<void(Answer)> answer;
  };
  struct Leader {
    std::optional<size_t> frozen;  ///< of a leader that is cut off: how many messages it has
    std::deque<Proposal> pending;
  };

  bool faulty() const { return clock_.now() < faults_end_; }
  uint64_t applied(const Leader& leader) const { return leader.frozen.value_or(stored_.size()); }

  static std::optional<uint64_t> expected_of(const NatsMessage& message) {
    const std::string* const text = find_header(message.headers, "Nats-Expected-Last-Sequence");
    return text == nullptr ? std::nullopt : whole_number(*text);
  }

  /// A request or an answer between a client and a broker.
  void travel(const std::function<void()>& what) {
    if (faulty() && random_.chance(lost_)) return;
    const int copies = faulty() && random_.chance(doubled_) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const bool is_late = faulty() && random_.chance(late_);
      clock_.after(is_late ? 300 + random_.below(3'000) : 1 + random_.below(40),
                   [this, what, cuts = power_cuts_] {
                     if (cuts == power_cuts_) what();
                   });
    }
  }
  Leader* reached() {
    if (stale_ && random_.chance(40)) return &*stale_;
    return has_leader_ ? &current_ : nullptr;
  }
  void no_leader(const std::function<void()>& no_responders) {
    if (random_.chance(50)) travel(no_responders);
  }

  void propose(Leader& leader, Proposal proposal) {
    const uint64_t last = applied(leader) + leader.pending.size();
    if (checks_when_proposed_ && proposal.expected && *proposal.expected != last) {
      return refuse(proposal, last);
    }
    if (faulty() && random_.chance(dropped_)) return;
    leader.pending.push_back(std::move(proposal));
    if (leader.frozen) return;  // no other broker ever agrees
    clock_.after(1 + random_.below(30), [this, term = term_] {
      if (term == term_ && !current_.pending.empty()) apply_first(true);
    });
  }
  /// The brokers have agreed on the first proposal. `answers`: and its leader still leads.
  void apply_first(bool answers) {
    const Proposal proposal = std::move(current_.pending.front());
    current_.pending.pop_front();
    if (proposal.expected && *proposal.expected != stored_.size()) {
      if (answers) refuse(proposal, stored_.size());
      return;
    }
    stored_.push_back(proposal.message);
    stored_at_.push_back(clock_.now());
    if (!answers) return;
    travel([answer = proposal.answer, sequence = stored_.size()] {
      answer({Answer::What::kStored, sequence});
    });
  }
  void refuse(const Proposal& proposal, uint64_t last) {
    travel([answer = proposal.answer, last] { answer({Answer::What::kRefused, last}); });
  }

  LogClock& clock_;
  reference::Random& random_;
  const LogClock::Time faults_end_;
  // In percent.
  int lost_ = 0;
  int late_ = 0;
  int doubled_ = 0;
  int dropped_ = 0;
  int errors_ = 0;
  bool checks_when_proposed_ = false;  ///< as nats-server 2.12 does; or when they are applied
  std::vector<NatsMessage> stored_;
  std::vector<LogClock::Time> stored_at_;
  Leader current_;
  bool has_leader_ = true;
  std::optional<Leader> stale_;
  int term_ = 0;
  int power_cuts_ = 0;
};

}  // namespace millrace
