#include "tests/support/memory_log.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>

#include "base/codec.h"

namespace millrace {
namespace {

RandomName chain_of(const RandomName& before, const CommitName& name, std::string_view write_set) {
  Writer writer;
  writer.id(before);
  writer.u64(name.epoch);
  writer.u64(name.commit);
  writer.id(name.incarnation);
  writer.raw(write_set);
  RandomName chain;
  crypto_generichash(chain.data(), chain.size(),
                     reinterpret_cast<const unsigned char*>(writer.view().data()),
                     writer.view().size(), nullptr, 0);
  return chain;
}

}  // namespace

/// The log as the active of one epoch sees it.
class MemoryLog::Lead final : public CommitLog {
 public:
  Lead(MemoryLog& log, LogPosition last) : log_(log), last_(last) {}

  Result<LogPosition> append(std::string_view write_set) override {
    AppendFate fate = log_.decide_ ? log_.decide_() : AppendFate();
    if (!fate.is_stored) return closed();
    const Message* const before = log_.at(last_.sequence);
    if (before == nullptr || before->position != last_) {
      return fail("log.lost", fmt::format("the log no longer has the message at sequence {}, which "
                                          "it had acknowledged",
                                          last_.sequence));
    }
    if (log_.last_sequence() > last_.sequence) {
      return fail("log.deposed",
                  fmt::format("another node has started epoch {}", log_.last_epoch_));
    }
    CommitName name = last_.name;
    ++name.commit;
    for (size_t i = 0; i < fate.parts; ++i) {
      log_.add_part(name, last_.node);
      if (fate.on_part) fate.on_part();
    }
    last_ = log_.add(name, last_.node, std::string(write_set));
    if (fate.meanwhile) fate.meanwhile();
    if (!fate.is_acked) return closed();
    return last_;
  }

 private:
  static tl::unexpected<Error> closed() {
    return fail("log.closed", "the connection to the log was closed during an append");
  }

  MemoryLog& log_;
  LogPosition last_;  ///< of the last message of this epoch, as far as the node knows
};

const MemoryLog::Message* MemoryLog::at(uint64_t sequence) const {
  return sequence == 0 || sequence > messages_.size() ? nullptr : &messages_[sequence - 1];
}

LogPosition MemoryLog::last_commit() const {
  const auto last = std::find_if(messages_.rbegin(), messages_.rend(),
                                 [](const Message& one) { return one.is_commit(); });
  return last == messages_.rend() ? LogPosition() : last->position;
}

const LogPosition& MemoryLog::add(const CommitName& name, const RandomName& node,
                                  std::string write_set) {
  const RandomName before = messages_.empty() ? RandomName() : messages_.back().position.chain;
  Message message{.position = {.sequence = last_sequence() + 1, .name = name, .node = node},
                  .behind = last_commit().name,
                  .write_set = std::move(write_set)};
  message.position.chain = chain_of(before, name, message.write_set);
  messages_.push_back(std::move(message));
  lost_.clear();  // this message is in the place of the first of them
  return messages_.back().position;
}

void MemoryLog::add_part(const CommitName& name, const RandomName& node) {
  add(name, node, {});
  messages_.back().is_part = true;
}

Result<std::vector<LogCommit>> MemoryLog::read(const LogPosition& position, size_t most) const {
  if (position.sequence + 1 < first_) {
    return fail("log.trimmed", fmt::format("the log begins at sequence {}, but the store has only "
                                           "the commits up to sequence {}",
                                           first_, position.sequence));
  }
  if (position.sequence > 0) {
    const Message* const last = at(position.sequence);
    if (last == nullptr) {
      return fail("log.lost", fmt::format("the log ends at sequence {}, but the store has a commit "
                                          "at sequence {}",
                                          last_sequence(), position.sequence));
    }
    if (last->position != position) {
      return fail("log.diverged", fmt::format("the log has another message at sequence {} than the "
                                              "store",
                                              position.sequence));
    }
  }
  std::vector<LogCommit> commits;
  for (uint64_t next = position.sequence + 1; commits.size() < most; ++next) {
    const Message* const message = at(next);
    if (message == nullptr) break;
    if (!message->is_commit()) continue;
    commits.push_back({message->position, message->behind, message->write_set});
  }
  return commits;
}

Result<std::unique_ptr<CommitLog>> MemoryLog::start_epoch(const RandomName& node,
                                                          const RandomName& incarnation,
                                                          uint64_t read_to) {
  if (read_to != last_sequence()) {
    return fail("log.deposed", fmt::format("the log ends at sequence {}, but the node has read it "
                                           "up to sequence {}",
                                           last_sequence(), read_to));
  }
  // A log that has lost its newest messages may get an epoch with a number that it had before.
  last_epoch_ = (messages_.empty() ? 0 : messages_.back().position.name.epoch) + 1;
  const CommitName name{.epoch = last_epoch_, .incarnation = incarnation};
  const LogPosition start = add(name, node, {});
  return std::make_unique<Lead>(*this, start);
}

void MemoryLog::lose_tail(size_t messages) {
  for (; messages > 0 && !messages_.empty(); --messages) {
    lost_.push_front(std::move(messages_.back()));
    messages_.pop_back();
  }
}

bool MemoryLog::restore(const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    const RandomName before = messages_.empty() ? RandomName() : messages_.back().position.chain;
    const bool follows =
        message.position.sequence == last_sequence() + 1 &&
        message.position.chain == chain_of(before, message.position.name, message.write_set);
    if (!follows) return false;
    messages_.push_back(message);
    if (!lost_.empty()) lost_.pop_front();
    last_epoch_ = message.position.name.epoch;
  }
  return true;
}

const MemoryLog::Message* MemoryLog::known_at(uint64_t sequence) const {
  if (const Message* const message = at(sequence)) return message;
  const uint64_t behind = sequence - last_sequence();
  return sequence == 0 || behind > lost_.size() ? nullptr : &lost_[behind - 1];
}

}  // namespace millrace
