// CollectingSink: records all deliveries and lets a test wait for them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/event.h"
#include "orchestrator/ports/event_stream.h"
#include "tests/support/nats_fixture.h"

namespace millrace {

class CollectingSink : public DeliverySink {
 public:
  bool deliver(std::vector<Delivery> deliveries) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_ || closed_; });
    if (closed_) return false;
    for (Delivery& delivery : deliveries) all_.push_back(std::move(delivery));
    changed_.notify_all();
    return true;
  }

  /// From now on deliver() blocks, as it does in a full sink.
  void hold() { set(held_, true); }
  void release() { set(held_, false); }
  void close() { set(closed_, true); }

  /// Waits until `condition` is true for all deliveries so far; false after kPatience.
  bool wait_until(const std::function<bool(const std::vector<Delivery>&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return condition(all_); });
  }

  template <class Kind>
  bool wait_for(size_t count) {
    return wait_until([count](const std::vector<Delivery>& all) {
      return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Delivery& one) {
               return std::holds_alternative<Kind>(one);
             })) >= count;
    });
  }

  template <class Kind>
  std::vector<Kind> all_of() {
    const std::lock_guard lock(mutex_);
    std::vector<Kind> out;
    for (const Delivery& one : all_) {
      if (const auto* found = std::get_if<Kind>(&one)) out.push_back(*found);
    }
    return out;
  }

  /// One word for each delivery: `opened`, `caught-up`, `lost`, the id of an event, or, for an
  /// unreadable message, `?` and its error code.
  std::vector<std::string> words() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const Delivery& one : all_) out.push_back(word(one));
    return out;
  }

  /// The ids of the delivered events, in order.
  std::vector<std::string> ids() {
    std::vector<std::string> out;
    for (const EventInput& input : all_of<EventInput>()) out.push_back(id_of(input));
    return out;
  }

  Cursor cursor() {
    Cursor cursor;
    const std::lock_guard lock(mutex_);
    for (const Delivery& one : all_) {
      if (const auto* opened = std::get_if<StreamOpened>(&one)) {
        cursor = opened->position;
      } else if (const auto* event = std::get_if<EventInput>(&one)) {
        cursor.sequence = event->sequence;
        cursor.stamped = event->stamped;
      }
    }
    return cursor;
  }

 private:
  static std::string id_of(const EventInput& input) {
    return std::string(*input.event.attributes().find("id"));
  }

  static std::string word(const Delivery& one) {
    if (std::holds_alternative<StreamOpened>(one)) return "opened";
    if (std::holds_alternative<CaughtUp>(one)) return "caught-up";
    if (std::holds_alternative<StreamLost>(one)) return "lost";
    if (const auto* event = std::get_if<EventInput>(&one)) return id_of(*event);
    return "?" + std::get<UnreadableInput>(one).reason.code;
  }

  void set(bool& flag, bool value) {
    const std::lock_guard lock(mutex_);
    flag = value;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool closed_ = false;
  std::vector<Delivery> all_;
};

/// A small valid event in the JSON format.
inline std::string event_json(const std::string& id) {
  return R"({"specversion":"1.0","id":")" + id + R"(","source":"/tests","type":"t"})";
}

inline constexpr const char* kEventSubject = "millrace.events.default.t";

/// The strings "0", "1" and so on up to `count` - 1.
inline std::vector<std::string> numbered(size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back(std::to_string(i));
  return out;
}

}  // namespace millrace
