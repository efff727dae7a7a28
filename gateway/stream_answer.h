// StreamAnswer: an answer without a known length, whose bytes come while it is sent. Any thread may
// queue bytes; the connection takes them on the gateway's thread. A client that does not read
// enough gets the message `reset` with `overrun`, and the answer ends.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "gateway/stream_places.h"
#include "orchestrator/service/live_sink.h"

namespace millrace {

class StreamAnswer final : public LiveSink {
 public:
  /// If so many bytes wait, a further message ends the stream. One message may be larger: otherwise
  /// a large one could never be sent.
  static constexpr size_t kMostQueued = size_t{256} << 10;

  /// `place` is free again when the connection is closed. `wake` lets the connection take bytes; it
  /// is called on any thread.
  StreamAnswer(StreamPlaces::Place place, std::function<void()> wake)
      : place_(std::move(place)), wake_(std::move(wake)) {}

  bool send(std::shared_ptr<const std::string> text) override;
  void end(std::shared_ptr<const std::string> text) override;
  bool is_open() const override;
  size_t queued() const override;

  // For the connection.

  /// The next bytes, at most `most`; empty: none wait.
  std::string take(size_t most);
  /// Whether no bytes wait and none will come.
  bool has_ended() const;
  /// The connection is closed: nothing is queued from now on, and another stream may have the
  /// place.
  void close();

 private:
  /// The caller holds the lock. Returns whether the connection must be woken.
  bool put(std::shared_ptr<const std::string> text);

  mutable std::mutex lock_;
  StreamPlaces::Place place_;   ///< guarded by lock_; null: the connection is closed
  std::function<void()> wake_;  ///< guarded by lock_; null: the connection is closed
  std::deque<std::shared_ptr<const std::string>> texts_;  ///< guarded by lock_
  size_t first_taken_ = 0;  ///< guarded by lock_; bytes of the first text that were taken
  size_t queued_ = 0;       ///< guarded by lock_
  bool is_ending_ = false;  ///< guarded by lock_
  bool is_woken_ = false;   ///< guarded by lock_; the connection will take bytes
};

}  // namespace millrace
