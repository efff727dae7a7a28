// KeepingNode: a node that keeps the newest messages of the log, on a model of the stream
// (model_stream.h): a standby that takes over when no message comes, an active that appends, and
// what restores the log if it may. Only one test program includes this file. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/log/log_begin.h"
#include "broker/log/log_book.h"
#include "broker/log/log_judge.h"
#include "broker/log/log_restore.h"
#include "broker/log/log_tail.h"
#include "tests/unit/broker/log/log_makers.h"
#include "tests/unit/broker/log/model_stream.h"

namespace millrace {

inline constexpr uint64_t kFormatOfKept = 6;
inline constexpr Duration kTakeover{2'000};
inline constexpr int kTick = 50;  // milliseconds between two looks of a standby at the log

/// A commit by its epoch and number, as a book or a reader has it.
struct KnownCommit {
  LogPlace place;
  std::string write_set;

  bool operator==(const KnownCommit&) const = default;
};
using KnownCommits = std::map<std::pair<uint64_t, uint64_t>, KnownCommit>;

class KeepingNode;
using KeepingNodes = std::vector<std::unique_ptr<KeepingNode>>;

/// A standby that takes over when no message comes, and restores the log if it may.
class KeepingNode {
 public:
  /// How much of the log a node has: its epoch, and the sequence up to which it has it.
  using Rank = std::pair<uint64_t, uint64_t>;

  KeepingNode(LogClock& clock, ModelStream& stream, reference::Random& random,
              const KeepingNodes& nodes, uint8_t number)
      : clock_(clock), stream_(stream), random_(random), nodes_(nodes), number_(number) {
    heard_ = clock_.now();
    clock_.after(random_.below(kTick), [this] { tick(); });
  }
  KeepingNode(const KeepingNode&) = delete;
  KeepingNode& operator=(const KeepingNode&) = delete;

  Rank rank() const {
    if (is_active()) return {epoch_, book_->place().sequence};
    return {history_.epoch, history_.place.sequence};
  }
  bool is_active() const { return book_ && leads_; }
  bool is_suspended() const { return clock_.now() < suspended_until_; }
  bool is_restoring() const { return restore_.has_value(); }
  void suspend(Duration time) { suspended_until_ = clock_.now() + time; }
  const KnownCommits& certain() const { return certain_; }
  /// The newest message that the node has passed over, because it is not of the log; 0: none.
  uint64_t newest_foreign() const {
    uint64_t sequence = tail_.last();
    while (tail_.has(sequence) && tail_.at(sequence) != nullptr) --sequence;
    return tail_.has(sequence) ? sequence : 0;
  }

  uint64_t restored = 0;       ///< messages
  uint64_t restored_late = 0;  ///< of them by a node that had to ask the others
  uint64_t deposed = 0;
  bool appends = true;  ///< an active appends more

 private:
  enum class Standing { kBehind, kUnknown, kHighest };

  /// What the nodes that answer say about their ranks.
  Standing standing() const {
    bool all_answer = true;
    for (const auto& other : nodes_) {
      if (other.get() == this) continue;
      if (other->is_suspended()) {
        all_answer = false;
      } else if (is_active() ? other->rank().first > epoch_ : is_before(*other)) {
        return Standing::kBehind;
      }
    }
    return all_answer ? Standing::kHighest : Standing::kUnknown;
  }
  /// Whether the other node has more; of equal ones the first.
  bool is_before(const KeepingNode& other) const {
    if (other.rank() != rank()) return rank() < other.rank();
    const bool is_first = other.is_active() || other.number_ < number_;
    return is_first && stream_.stored().size() < rank().second;
  }

  void tick() {
    clock_.after(kTick, [this] { tick(); });
    if (is_suspended() || book_ || restore_) return;
    read();
    if (stream_.stored().size() < history_.place.sequence) {
      heard_ = clock_.now();  // as behind each opening of the reader
      if (standing() == Standing::kHighest) start_restore(clock_.now() + kTakeover, true);
      return;
    }
    if (history_.epoch > 0 && history_.incarnation == incarnation()) return lead();
    if (clock_.now() - heard_ < kTakeover || standing() == Standing::kBehind) return;
    begin();
  }
  void read() {
    if (!judge_) judge_.emplace(kLogKey, kFormatOfKept, history_);
    while (history_.place.sequence < stream_.stored().size()) {
      const uint64_t sequence = history_.place.sequence + 1;
      const Result<LogSeen> seen = judge_->see(sequence, stream_.stored()[sequence - 1]);
      EXPECT_TRUE(seen) << "node " << int{number_} << ": " << seen.error().message;
      if (!seen) return;
      if (seen->message) heard_ = clock_.now();
      tail_.add(sequence, seen->message, clock_.now());
      history_ = judge_->history();
    }
  }

  LogIncarnation incarnation() const {
    return incarnation_of(static_cast<uint8_t>(number_ + 16 * (deposed % 15)));
  }
  void begin() {
    make_book();
    epoch_ = history_.epoch + 1;
    leads_ = false;
    append(LogKind::kBegin, {encode_log_begin({.node = incarnation_of(number_),
                                               .behind_epoch = history_.epoch,
                                               .behind_incarnation = history_.incarnation})});
  }
  /// The reader has found the begin of this node.
  void lead() {
    make_book();
    epoch_ = history_.epoch;
    complete_ = history_.place;
    leads_ = true;
    commit_ = 0;
    confirmed_.reset();
    append_next();
  }
  void make_book() {
    ++number_of_exchange_;
    book_.emplace(LogBook::Settings{.most_in_flight = 2}, kLogKey, history_.place);
  }
  void append_next() {
    if (!appends || random_.chance(20)) return append(LogKind::kBeat, {""});
    ++commit_;
    std::vector<std::string> parts;
    write_set_.clear();
    for (int count = 1 + random_.below(3), i = 0; i < count; ++i) {
      parts.push_back(fmt::format("{}:{}:{} ", epoch_, commit_, i));
      write_set_ += parts.back();
    }
    append(LogKind::kCommit, std::move(parts));
  }
  void append(LogKind kind, std::vector<std::string> parts) {
    kind_ = kind;
    book_->append({.kind = kind,
                   .epoch = epoch_,
                   .incarnation = incarnation(),
                   .commit = kind == LogKind::kBegin ? 0 : commit_,
                   .format = kFormatOfKept,
                   .parts = std::move(parts)});
    pump();
  }

  LogExchange* exchange() {
    if (restore_) return &*restore_;
    return book_ ? &*book_ : nullptr;
  }
  /// Does what the book or the restoration asks for.
  void pump() {
    while (LogExchange* const one = exchange()) {
      // Another node may have started an epoch, and the stream may have forgotten that.
      const bool is_lately = confirmed_ && clock_.now() < *confirmed_ + kTakeover;
      if (is_active() && !restore_ && !is_lately && standing() == Standing::kBehind) {
        end_epoch();
        break;
      }
      for (LogAction& action : one->take_actions(clock_.now())) perform(std::move(action));
      if (restore_) {
        if (!restore_->outcome()) break;
        end_restore();
        continue;
      }
      keep_certain();
      if (const auto outcome = book_->take_outcome()) {
        conclude(*outcome);
      } else if (book_->low_end()) {
        mend();
      } else {
        break;
      }
    }
    LogExchange* const one = exchange();
    const std::optional<LogClock::Time> time = one != nullptr ? one->next_time() : std::nullopt;
    if (!time || (wakes_ && *wakes_ <= *time)) return;
    wakes_ = time;
    clock_.at(std::max(*time, clock_.now() + Duration(1)), [this] { wake(); });
  }
  void wake() {
    if (is_suspended()) return clock_.at(suspended_until_, [this] { wake(); });
    wakes_.reset();
    pump();
  }
  void keep_certain() {
    for (LogKept& one : book_->take_certain()) {
      tail_.add(one.sequence, std::move(one.message), clock_.now());
    }
  }

  /// The log seems to be too short for an active.
  void mend() {
    const bool is_short = *book_->low_end() < book_->place().sequence;
    const bool is_lately = confirmed_ && clock_.now() < *confirmed_ + kTakeover;
    if (is_short && is_lately) return start_restore(*confirmed_ + kTakeover, false);
    const Standing mine = standing();
    if (mine == Standing::kBehind) return end_epoch();
    if (is_short && mine == Standing::kHighest) {
      return start_restore(clock_.now() + kTakeover, true);
    }
    book_->go_on(clock_.now());
  }
  void start_restore(LogClock::Time until, bool is_late) {
    ++number_of_exchange_;
    restore_.emplace(LogTimes{}, kLogKey, kLogSubject, tail_, until, token_);
    is_late_ = is_late;
    pump();
  }
  void end_restore() {
    const LogRestored done = *restore_->outcome();
    token_ = restore_->latest_token();
    restored += done.count;
    if (is_late_) restored_late += done.count;
    EXPECT_NE(done.what, LogRestored::What::kForked) << done.why;
    EXPECT_NE(done.what, LogRestored::What::kGone) << done.why;
    restore_.reset();
    ++number_of_exchange_;
    if (book_ && book_->low_end()) book_->go_on(clock_.now());
  }

  void conclude(const LogOutcome& outcome) {
    using Ended = LogOutcome::What;
    switch (outcome.what) {
      case Ended::kCertain:
        if (kind_ == LogKind::kBegin) {
          start_epoch();
        } else if (kind_ == LogKind::kCommit) {
          certain_[{epoch_, commit_}] = {book_->place(), write_set_};
        }
        complete_ = book_->place();
        confirmed_ = outcome.sent;
        clock_.after(1 + random_.below(400),
                     [this, number = number_of_exchange_] { go_on(number); });
        break;
      case Ended::kDeposed:
        end_epoch();
        break;
      case Ended::kLost:
        ADD_FAILURE() << "the log has another history: " << outcome.why;
        end_epoch();
        break;
      case Ended::kRefused:
      case Ended::kUnanswered:
        book_.reset();  // the reader sees whether the log has it
        heard_ = clock_.now();
        break;
    }
  }
  /// Appends again, unless the book is another one now.
  void go_on(uint64_t number) {
    if (is_suspended()) {
      return clock_.at(suspended_until_, [this, number] { go_on(number); });
    }
    if (number == number_of_exchange_ && is_active()) append_next();
  }
  void start_epoch() {
    history_ = {.place = book_->place(),
                .epoch = epoch_,
                .incarnation = incarnation(),
                .node = incarnation_of(number_)};
    judge_.reset();
    leads_ = true;
    commit_ = 0;
  }
  /// The node follows the log again, with all that it has, as another incarnation.
  void end_epoch() {
    keep_certain();
    uint64_t commit = 0;
    for (const auto& [name, known] : certain_) {
      if (name.first == epoch_) commit = name.second;
    }
    history_ = {.place = complete_,
                .epoch = epoch_,
                .incarnation = incarnation(),
                .node = incarnation_of(number_),
                .commit = commit};
    judge_.reset();
    book_.reset();
    ++number_of_exchange_;
    ++deposed;
    heard_ = clock_.now();
  }

  /// Calls `what` with an answer, unless the answer is for an earlier exchange.
  template <class Answered>
  auto for_exchange(Answered what) {
    return [this, number = number_of_exchange_, what = std::move(what)](const auto&... answer) {
      clock_.at(suspended_until_, [this, number, call = [what, answer...] { what(answer...); }] {
        if (number != number_of_exchange_ || exchange() == nullptr) return;
        call();
        pump();
      });
    };
  }
  void perform(LogAction action) {
    const auto lost = for_exchange([this] { exchange()->link_lost(clock_.now()); });
    const auto publish = [this](uint64_t token, NatsMessage message) {
      stream_.publish(std::move(message),
                      for_exchange([this, token](const ModelStream::Answer& answer) {
                        answered(token, answer);
                      }));
    };
    if (auto* const send = std::get_if<LogSend>(&action)) {
      publish(send->token, encoded(std::move(send->message)));
    } else if (auto* const again = std::get_if<LogResend>(&action)) {
      publish(again->token, std::move(again->message));
    } else if (const auto* const read = std::get_if<LogRead>(&action)) {
      const auto found = for_exchange(
          [this, sequence = read->sequence](const std::optional<NatsMessage>& message) {
            if (message) {
              exchange()->found(sequence, *message, clock_.now());
            } else {
              exchange()->not_found(sequence, clock_.now());
            }
          });
      const auto answer = [found](const NatsMessage* message) {
        found(message != nullptr ? std::optional(*message) : std::nullopt);
      };
      stream_.read(read->sequence, answer, lost);
    } else {
      stream_.ask_end(
          for_exchange([this](uint64_t last) { exchange()->stream_ends(last, clock_.now()); }),
          lost);
    }
  }
  void answered(uint64_t token, const ModelStream::Answer& answer) {
    using Kind = ModelStream::Answer::What;
    switch (answer.what) {
      case Kind::kStored:
        return exchange()->acknowledged(token, answer.sequence, clock_.now());
      case Kind::kRefused:
        return exchange()->wrong_sequence(token, answer.sequence, clock_.now());
      case Kind::kError:
        return exchange()->send_failed(token, {"broker.refused", "no room"}, clock_.now());
      case Kind::kNoResponders:
        return exchange()->link_lost(clock_.now());
    }
  }

  LogClock& clock_;
  ModelStream& stream_;
  reference::Random& random_;
  const KeepingNodes& nodes_;
  const uint8_t number_;
  LogHistory history_;
  std::optional<LogJudge> judge_;  ///< at history_; it may have a part of a commit
  LogTail tail_{LogPlace{}};
  LogClock::Time heard_{};
  LogClock::Time suspended_until_{};
  std::optional<LogBook> book_;
  std::optional<LogRestore> restore_;
  uint64_t token_ = uint64_t{1} << 63;
  bool is_late_ = false;
  uint64_t number_of_exchange_ = 0;
  std::optional<LogClock::Time> wakes_;
  std::optional<LogClock::Time> confirmed_;
  LogKind kind_ = LogKind::kBegin;
  bool leads_ = false;
  uint64_t epoch_ = 0;
  uint64_t commit_ = 0;
  LogPlace complete_;  ///< of an active: behind its latest append that is certain
  std::string write_set_;
  KnownCommits certain_;
};

}  // namespace millrace
