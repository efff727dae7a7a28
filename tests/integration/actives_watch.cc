#include "tests/integration/actives_watch.h"

#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

constexpr Duration kAnswerOfProbe{300};
constexpr Duration kBetweenLooks{20};
/// Within this time no node ends its epoch and begins another one: its process starts again.
constexpr Duration kAtOnce{1'000};

}  // namespace

bool is_active_now(uint16_t port) {
  return request_within(kAnswerOfProbe, port, "GET", "/activez").status == 200;
}

ActivesWatch::ActivesWatch(std::vector<uint16_t> ports)
    : ports_(std::move(ports)), thread_([this] { run(); }) {}

ActivesWatch::~ActivesWatch() {
  is_stopping_ = true;
  thread_.join();
}

void ActivesWatch::run() {
  while (!is_stopping_) {
    look();
    const auto until = std::chrono::steady_clock::now() + kBetweenLooks;
    eventually([&] { return is_stopping_ || std::chrono::steady_clock::now() >= until; });
  }
}

/// Two nodes that answer one after the other may have handed over in between. So the first one is
/// asked again: if it answers 200 still, it was the active while the second one was.
void ActivesWatch::look() {
  const auto from = std::chrono::steady_clock::now();
  std::optional<size_t> first;
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (!is_active_now(ports_[i])) continue;
    if (first && is_active_now(ports_[*first]) &&
        std::chrono::steady_clock::now() - from < kAtOnce) {
      ADD_FAILURE() << "two actives: nodes " << *first << " and " << i
                    << " answered /activez with 200 at once";
    }
    first = i;
  }
}

}  // namespace millrace
