#include "app/log.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "os/log_lines.h"

namespace millrace {
namespace {

/// Writes the lines of LogLines. spdlog calls the protected functions under its lock.
class StderrLines final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto now = std::chrono::time_point_cast<Duration>(message.time);
    const std::string_view text(message.payload.data(), message.payload.size());
    write(lines_.add(text, now, message.level == spdlog::level::critical), message);
  }

  void flush_() override {
    write(lines_.rest(), spdlog::details::log_msg("millrace", spdlog::level::warn, ""));
    std::fflush(stderr);
  }

 private:
  /// Writes the lines with the time and the level of `like`.
  void write(const std::vector<std::string>& lines, const spdlog::details::log_msg& like) {
    for (const std::string& line : lines) {
      spdlog::memory_buf_t bytes;
      formatter_->format({like.time, like.source, like.logger_name, like.level, line}, bytes);
      std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    }
  }

  LogLines lines_;
};

}  // namespace

void log_to_stderr() {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("millrace", std::make_shared<StderrLines>()));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
}

void end_log() { spdlog::default_logger()->flush(); }

}  // namespace millrace
