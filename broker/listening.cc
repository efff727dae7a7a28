#include "broker/listening.h"

#include <utility>

namespace millrace {

Listening::Listening(const Connection& connection, const std::string& subject, Handler handler)
    : connection_(connection), handle_(connection.handle()), calls_(std::make_unique<Calls>()) {
  calls_->handler = std::move(handler);
  status_ = natsConnection_Subscribe(
      &subscription_, handle_.get(), subject.c_str(),
      [](natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
        auto* const calls = static_cast<Calls*>(closure);
        NatsMsgHandle handle(message);
        const std::lock_guard lock(calls->mutex);
        if (calls->closed) return;
        calls->handler(handle);
        if (handle != nullptr) calls->spent.add(std::move(handle));
      },
      calls_.get());
  if (status_ != NATS_OK) return;
  status_ = natsSubscription_SetOnCompleteCB(
      subscription_,
      [](void* closure) {
        auto* const calls = static_cast<Calls*>(closure);
        const std::lock_guard lock(calls->mutex);
        calls->over = true;
        calls->changed.notify_all();
      },
      calls_.get());
  reports_end_ = status_ == NATS_OK;
  if (status_ == NATS_OK) status_ = natsSubscription_SetPendingLimits(subscription_, -1, -1);
}

Listening::~Listening() {
  if (subscription_ == nullptr) return;
  connection_.retire(subscription_);
  std::unique_lock lock(calls_->mutex);
  calls_->closed = true;
  if (reports_end_) {
    calls_->changed.wait(lock, [this] { return calls_->over; });
    return;
  }
  // nats.c will not report its last call, so the data that this call uses is leaked. This happens
  // only if the connection was closed between two lines of the constructor.
  lock.unlock();
  calls_.release();  // NOLINT(bugprone-unused-return-value)
}

}  // namespace millrace
