#include "broker/log_mender.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "broker/log/log_restore.h"

namespace millrace {

LogMender::LogMender(Connection& connection, const StreamSettings& stream, std::string key,
                     LogTimes times)
    : key_(std::move(key)),
      subject_(stream.subjects),
      times_(times),
      channel_(connection, stream) {}

Result<LogRestored> LogMender::restore(LogTail tail, Time until) {
  channel_.drop_answers();
  LogRestore restore(times_, key_, subject_, std::move(tail), until, token_);
  while (!restore.outcome()) {
    channel_.perform(restore);
    token_ = restore.latest_token();
    if (!restore.outcome()) TRY(channel_.wait(restore, std::nullopt));
  }
  const LogRestored& done = *restore.outcome();
  if (done.count > 0) {
    spdlog::warn(
        "the log of the cluster had lost its newest messages: this node, a standby, has appended "
        "{} of them again",
        done.count);
  }
  return done;
}

}  // namespace millrace
