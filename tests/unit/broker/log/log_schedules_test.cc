// Log books on a model of the stream (model_stream.h), with faults drawn from a seed: one or two
// nodes begin epochs and append. What a book says is in the log is there once, in its place; a node
// is deposed by another node only; and all ends when the faults have ended.
// MILLRACE_LOG_SCHEDULES=1000000 plays more schedules, MILLRACE_SEED=n begins with another seed.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/log/log_begin.h"
#include "broker/log/log_book.h"
#include "broker/log/log_judge.h"
#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/unit/broker/log/log_makers.h"
#include "tests/unit/broker/log/model_stream.h"

namespace millrace {
namespace {

constexpr uint64_t kFormatOfModel = 6;

/// A commit as the log has it.
struct ReadCommit {
  LogPlace place;
  std::string write_set;

  bool operator==(const ReadCommit&) const = default;
};

/// What a reader of the whole log sees.
struct ReadLog {
  LogHistory history;
  std::map<uint64_t, LogIncarnation> epochs;
  std::map<std::pair<uint64_t, uint64_t>, ReadCommit> commits;  ///< by epoch and number
  uint64_t foreign = 0;
};

ReadLog read_log(const ModelStream& stream) {
  LogJudge judge(kLogKey, kFormatOfModel, {});
  ReadLog read;
  uint64_t sequence = 0;
  for (const NatsMessage& message : stream.stored()) {
    const Result<LogSeen> seen = judge.see(++sequence, message);
    EXPECT_TRUE(seen) << seen.error().code << ": " << seen.error().message;
    if (!seen) break;
    const LogHistory& history = judge.history();
    if (seen->what == LogSeen::What::kBegin) read.epochs[history.epoch] = history.incarnation;
    if (seen->what != LogSeen::What::kCommit) continue;
    read.commits[{history.epoch, history.commit}] = {history.place, seen->write_set};
  }
  read.history = judge.history();
  read.foreign = judge.foreign();
  return read;
}

/// A node that begins an epoch, and then appends until it has made all its commits, or is deposed.
class ModelNode {
 public:
  ModelNode(LogClock& clock, ModelStream& stream, reference::Random& random, uint8_t number)
      : clock_(clock), stream_(stream), random_(random), incarnation_(incarnation_of(number)) {
    wanted_ = 2 + static_cast<uint64_t>(random_.below(7));
    in_flight_ = 1 + static_cast<size_t>(random_.below(4));
  }
  ModelNode(const ModelNode&) = delete;
  ModelNode& operator=(const ModelNode&) = delete;

  /// Reads the log, and begins an epoch if the log does not have the begin of this node as its
  /// latest one.
  void begin() {
    const LogHistory history = read_log(stream_).history;
    ++book_number_;
    book_.emplace(LogBook::Settings{.most_in_flight = in_flight_}, kLogKey, history.place);
    if (history.incarnation == incarnation_) {
      ++found_begins;
      lead(history.epoch);
    } else {
      epoch_ = history.epoch + 1;
      const LogBegin body{.node = incarnation_,
                          .behind_epoch = history.epoch,
                          .behind_incarnation = history.incarnation};
      append(LogKind::kBegin, {encode_log_begin(body)});
    }
    pump();
  }
  void lose_link() {
    if (!book_) return;
    book_->link_lost(clock_.now());
    pump();
  }

  bool is_deposed() const { return is_deposed_; }
  bool has_ended() const { return is_deposed_ || is_complete_; }
  const LogIncarnation& incarnation() const { return incarnation_; }
  uint64_t epoch() const { return epoch_; }
  /// The commits that the book called certain, by number.
  const std::map<uint64_t, ReadCommit>& certain() const { return certain_; }
  std::string trouble() const { return book_ ? book_->trouble() : "no epoch"; }

  uint64_t sent = 0;          ///< messages
  uint64_t found_begins = 0;  ///< begins that were not acknowledged and that the log has

 private:
  void lead(uint64_t epoch) {
    epoch_ = epoch;
    leads_ = true;
    append_next();
  }
  void append_next() {
    if (certain_.size() == wanted_) {
      is_complete_ = true;
      return;
    }
    if (random_.chance(20)) return append(LogKind::kBeat, {""});
    ++commit_;
    const int count = random_.chance(50) ? 1 : 1 + random_.below(5);
    std::vector<std::string> parts;
    write_set_.clear();
    for (int i = 0; i < count; ++i) {
      parts.push_back(fmt::format("{}:{}:{} ", epoch_, commit_, i));
      write_set_ += parts.back();
    }
    append(LogKind::kCommit, std::move(parts));
  }
  void append(LogKind kind, std::vector<std::string> parts) {
    kind_ = kind;
    book_->append({.kind = kind,
                   .epoch = epoch_,
                   .incarnation = incarnation_,
                   .commit = commit_,
                   .format = kFormatOfModel,
                   .parts = std::move(parts)});
  }

  /// Does what the book asks for.
  void pump() {
    while (book_) {
      if (book_->low_end()) book_->go_on(clock_.now());
      for (LogAction& action : book_->take_actions(clock_.now())) perform(std::move(action));
      const std::optional<LogOutcome> outcome = book_->take_outcome();
      if (!outcome) break;
      conclude(*outcome);
    }
    const std::optional<LogClock::Time> time = book_ ? book_->next_time() : std::nullopt;
    if (!time || (wakes_ && *wakes_ <= *time)) return;
    wakes_ = time;
    clock_.at(*time, [this] {
      wakes_.reset();
      pump();
    });
  }

  /// Calls `what` with an answer, unless the answer is for an earlier book.
  template <class Answered>
  auto for_book(Answered what) {
    return [this, number = book_number_, what = std::move(what)](const auto&... answer) {
      if (number != book_number_ || !book_) return;
      what(answer...);
      pump();
    };
  }

  void perform(LogAction action) {
    const auto lost = for_book([this] { book_->link_lost(clock_.now()); });
    if (auto* const send = std::get_if<LogSend>(&action)) {
      ++sent;
      stream_.publish(encoded(std::move(send->message)),
                      for_book([this, token = send->token](const ModelStream::Answer& answer) {
                        answered(token, answer);
                      }));
    } else if (const auto* const read = std::get_if<LogRead>(&action)) {
      const auto answer = [this, sequence = read->sequence](const NatsMessage* message) {
        if (message != nullptr) {
          book_->found(sequence, *message, clock_.now());
        } else {
          book_->not_found(sequence, clock_.now());
        }
      };
      stream_.read(read->sequence, for_book(answer), lost);
    } else {
      stream_.ask_end(for_book([this](uint64_t last) { book_->stream_ends(last, clock_.now()); }),
                      lost);
    }
  }
  void answered(uint64_t token, const ModelStream::Answer& answer) {
    using Kind = ModelStream::Answer::What;
    switch (answer.what) {
      case Kind::kStored:
        return book_->acknowledged(token, answer.sequence, clock_.now());
      case Kind::kRefused:
        return book_->wrong_sequence(token, answer.sequence, clock_.now());
      case Kind::kError:
        return book_->send_failed(token, {"broker.refused", "no room"}, clock_.now());
      case Kind::kNoResponders:
        return book_->link_lost(clock_.now());
    }
  }

  void conclude(const LogOutcome& outcome) {
    using Ending = LogOutcome::What;
    switch (outcome.what) {
      case Ending::kCertain:
        EXPECT_LE(outcome.sent, stream_.stored_at(book_->place().sequence));
        if (kind_ == LogKind::kBegin) return lead(epoch_);
        if (kind_ == LogKind::kCommit) certain_[commit_] = {book_->place(), write_set_};
        return append_next();
      case Ending::kDeposed:
        is_deposed_ = true;
        break;
      case Ending::kLost:
        ADD_FAILURE() << "no message was lost: " << outcome.why;
        is_deposed_ = true;
        break;
      case Ending::kRefused:
      case Ending::kUnanswered:
        EXPECT_FALSE(leads_) << outcome.why;
        clock_.after(500 + random_.below(4'000), [this] { begin(); });
        break;
    }
    book_.reset();
  }

  LogClock& clock_;
  ModelStream& stream_;
  reference::Random& random_;
  const LogIncarnation incarnation_;
  uint64_t wanted_ = 0;
  size_t in_flight_ = 0;
  std::optional<LogBook> book_;
  uint64_t book_number_ = 0;
  LogKind kind_ = LogKind::kBegin;
  uint64_t epoch_ = 0;
  uint64_t commit_ = 0;
  std::string write_set_;
  bool leads_ = false;
  bool is_deposed_ = false;
  bool is_complete_ = false;
  std::map<uint64_t, ReadCommit> certain_;
  std::optional<LogClock::Time> wakes_;
};

/// What the schedules had, to see that they have all that they are for.
struct Played {
  uint64_t commits = 0;
  uint64_t deposed = 0;
  uint64_t foreign = 0;
  uint64_t found_begins = 0;
  uint64_t sent = 0;
  uint64_t stored = 0;
};

/// What a node says it has appended is what a reader sees.
void check_node(const ModelNode& node, const ReadLog& log) {
  EXPECT_TRUE(node.has_ended()) << node.trouble();
  for (const auto& [number, commit] : node.certain()) {
    const auto found = log.commits.find({node.epoch(), number});
    ASSERT_NE(found, log.commits.end()) << "commit " << number << " is not in the log";
    EXPECT_EQ(found->second.write_set, commit.write_set);
    EXPECT_EQ(found->second.place, commit.place);
  }
  // Beside them the log has at most the commit that was under way when the node was deposed.
  size_t in_log = 0;
  for (const auto& [name, commit] : log.commits) in_log += name.first == node.epoch() ? 1 : 0;
  EXPECT_LE(in_log, node.certain().size() + (node.is_deposed() ? 1 : 0));
  const auto began = log.epochs.find(node.epoch());
  ASSERT_NE(began, log.epochs.end()) << "the log has no begin of the node";
  EXPECT_EQ(began->second, node.incarnation());
  if (node.is_deposed()) {
    const auto next = log.epochs.find(node.epoch() + 1);
    ASSERT_NE(next, log.epochs.end()) << "the node was deposed by no other node";
    EXPECT_NE(next->second, node.incarnation());
  }
}

NatsMessage foreign_message(const ModelStream& stream, reference::Random& random) {
  const int stored = static_cast<int>(stream.stored().size());
  if (stored > 0 && random.chance(50)) {
    return stream.stored()[static_cast<size_t>(random.below(stored))];  // a copy
  }
  return {.subject = kLogSubject, .headers = {{"Millrace-Kind", "beat"}}, .data = "foreign"};
}

void play(uint64_t seed, Played& played) {
  reference::Random random(seed);
  LogClock clock;
  const int faults = 3'000 + random.below(20'000);  // how long, in milliseconds
  const LogClock::Time faults_end = clock.now() + Duration(faults);
  ModelStream stream(clock, random, faults_end);
  std::vector<std::unique_ptr<ModelNode>> nodes;
  const int count = 1 + random.below(2);
  for (int i = 0; i < count; ++i) {
    nodes.push_back(
        std::make_unique<ModelNode>(clock, stream, random, static_cast<uint8_t>(i + 1)));
    clock.after(i == 0 ? 0 : random.below(6'000), [node = nodes.back().get()] { node->begin(); });
  }
  for (int elections = random.below(5); elections > 0; --elections) {
    clock.after(random.below(faults), [&] { stream.elect(); });
  }
  for (int foreign = random.below(4); foreign > 0; --foreign) {
    clock.after(random.below(faults), [&] { stream.add_foreign(foreign_message(stream, random)); });
  }
  for (int losses = random.below(4); losses > 0; --losses) {
    ModelNode* const node = nodes[static_cast<size_t>(random.below(count))].get();
    clock.after(random.below(faults), [node] { node->lose_link(); });
  }
  clock.run_until(faults_end + Duration(60'000));

  const ReadLog log = read_log(stream);
  played.foreign += log.foreign;
  played.stored += stream.stored().size();
  for (const auto& node : nodes) {
    check_node(*node, log);
    played.commits += node->certain().size();
    played.deposed += node->is_deposed() ? 1 : 0;
    played.found_begins += node->found_begins;
    played.sent += node->sent;
  }
  if (count == 1) {
    EXPECT_FALSE(nodes[0]->is_deposed()) << "a node alone was deposed";
  }
}

TEST(LogSchedules, HaveEachCertainCommitOnceAndDeposeNoNodeByItself) {
  const size_t schedules = number_from("MILLRACE_LOG_SCHEDULES", 3'000);
  const uint64_t first = number_from("MILLRACE_SEED", 1);
  Campaign campaign("appends, random broker faults", "each certain commit is there once");
  Played played;
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    campaign.run(fmt::format("MILLRACE_SEED={} MILLRACE_LOG_SCHEDULES=1", seed),
                 [&] { play(seed, played); });
    if (testing::Test::HasFailure()) break;
  }
  fmt::print(
      "{} commits, {} messages sent, {} stored, {} foreign, {} nodes deposed, {} begins "
      "found\n",
      played.commits, played.sent, played.stored, played.foreign, played.deposed,
      played.found_begins);
  if (schedules < 1'000) return;
  EXPECT_GT(played.commits, schedules);
  EXPECT_GT(played.sent, played.stored);
  EXPECT_GT(played.foreign, schedules / 10);
  EXPECT_GT(played.deposed, schedules / 100);
  EXPECT_GT(played.found_begins, schedules / 100);
}

}  // namespace
}  // namespace millrace
