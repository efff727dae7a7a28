#include "orchestrator/runtime/outbox.h"

#include <utility>

#include "base/crash_point.h"

namespace millrace {

uint64_t size_of(const OutboxRecord& record) {
  return record.message.subject.size() + record.message.data.size();
}

Status Outbox::load(const View& view) {
  bytes_ = 0;
  return each_outbox(view, 0, [&](uint64_t, const OutboxRecord& record) {
    bytes_ += size_of(record);
    return true;
  });
}

void Outbox::settle(Transaction& tx, uint64_t number, const Result<PublishAck>& ack,
                    Duration elapsed) {
  if (ack) erase_outbox(tx, number);
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return;  // told again
  const auto [instance, bytes] = found->second;
  under_way_.erase(found);
  if (!ack) {
    failed_.insert(number);
    if (!retry_at_) retry_at_ = elapsed + kRetryDelay;
    return;
  }
  bytes_ -= bytes;
  if (!instance) return;
  const auto line = lines_.find(*instance);
  if (line->second.empty()) {
    lines_.erase(line);
    return;
  }
  due_.insert(line->second.front());
  line->second.pop_front();
  --behind_;
}

Status Outbox::pump(const View& view, Duration elapsed) {
  if (retry_at_ && elapsed >= *retry_at_) {
    due_.merge(failed_);
    retry_at_.reset();
  }
  for (const uint64_t number : std::exchange(due_, {})) {
    auto record = TRY(read_outbox(view, number));
    if (!record) return fail("store.corrupt", "a message of the outbox is gone");
    send(number, std::move(*record));
  }
  if (!has_more_ || taken() >= kWindow) return {};
  has_more_ = false;
  return each_outbox(view, next_, [&](uint64_t number, OutboxRecord record) {
    next_ = number + 1;
    take(number, std::move(record));
    has_more_ = taken() >= kWindow;
    return !has_more_;
  });
}

void Outbox::take(uint64_t number, OutboxRecord record) {
  if (record.instance) {
    const auto [line, is_first] = lines_.try_emplace(*record.instance);
    if (!is_first) {
      line->second.push_back(number);
      ++behind_;
      return;
    }
  }
  send(number, std::move(record));
}

void Outbox::send(uint64_t number, OutboxRecord record) {
  crash_point(CrashPoint::kSending);
  under_way_.emplace(number, Message{record.instance, size_of(record)});
  publisher_.publish(
      std::move(record.message),
      [settled = settled_, number](Result<PublishAck> ack) { settled(number, std::move(ack)); });
}

}  // namespace millrace
