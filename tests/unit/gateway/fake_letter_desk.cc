#include "tests/unit/gateway/fake_letter_desk.h"

#include <stdexcept>

namespace millrace {
namespace {

Json shown_letter(uint64_t id) {
  return {{"id", std::to_string(id)},
          {"reason", "event.time"},
          {"detail", "no time"},
          {"time", "2021-09-01T12:00:00.000Z"},
          {"subject", "millrace.events.default.x"},
          {"size", 3},
          {"data", "AP8Q"},
          {"encoding", "base64"}};
}

}  // namespace

Status FakeLetterDesk::check(std::string_view ns) const {
  if (ns == "throw") throw std::runtime_error("a library's exception");
  if (ns == "default") return {};
  return fail("namespace.not_found", "no namespace has this name");
}

Status FakeLetterDesk::check(std::string_view ns, uint64_t id) const {
  TRY(check(ns));
  if (ids_.contains(id)) return {};
  return fail("dlq.not_found", "no such dead letter");
}

Result<Json> FakeLetterDesk::list(std::string_view ns, const LetterFilter& filter) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns));
  filter_ = filter;
  Json items = Json::array();
  for (auto id = ids_.rbegin(); id != ids_.rend() && items.size() < filter.limit; ++id) {
    items.push_back(shown_letter(*id));
  }
  return Json{{"items", std::move(items)},
              {"reasons", {{{"reason", "event.time"}, {"count", ids_.size()}}}},
              {"complete", true},
              {"next", nullptr}};
}

Result<Json> FakeLetterDesk::get(std::string_view ns, uint64_t id) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns, id));
  Json letter = shown_letter(id);
  letter["headers"] = Json::array({Json::array({"ce-id", "1"})});
  return letter;
}

Result<Json> FakeLetterDesk::replay(std::string_view ns, uint64_t id,
                                    const std::optional<Event>& corrected) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns, id));
  if (id == 11 && !corrected) return fail("dlq.truncated", "send the whole event");
  corrected_ = corrected;
  ids_.erase(id);
  return Json{{"id", std::to_string(id)}, {"event", "e-1"}, {"sequence", 19}};
}

Result<Json> FakeLetterDesk::replay_all(std::string_view ns, const std::string& reason,
                                        uint64_t from) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns));
  reason_ = reason;
  Json answer = {{"done", 0}, {"refused", Json::array()}, {"next", nullptr}};
  const auto letter = ids_.lower_bound(from);
  if (letter != ids_.end()) {
    const uint64_t id = *letter;
    if (id < 12) answer["next"] = std::to_string(id + 1);
    if (id == 11) {
      answer["refused"].push_back({{"id", "11"}, {"code", "dlq.truncated"}, {"msg", "cut"}});
    } else {
      answer["done"] = 1;
      ids_.erase(letter);
    }
  }
  answer["left"] = ids_.size();
  return answer;
}

Result<Json> FakeLetterDesk::remove(std::string_view ns, uint64_t id) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns, id));
  ids_.erase(id);
  return Json{{"id", std::to_string(id)}, {"deleted", true}};
}

Result<Json> FakeLetterDesk::remove_all(std::string_view ns, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  TRY(check(ns));
  reason_ = reason;
  const size_t done = ids_.size();
  ids_.clear();
  return Json{{"done", done}, {"refused", Json::array()}, {"left", 0}, {"next", nullptr}};
}

LetterFilter FakeLetterDesk::last_filter() {
  const std::lock_guard lock(mutex_);
  return filter_;
}

std::string FakeLetterDesk::last_reason() {
  const std::lock_guard lock(mutex_);
  return reason_;
}

std::optional<Event> FakeLetterDesk::last_corrected() {
  const std::lock_guard lock(mutex_);
  return corrected_;
}

std::set<uint64_t> FakeLetterDesk::ids() {
  const std::lock_guard lock(mutex_);
  return ids_;
}

}  // namespace millrace
