#include "broker/listening.h"

#include <utility>

namespace millrace {
namespace {

/// How many messages are freed together: nats.c wakes a thread of its own when one is freed, which
/// costs as much as handling it.
constexpr size_t kFreedTogether = 64;

}  // namespace

Listening::Listening(const Connection& connection, const std::string& subject, Handler handler)
    : connection_(connection), handle_(connection.handle()), handler_(std::move(handler)) {
  status_ = natsConnection_Subscribe(
      &subscription_, handle_.get(), subject.c_str(),
      [](natsConnection*, natsSubscription*, natsMsg* message, void* self) {
        auto* const listening = static_cast<Listening*>(self);
        listening->handler_(message);
        listening->spent_.emplace_back(message);
        if (listening->spent_.size() >= kFreedTogether) listening->spent_.clear();
      },
      this);
  if (status_ != NATS_OK) return;
  natsSubscription_SetPendingLimits(subscription_, -1, -1);
  status_ = natsSubscription_SetOnCompleteCB(
      subscription_,
      [](void* self) {
        auto* const listening = static_cast<Listening*>(self);
        const std::lock_guard lock(listening->mutex_);
        listening->done_ = true;
        listening->changed_.notify_all();
      },
      this);
}

Listening::~Listening() {
  if (subscription_ != nullptr) connection_.retire(subscription_);
  if (status_ != NATS_OK) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

}  // namespace millrace
