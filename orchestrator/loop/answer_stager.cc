#include "orchestrator/loop/answer_stager.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "orchestrator/loop/intake.h"

namespace millrace {
namespace {

size_t bytes_of(const std::vector<TaskVariable>& variables) {
  size_t bytes = 0;
  for (const TaskVariable& one : variables) bytes += one.value.bytes.size();
  return bytes;
}

/// A number that no other answer of this process has.
uint64_t next_staging() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

/// Moves the larger values out of the variables, into the pieces of some reports.
std::deque<TaskPieces> pieces_of(std::vector<TaskVariable>& variables) {
  const uint64_t staging = next_staging();
  std::deque<TaskPieces> reports;
  size_t room = 0;
  const auto add = [&](ValuePiece piece) {
    if (room == 0) {
      reports.push_back({.staging = staging, .is_first = reports.empty(), .pieces = {}});
      room = kMostBytesInPieces;
    }
    room -= std::min(room, piece.bytes.size());
    reports.back().pieces.push_back(std::move(piece));
  };
  for (TaskVariable& one : variables) {
    const std::string bytes = one.value.bytes.size() < kLeastStagedBytes
                                  ? std::string()
                                  : std::exchange(one.value.bytes, std::string());
    if (bytes.empty()) continue;
    one.staged = StagedValue{.staging = staging, .size = bytes.size()};
    uint32_t number = 0;
    for (size_t from = 0; from < bytes.size(); from += kMostBytesInPieces) {
      add({.scope = one.scope,
           .key = one.key,
           .number = number++,
           .bytes = bytes.substr(from, kMostBytesInPieces)});
    }
  }
  return reports;
}

}  // namespace

/// An answer whose pieces are under way. Between two pieces only the thread that sends the next one
/// uses it.
struct AnswerStager::Staging {
  InstanceId task;
  std::vector<TaskVariable> variables;
  std::deque<TaskPieces> left;
  Then then;
};

void AnswerStager::stage(const InstanceId& task, std::vector<TaskVariable> variables, Then then) {
  if (bytes_of(variables) <= kMostBytesWithAnswer) return then(std::move(variables));
  const auto staging = std::make_shared<Staging>();
  staging->task = task;
  staging->left = pieces_of(variables);
  staging->variables = std::move(variables);
  staging->then = std::move(then);
  bool has_ended = false;
  {
    const std::lock_guard lock(mutex_);
    has_ended = has_ended_;
    if (!has_ended) under_way_.insert(staging);
  }
  if (has_ended) return staging->then(tl::unexpected(stopping()));
  go_on(staging);
}

/// Sends the next pieces, or passes the variables on after the last ones.
void AnswerStager::go_on(const StagingPtr& staging) {
  {
    const std::lock_guard lock(mutex_);
    if (!under_way_.contains(staging)) return;  // end() has answered it
    if (staging->left.empty()) under_way_.erase(staging);
  }
  if (staging->left.empty()) return staging->then(std::move(staging->variables));
  TaskPieces next = std::move(staging->left.front());
  staging->left.pop_front();
  sink_.report({.task = staging->task, .what = std::move(next)},
               [this, staging] { go_on(staging); });
}

void AnswerStager::end() {
  std::set<StagingPtr> left;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    left.swap(under_way_);
  }
  for (const StagingPtr& staging : left) staging->then(tl::unexpected(stopping()));
}

void AnswerStager::report(TaskReport report, std::function<void()> stored) {
  auto* const ended = std::get_if<TaskEnded>(&report.what);
  if (ended == nullptr || ended->variables.empty()) {
    return sink_.report(std::move(report), std::move(stored));
  }
  const InstanceId task = report.task;
  std::vector<TaskVariable> variables = std::exchange(ended->variables, {});
  stage(task, std::move(variables),
        [this, report = std::move(report),
         stored = std::move(stored)](Result<std::vector<TaskVariable>> staged) mutable {
          if (!staged) return;  // the next process hands the task out again
          std::get<TaskEnded>(report.what).variables = *std::move(staged);
          sink_.report(std::move(report), std::move(stored));
        });
}

}  // namespace millrace
