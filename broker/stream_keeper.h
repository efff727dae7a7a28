// The streams are there and as they should be: looked at with each opening of the event stream, and
// whenever a message found no stream to take it. One that is missing is made, but for one that was
// there a moment ago; what somebody has set otherwise is said in the log and left alone.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/streams.h"

namespace millrace {

class StreamKeeper {
 public:
  /// A stream that vanishes is left alone for so long: its deletion may still be under way, and
  /// whoever deletes it may want to make it themselves.
  static constexpr Duration kLeaveAlone{1'000};

  /// `connection` outlives it.
  StreamKeeper(Connection& connection, std::vector<StreamSettings> streams);
  ~StreamKeeper();
  StreamKeeper(const StreamKeeper&) = delete;
  StreamKeeper& operator=(const StreamKeeper&) = delete;

  /// find_stream() and ensure_stream(), and what is to be said of it in the log, once.
  Result<StreamInfo> find(const StreamSettings& stream);
  Result<StreamInfo> ensure(const StreamSettings& stream);

  /// A message found no stream: all are looked at in a moment, at most once in kLeaveAlone. Any
  /// thread; never blocks.
  void doubt();

 private:
  void run();
  void log_notes(const StreamSettings& stream, const StreamInfo& info);
  void log_failure(const StreamSettings& stream, const Error& error);

  Connection& connection_;
  const std::vector<StreamSettings> streams_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool doubted_ = false;
  std::map<std::string, std::vector<std::string>> logged_notes_;  ///< by stream
  std::map<std::string, std::string> logged_failure_;             ///< by stream: a message
  std::thread thread_;
};

}  // namespace millrace
