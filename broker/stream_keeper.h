// Checks that the streams exist with the right settings: at each opening of the event stream, and
// whenever no stream accepted a message. A missing stream is created, but not at once if it existed
// a short time ago. Settings that differ are logged and not changed.
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
  /// A stream that disappears is not created again for this time: its deletion may still be under
  /// way, and the client that deletes it may create it again itself.
  static constexpr Duration kLeaveAlone{1'000};

  /// `connection` must outlive this object.
  StreamKeeper(Connection& connection, std::vector<StreamSettings> streams);
  ~StreamKeeper();
  StreamKeeper(const StreamKeeper&) = delete;
  StreamKeeper& operator=(const StreamKeeper&) = delete;

  /// As find_stream() and ensure_stream(); also log StreamInfo::notes, each time they have changed.
  Result<StreamInfo> find(const StreamSettings& stream);
  Result<StreamInfo> ensure(const StreamSettings& stream);

  /// For when no stream accepted a message: soon all streams are checked, at most once per
  /// kLeaveAlone. Any thread; never blocks.
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
  std::map<std::string, std::vector<std::string>> logged_notes_;  ///< by stream name
  std::map<std::string, std::string> logged_failure_;  ///< by stream name: an error message
  std::thread thread_;
};

}  // namespace millrace
