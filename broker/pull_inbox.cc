#include "broker/pull_inbox.h"

#include <condition_variable>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "broker/listening.h"
#include "broker/nats_status.h"

namespace millrace {
namespace {

constexpr const char* kSubscribing = "subscribing to an inbox";

class PolledInbox : public PullInbox {
 public:
  PolledInbox(const Connection& connection, const std::string& subject)
      : connection_(connection), handle_(connection.handle()) {
    status_ = natsConnection_SubscribeSync(&subscription_, handle_.get(), subject.c_str());
    // The open requests limit how many messages may come. A limit of the subscription would drop
    // messages.
    if (status_ == NATS_OK) status_ = natsSubscription_SetPendingLimits(subscription_, -1, -1);
  }
  ~PolledInbox() override {
    if (subscription_ != nullptr) connection_.retire(subscription_);
  }

  natsStatus status() const { return status_; }

  Took take(Duration at_most, NatsMsgHandle& message) override {
    natsMsg* taken = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&taken, subscription_, at_most.count());
    message.reset(taken);
    if (status == NATS_OK) return Took::kMessage;
    if (status == NATS_TIMEOUT) return Took::kNothing;
    return status == NATS_NO_RESPONDERS ? Took::kDestroyed : Took::kInterrupted;
  }

  size_t waiting() override {
    int messages = 0;
    const natsStatus status = natsSubscription_GetPending(subscription_, &messages, nullptr);
    return status == NATS_OK && messages > 0 ? static_cast<size_t>(messages) : 0;
  }

  void interrupt() override {
    // This fails if the subscription or its connection is closed; then take() has ended too.
    std::ignore = natsSubscription_Unsubscribe(subscription_);
  }

 private:
  const Connection& connection_;
  const std::shared_ptr<natsConnection> handle_;
  natsSubscription* subscription_ = nullptr;
  natsStatus status_ = NATS_OK;
};

class ListenedInbox : public PullInbox {
 public:
  ListenedInbox(const Connection& connection, const std::string& subject, size_t most)
      : most_(most),
        listening_(connection, subject, [this](NatsMsgHandle& message) { arrive(message); }) {}

  natsStatus status() const { return listening_.status(); }

  Took take(Duration at_most, NatsMsgHandle& message) override {
    if (next_taken_ == taken_.size()) {
      taken_.clear();
      next_taken_ = 0;
      const Took took = take_arrived(at_most);
      if (took != Took::kMessage) return took;
    }
    message = std::move(taken_[next_taken_++]);
    return Took::kMessage;
  }

  size_t waiting() override {
    const std::lock_guard lock(mutex_);
    return arrived_.size() + taken_.size() - next_taken_;
  }

  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_one();
  }

 private:
  /// Stores a message. On the thread of the subscription.
  void arrive(NatsMsgHandle& message) {
    const std::lock_guard lock(mutex_);
    if (arrived_.size() >= most_) {
      overflowed_ = true;
    } else {
      arrived_.push_back(std::move(message));
    }
    if (waits_) changed_.notify_one();
  }

  Took take_arrived(Duration at_most) {
    std::unique_lock lock(mutex_);
    waits_ = true;
    const bool in_time = changed_.wait_for(
        lock, at_most, [this] { return !arrived_.empty() || interrupted_ || overflowed_; });
    waits_ = false;
    if (!in_time) return Took::kNothing;
    if (interrupted_) return Took::kInterrupted;
    if (overflowed_) return Took::kTooMany;
    taken_.swap(arrived_);
    return Took::kMessage;
  }

  const size_t most_;
  std::vector<NatsMsgHandle> taken_;  ///< moved from arrived_; returned one by one
  size_t next_taken_ = 0;

  std::mutex mutex_;  // guards arrived_ and the flags
  std::condition_variable changed_;
  std::vector<NatsMsgHandle> arrived_;
  bool waits_ = false;
  bool interrupted_ = false;
  bool overflowed_ = false;

  Listening listening_;  // the last member: destroyed first, so no message arrives later
};

template <class Inbox>
Result<std::unique_ptr<PullInbox>> subscribed(std::unique_ptr<Inbox> inbox) {
  if (inbox->status() == NATS_OK) return inbox;
  return tl::unexpected(nats_error(inbox->status(), kSubscribing));
}

}  // namespace

Result<std::unique_ptr<PullInbox>> poll_inbox(Connection& connection, const std::string& subject) {
  return subscribed(std::make_unique<PolledInbox>(connection, subject));
}

Result<std::unique_ptr<PullInbox>> listen_to_inbox(Connection& connection,
                                                   const std::string& subject, size_t most) {
  return subscribed(std::make_unique<ListenedInbox>(connection, subject, most));
}

}  // namespace millrace
