#include "broker/log/log_tail.h"

#include <utility>

#include "base/check.h"

namespace millrace {

void LogTail::add(uint64_t sequence, std::optional<LogMessage> message, Time now) {
  if (sequence <= last()) return;
  CHECK(sequence == last() + 1, "a tail of the log has no gap");
  Kept kept{.added = now};
  if (message) kept.message = std::make_shared<const LogMessage>(*std::move(message));
  bytes_ += bytes_of(kept);
  kept_.push_back(std::move(kept));
  while (!kept_.empty() && (bytes_ > limits_.bytes || now - kept_.front().added > limits_.age))
    drop_first();
}

const LogMessage* LogTail::at(uint64_t sequence) const {
  CHECK(has(sequence));
  return kept_[sequence - base_.sequence - 1].message.get();
}

size_t LogTail::bytes_of(const Kept& kept) {
  return kMessageBytes + (kept.message ? kept.message->payload.size() : 0);
}

void LogTail::drop_first() {
  const Kept& first = kept_.front();
  bytes_ -= bytes_of(first);
  ++base_.sequence;
  if (first.message) base_.chain = first.message->chain;
  kept_.pop_front();
}

}  // namespace millrace
