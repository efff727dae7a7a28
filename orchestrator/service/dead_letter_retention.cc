#include "orchestrator/service/dead_letter_retention.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <spdlog/spdlog.h>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/service/old_letters.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr Duration kBetweenLetterPasses = std::chrono::minutes(1);

/// How long the thread waits before it looks again whether the queue is usable.
constexpr Duration kBetweenLooks = std::chrono::seconds(1);

/// Whether other requests would fail, too, perhaps after a long wait.
bool is_broker_away(const Error& error) {
  return error.code == "broker.unreachable" || error.code == "broker.timeout";
}

}  // namespace

DeadLetterRetention::~DeadLetterRetention() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeadLetterRetention::start() {
  thread_ = std::thread([this] { run(); });
}

void DeadLetterRetention::run() {
  name_thread("dead letters");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const bool was_usable = pass();
    lock.lock();
    changed_.wait_for(lock, was_usable ? kBetweenLetterPasses : kBetweenLooks,
                      [this] { return stopping_; });
  }
}

bool DeadLetterRetention::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool DeadLetterRetention::pass() {
  if (!queue_.is_usable()) {
    passes_.next.reset();  // the next pass begins when the queue is usable
    metrics_.set_passes(PassKind::kDeadLetters, passes_);
    return false;
  }
  const Status done = delete_portions();
  const TimePoint end = clock_.now();
  if (passes_.is_running || passes_.next) passes_.next = end + kBetweenLetterPasses;
  if (std::exchange(passes_.is_running, false)) passes_.last_end = end;
  metrics_.set_passes(PassKind::kDeadLetters, passes_);
  const std::string before = std::exchange(failure_, done ? "" : done.error().code);
  if (failure_ == before) return true;
  if (done) {
    spdlog::info("dead letters are deleted by the settings of their namespace again");
  } else {
    spdlog::error(
        "dead letters are not deleted by the settings of their namespace: {} [{}]; millrace tries "
        "again every minute",
        done.error().message, done.error().code);
  }
  return true;
}

/// Deletes the portions of one pass. Returns the first error.
Status DeadLetterRetention::delete_portions() {
  const Result<Rules> rules = read_rules();
  if (!rules) {
    metrics_.count_letter_retention_failure();
    return tl::unexpected(rules.error());
  }
  passes_.is_running = !rules->empty();
  passes_.next.reset();
  metrics_.set_passes(PassKind::kDeadLetters, passes_);
  std::deque<const Rules::value_type*> waiting;
  for (const Rules::value_type& one : *rules) waiting.push_back(&one);
  const auto first = std::find_if(waiting.begin(), waiting.end(),
                                  [this](const auto* one) { return one->first >= next_; });
  std::rotate(waiting.begin(), first, waiting.end());
  const TimePoint now = clock_.now();
  Status result;
  for (size_t i = 0; i < bounds_.portions && !waiting.empty() && !is_stopping(); ++i) {
    const Rules::value_type* const one = waiting.front();
    waiting.pop_front();
    const Result<bool> has_more = delete_portion(one->first, one->second, now);
    if (!has_more) {
      metrics_.count_letter_retention_failure();
      if (result) result = tl::unexpected(has_more.error());
      if (is_broker_away(has_more.error())) break;
    } else if (*has_more) {
      waiting.push_back(one);
    }
  }
  next_ = waiting.empty() ? "" : waiting.front()->first;
  return result;
}

/// The rules of the last commit. Settings that cannot be read have no rule.
Result<DeadLetterRetention::Rules> DeadLetterRetention::read_rules() const {
  Rules rules;
  const Snapshot view = TRY(Snapshot::take(environment_));
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    const auto settings = read_settings(record.settings);
    if (!settings || !settings->retention.dead_letters) return;
    rules.emplace(name, *settings->retention.dead_letters);
  }));
  return rules;
}

// Each function with the result bool returns whether the rule may require that more dead letters
// are deleted.

Result<bool> DeadLetterRetention::delete_portion(const std::string& ns, const DeadLetterRule& rule,
                                                 TimePoint now) {
  bool has_more = false;
  if (rule.count) has_more = TRY(delete_by_count(ns, *rule.count));
  if (rule.age && TRY(delete_by_age(ns, *rule.age, now))) has_more = true;
  return has_more;
}

/// First requests the number, and requests a deletion only if the rule requires one: a cluster of
/// NATS servers replicates each request that deletes.
Result<bool> DeadLetterRetention::delete_by_count(const std::string& ns, uint64_t count) {
  const uint64_t present = TRY(queue_.count(ns));
  if (present <= count) return false;
  const uint64_t kept = std::max(count, present - std::min(present, bounds_.portion));
  const uint64_t deleted = TRY(queue_.delete_all_but(ns, kept));
  metrics_.count_deleted_letters(ns, deleted);
  return kept > count && deleted > 0;
}

Result<bool> DeadLetterRetention::delete_by_age(const std::string& ns, const Span& age,
                                                TimePoint now) {
  const auto old = TRY(find_old_letters(queue_, ns, age, now, bounds_.portion));
  if (!old) return false;
  const uint64_t deleted = TRY(queue_.delete_before(ns, old->before));
  metrics_.count_deleted_letters(ns, deleted);
  return old->has_more && deleted > 0;
}

}  // namespace millrace
