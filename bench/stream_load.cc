#include "bench/stream_load.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "bench/harness.h"

namespace millrace {
namespace {

/// After so many messages the stream is looked at; nats-server 2.11 and newer keep 10 000 messages
/// that wait to be stored, at most.
constexpr uint64_t kMostAhead = 4'000;
/// How long the stream may store nothing, in seconds.
constexpr double kMostIdle = 60;

std::unique_ptr<Connection> connected_to(const std::string& url) {
  auto connection = Connection::open({.servers = {url}});
  CHECK(connection.has_value() && (*connection)->wait_until_connected(Duration(5000)),
        "no connection to {}", url);
  return *std::move(connection);
}

}  // namespace

void make_plain_stream(const std::string& url, const std::string& stream,
                       const std::string& subject) {
  const auto made =
      connected_to(url)->api("STREAM.CREATE." + stream, {{"name", stream},
                                                         {"subjects", Json::array({subject})},
                                                         {"retention", "limits"},
                                                         {"storage", "file"},
                                                         {"max_age", 0},
                                                         {"max_msgs", -1},
                                                         {"max_bytes", -1}});
  CHECK(made.has_value(), "{}: {}", stream, made.error().message);
}

StreamLoad::StreamLoad(const std::string& url, std::string stream)
    : stream_(std::move(stream)), connection_(connected_to(url)), client_(url) {
  stored_ = last_stored();
  published_ = stored_;
}

void StreamLoad::publish(std::string_view subject, std::string_view data) {
  client_.publish(subject, data);
  if (++published_ - stored_ >= 2 * kMostAhead) wait_for_stream(kMostAhead);
}

void StreamLoad::finish() { wait_for_stream(0); }

uint64_t StreamLoad::last_stored() const {
  const auto info = connection_->api("STREAM.INFO." + stream_, Json::object());
  CHECK(info.has_value(), "{}: {}", stream_, info.error().message);
  return info->at("state").at("last_seq").get<uint64_t>();
}

void StreamLoad::wait_for_stream(uint64_t ahead) {
  client_.flush();
  Stopwatch idle;
  while (published_ - stored_ > ahead) {
    const uint64_t stored = last_stored();
    CHECK(stored <= published_, "{} got messages of others", stream_);
    if (stored == stored_) {
      CHECK(idle.seconds() < kMostIdle, "{} stores nothing: {} of {}", stream_, stored, published_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    stored_ = stored;
    idle = Stopwatch();
  }
}

}  // namespace millrace
