#include "bench/fixed_rate.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "bench/lifecycle_events.h"

namespace millrace {
namespace {

constexpr const char* kWorkflow = "life";
/// How often events that are due are sent.
constexpr std::chrono::milliseconds kTick(1);
constexpr std::chrono::minutes kPatience(1);
/// How long a second generated event of the last lifecycles can arrive before the totals are read.
constexpr std::chrono::seconds kAfterwards(2);

}  // namespace

double RateInterval::time(double part) const {
  return each.empty() ? std::numeric_limits<double>::quiet_NaN() : percentile(each, part);
}

FixedRateLoad::FixedRateLoad(const std::string& url, FixedRatePlan plan)
    : plan_(std::move(plan)),
      prefix_(fmt::format("{}-{}-", kWorkflow, plan_.run)),
      client_(url, done_subject(kWorkflow), [this](std::string_view event) { hear(event); }) {
  sender_ = std::thread(&FixedRateLoad::send, this);
}

FixedRateLoad::~FixedRateLoad() { stop_sending(); }

/// How many events of one kind are due after `seconds` of sending them.
size_t FixedRateLoad::due_by(double seconds) const {
  return seconds <= 0 ? 0 : static_cast<size_t>(seconds * plan_.rate);
}

/// When the wake event of a lifecycle should be sent, in seconds since the begin.
double FixedRateLoad::due_at(size_t number) const {
  return plan_.wait + static_cast<double>(number + 1) / plan_.rate;
}

void FixedRateLoad::send() {
  auto next = std::chrono::steady_clock::now();
  while (true) {
    const bool ends = ends_;
    const double now = watch_.seconds();
    if (!ends) {
      for (const size_t due = due_by(now); started_ < due; ++started_) {
        client_.publish(kBenchSubject,
                        start_event(kWorkflow, lifecycle_key(kWorkflow, plan_.run, started_)));
      }
    }
    for (const size_t due = std::min<size_t>(started_, due_by(now - plan_.wait)); woken_ < due;
         ++woken_) {
      client_.publish(kBenchSubject,
                      wake_event(kWorkflow, lifecycle_key(kWorkflow, plan_.run, woken_)));
    }
    client_.flush();
    if (ends && woken_ == started_) return;
    next = std::max(next + kTick, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

void FixedRateLoad::stop_sending() {
  ends_ = true;
  if (sender_.joinable()) sender_.join();
}

void FixedRateLoad::hear(std::string_view event) {
  if (event.empty()) return;
  const std::string_view key = key_in(event);
  if (!key.starts_with(prefix_)) return;
  const size_t number = number_of_key(key);
  const uint64_t id = std::max<uint64_t>(std::hash<std::string_view>()(id_in(event)), 1);
  const double now = watch_.seconds();
  const std::lock_guard guard(lock_);
  if (number >= ids_.size()) ids_.resize(number + 1);
  if (ids_[number] == 0) {
    ids_[number] = id;
    took_.push_back((now - due_at(number)) * 1000);
    ++done_;
  } else if (ids_[number] == id) {
    ++repeated_;
  } else {
    ++doubled_;
  }
  if (ends_ && done_ >= started_) finished_.notify_one();
}

RateInterval FixedRateLoad::take() {
  const size_t due = ends_ ? woken_.load() : due_by(watch_.seconds() - plan_.wait);
  const std::lock_guard guard(lock_);
  RateInterval interval{.each = std::exchange(took_, {})};
  interval.behind = due > done_ ? due - done_ : 0;
  took_.reserve(interval.each.size());
  return interval;
}

RateTotals FixedRateLoad::finish() {
  stop_sending();
  std::unique_lock guard(lock_);
  for (size_t before = done_; done_ < woken_; before = done_) {
    finished_.wait_for(guard, kPatience, [&] { return done_ >= woken_; });
    if (done_ == before) break;
  }
  guard.unlock();
  std::this_thread::sleep_for(kAfterwards);
  guard.lock();
  return {.sent = woken_,
          .lost = woken_ - std::min<size_t>(done_, woken_),
          .doubled = doubled_,
          .repeated = repeated_};
}

}  // namespace millrace
