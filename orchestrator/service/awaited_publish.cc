#include "orchestrator/service/awaited_publish.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace millrace {
namespace {

/// A publisher reports each outcome itself; this is longer than its own timeout.
constexpr std::chrono::seconds kLongestWait(20);

}  // namespace

struct AwaitedPublish::Outcomes {
  std::mutex mutex;  // guards the members
  std::condition_variable over;
  std::vector<Result<PublishAck>> all;
  size_t left = 0;  ///< how many are not known, without those that follow the last one
};

AwaitedPublish::AwaitedPublish(Publisher& publisher, std::vector<NatsMessage> messages, Acks which)
    : outcomes_(std::make_shared<Outcomes>()), follows_(messages.size(), false) {
  outcomes_->left = messages.size();
  outcomes_->all.assign(messages.size(),
                        fail("broker.timeout", "the event was not acknowledged in time"));
  if (which == Acks::kLast && messages.size() > 1) {
    NatsMessage last = std::move(messages.back());
    messages.pop_back();
    take_sent(publisher.publish_unacknowledged(std::move(messages)));
    publish(publisher, follows_.size() - 1, std::move(last));
    return;
  }
  for (size_t i = 0; i < follows_.size(); ++i) publish(publisher, i, std::move(messages[i]));
}

/// Takes whether the messages before the last one are sent.
void AwaitedPublish::take_sent(const std::vector<Status>& sent) {
  const std::lock_guard lock(outcomes_->mutex);
  outcomes_->left -= sent.size();
  for (size_t i = 0; i < sent.size(); ++i) {
    follows_[i] = sent[i].has_value();
    if (!sent[i]) outcomes_->all[i] = tl::unexpected(sent[i].error());
  }
}

void AwaitedPublish::publish(Publisher& publisher, size_t which, NatsMessage message) {
  publisher.publish(std::move(message), [outcomes = outcomes_, which](Result<PublishAck> ack) {
    const std::lock_guard lock(outcomes->mutex);
    outcomes->all[which] = std::move(ack);
    if (--outcomes->left == 0) outcomes->over.notify_all();
  });
}

bool AwaitedPublish::is_over() const {
  const std::lock_guard lock(outcomes_->mutex);
  return outcomes_->left == 0;
}

std::vector<Result<PublishAck>> AwaitedPublish::wait() && {
  std::unique_lock lock(outcomes_->mutex);
  outcomes_->over.wait_for(lock, kLongestWait, [this] { return outcomes_->left == 0; });
  std::vector<Result<PublishAck>> all = outcomes_->all;
  for (size_t i = 0; i < follows_.size(); ++i) {
    if (follows_[i] && all.back()) all[i] = all.back();
  }
  return all;
}

std::vector<Result<PublishAck>> publish_and_wait(Publisher& publisher,
                                                 std::vector<NatsMessage> messages) {
  return AwaitedPublish(publisher, std::move(messages)).wait();
}

}  // namespace millrace
