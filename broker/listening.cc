#include "broker/listening.h"

#include <utility>

namespace millrace {
namespace {

/// How many messages are freed together: nats.c wakes a thread of its own when one is freed, which
/// costs as much as handling it.
constexpr size_t kFreedTogether = 64;

}  // namespace

Listening::Listening(std::shared_ptr<natsConnection> connection, const std::string& subject,
                     Handler handler)
    : connection_(std::move(connection)), handler_(std::move(handler)) {
  natsSubscription* raw = nullptr;
  status_ = natsConnection_Subscribe(
      &raw, connection_.get(), subject.c_str(),
      [](natsConnection*, natsSubscription*, natsMsg* message, void* self) {
        auto* const listening = static_cast<Listening*>(self);
        listening->handler_(message);
        listening->spent_.emplace_back(message);
        if (listening->spent_.size() >= kFreedTogether) listening->spent_.clear();
      },
      this);
  subscription_.reset(raw);
  if (status_ != NATS_OK) return;
  natsSubscription_SetPendingLimits(raw, -1, -1);
  status_ = natsSubscription_SetOnCompleteCB(
      raw,
      [](void* self) {
        auto* const listening = static_cast<Listening*>(self);
        const std::lock_guard lock(listening->mutex_);
        listening->done_ = true;
        listening->changed_.notify_all();
      },
      this);
}

Listening::~Listening() {
  if (status_ != NATS_OK) return;
  natsSubscription_Unsubscribe(subscription_.get());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

}  // namespace millrace
