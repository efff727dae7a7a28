// read_ahead: makes values on a second thread while the calling thread uses the values made before.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace {

/// Calls make(put) on another thread; make must call put(T&&) for each value. Calls use(T&&) on the
/// calling thread for each value, in order. At most a few thousand values are buffered. Returns the
/// result of make, after the last use.
template <class T, class Make, class Use>
Status read_ahead(Make make, Use use) {
  constexpr size_t kChunk = 512;
  constexpr size_t kWaitingChunks = 8;

  std::mutex lock;  // guards all variables below
  std::condition_variable changed;
  std::deque<std::vector<T>> full;
  bool made_all = false;

  const auto hand_over = [&](std::vector<T>&& chunk, bool last) {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return full.size() < kWaitingChunks; });
    full.push_back(std::move(chunk));
    made_all = last;
    changed.notify_all();
  };
  Status status;
  std::thread maker([&] {
    std::vector<T> chunk;
    status = make([&](T&& value) {
      if (chunk.capacity() == 0) chunk.reserve(kChunk);
      chunk.push_back(std::move(value));
      if (chunk.size() == kChunk) hand_over(std::exchange(chunk, {}), false);
    });
    hand_over(std::move(chunk), true);
  });
  const auto take = [&] {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return !full.empty() || made_all; });
    std::vector<T> chunk;
    if (!full.empty()) {
      chunk = std::move(full.front());
      full.pop_front();
      changed.notify_all();
    }
    return chunk;
  };
  // Only the last chunk may be empty.
  for (std::vector<T> chunk = take(); !chunk.empty(); chunk = take()) {
    for (T& value : chunk) use(std::move(value));
  }
  maker.join();
  return status;
}

}  // namespace millrace
