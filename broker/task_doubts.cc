#include "broker/task_doubts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace millrace {

void TaskDoubts::add(const InstanceId& task, uint64_t sequence,
                     std::shared_ptr<const NatsMessage> message) {
  drop(task);
  doubts_.emplace(task, Doubt{.message = std::move(message), .sequence = sequence});
  queue_.push_back(task);
}

void TaskDoubts::drop(const InstanceId& task) {
  const auto at = doubts_.find(task);
  if (at == doubts_.end()) return;
  if (at->second.state == State::kOpen) --open_;
  doubts_.erase(at);
}

bool TaskDoubts::is_message_unknown(const InstanceId& task) const {
  const auto at = doubts_.find(task);
  return at != doubts_.end() && at->second.about == TaskQuestion::About::kMessage;
}

std::optional<TaskQuestion> TaskDoubts::open_next() {
  while (has_question()) {
    const InstanceId task = queue_.front();
    queue_.pop_front();
    const auto at = doubts_.find(task);
    if (at == doubts_.end() || at->second.state != State::kQueued) continue;
    at->second.state = State::kOpen;
    ++open_;
    return TaskQuestion{
        .task = task, .ns = {}, .about = at->second.about, .sequence = at->second.sequence};
  }
  return std::nullopt;
}

bool TaskDoubts::close(const InstanceId& task, TaskQuestion::About about) {
  const auto at = doubts_.find(task);
  if (at == doubts_.end() || at->second.state != State::kOpen || at->second.about != about) {
    return false;
  }
  at->second.state = State::kWaits;
  --open_;
  return true;
}

void TaskDoubts::message_is_gone(const InstanceId& task) {
  const auto at = doubts_.find(task);
  if (at != doubts_.end()) at->second.about = TaskQuestion::About::kAnswer;
}

void TaskDoubts::ask(const InstanceId& task) {
  const auto at = doubts_.find(task);
  if (at == doubts_.end()) return;
  State& state = at->second.state;
  if (state == State::kQueued || state == State::kSentAgain) return;
  if (state == State::kOpen) --open_;
  state = State::kQueued;
  queue_.push_back(task);
}

void TaskDoubts::ask_open_again() {
  std::vector<InstanceId> open;
  for (const auto& [task, doubt] : doubts_) {
    if (doubt.state == State::kOpen) open.push_back(task);
  }
  std::sort(open.begin(), open.end());
  for (const InstanceId& task : open) ask(task);
}

std::shared_ptr<const NatsMessage> TaskDoubts::send_again(const InstanceId& task) {
  Doubt& doubt = doubts_.at(task);
  doubt.state = State::kSentAgain;
  return std::exchange(doubt.message, nullptr);
}

bool TaskDoubts::is_of_first_message(const InstanceId& task, const PublishAck& ack) const {
  const auto at = doubts_.find(task);
  return at != doubts_.end() && ack.duplicate && ack.sequence == at->second.sequence;
}

}  // namespace millrace
