#include "orchestrator/runtime/outbox.h"

#include <algorithm>

namespace millrace {

void Outbox::settle(Transaction& tx, uint64_t number, const Result<PublishAck>& ack,
                    TimePoint now) {
  if (in_flight_.erase(number) == 0) return;
  if (ack) {
    erase_outbox(tx, number);
    return;
  }
  failed_ = std::min(failed_.value_or(number), number);
  last_error_ = ack.error();
  retry_at_ = now + kRetryDelay;
}

void Outbox::rewind() {
  next_ = 1;
  has_unsent_ = true;
}

Status Outbox::pump(const View& view, TimePoint now) {
  if (failed_) {
    if (!in_flight_.empty() || now < *retry_at_) return {};
    next_ = std::min(next_, *failed_);
    failed_.reset();
    retry_at_.reset();
    has_unsent_ = true;
  }
  if (!has_unsent_ || in_flight_.size() >= kWindow) return {};
  has_unsent_ = false;
  return each_outbox(view, next_, [&](uint64_t number, NatsMessage message) {
    next_ = number + 1;
    if (!in_flight_.insert(number).second) return true;
    publisher_.publish(std::move(message), [settled = settled_, number](Result<PublishAck> ack) {
      settled(number, std::move(ack));
    });
    has_unsent_ = in_flight_.size() >= kWindow;
    return !has_unsent_;
  });
}

}  // namespace millrace
