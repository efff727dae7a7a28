#include "gateway/stream_answer.h"

#include <algorithm>
#include <utility>

namespace millrace {

bool StreamAnswer::put(std::shared_ptr<const std::string> text) {
  queued_ += text->size();
  texts_.push_back(std::move(text));
  return !std::exchange(is_woken_, true);
}

bool StreamAnswer::send(std::shared_ptr<const std::string> text) {
  std::function<void()> wake;
  bool is_taken = true;
  {
    const std::lock_guard lock(lock_);
    if (!wake_ || is_ending_) return false;
    if (queued_ >= kMostQueued) {
      is_taken = false;
      is_ending_ = true;
      text = reset_message("overrun");
    }
    if (put(std::move(text))) wake = wake_;
  }
  if (wake) wake();
  return is_taken;
}

void StreamAnswer::end(std::shared_ptr<const std::string> text) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(lock_);
    if (!wake_ || is_ending_) return;
    is_ending_ = true;
    if (put(std::move(text))) wake = wake_;
  }
  if (wake) wake();
}

bool StreamAnswer::is_open() const {
  const std::lock_guard lock(lock_);
  return wake_ && !is_ending_;
}

size_t StreamAnswer::queued() const {
  const std::lock_guard lock(lock_);
  return queued_;
}

std::string StreamAnswer::take(size_t most) {
  const std::lock_guard lock(lock_);
  is_woken_ = false;
  std::string taken;
  while (!texts_.empty() && taken.size() < most) {
    const std::string& first = *texts_.front();
    const size_t part = std::min(first.size() - first_taken_, most - taken.size());
    taken.append(first, first_taken_, part);
    first_taken_ += part;
    if (first_taken_ < first.size()) continue;
    texts_.pop_front();
    first_taken_ = 0;
  }
  queued_ -= taken.size();
  return taken;
}

bool StreamAnswer::has_ended() const {
  const std::lock_guard lock(lock_);
  return is_ending_ && texts_.empty();
}

void StreamAnswer::close() {
  std::function<void()> wake;  // may hold the last pointer to its exchange
  {
    const std::lock_guard lock(lock_);
    wake = std::exchange(wake_, nullptr);
    place_.reset();
    texts_.clear();
    queued_ = 0;
    first_taken_ = 0;
  }
}

}  // namespace millrace
