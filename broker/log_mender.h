// LogMender: appends again what the log of a cluster has lost, for a node that is not the active;
// the active does it between its own appends (jetstream_log.h). cluster/log_recovery.h decides
// which node may do so. One thread calls restore(); stop() is for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/log/log_exchange.h"
#include "broker/log/log_restored.h"
#include "broker/log/log_tail.h"
#include "broker/log_channel.h"
#include "broker/streams.h"

namespace millrace {

class LogMender {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `stream`: log_stream(). `key`: 32 bytes (log_chain). `connection` must outlive this object,
  /// and must not be guarded.
  LogMender(Connection& connection, const StreamSettings& stream, std::string key,
            LogTimes times = {});

  /// Appends what the stream lacks of `tail`, until `until` at most. Blocks. Error `log.closed`:
  /// stop() was called.
  Result<LogRestored> restore(LogTail tail, Time until);

  /// Ends restore(), and all later ones. Never blocks.
  void stop() { channel_.stop(); }

 private:
  const std::string key_;
  const std::string subject_;
  const LogTimes times_;
  LogChannel channel_;
  uint64_t token_ = 0;  ///< of the latest message: an answer to an earlier one does not count
};

}  // namespace millrace
