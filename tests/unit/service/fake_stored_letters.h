// FakeStoredLetters: StoredLetters in memory. The test fills it, and can make requests fail. For
// one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudevents/headers.h"
#include "orchestrator/ports/stored_letters.h"

namespace millrace {

class FakeStoredLetters final : public StoredLetters {
 public:
  /// Adds a dead letter of an event with that data; returns its sequence.
  uint64_t add(const std::string& ns, const std::string& data,
               const std::string& reason = "event.missing_attribute", const Headers& more = {}) {
    Headers headers = {{"Millrace-Reason", reason}, {"Millrace-Detail", "no source"}};
    if (find_header(more, "Millrace-Subject") == nullptr) {
      headers.emplace_back("Millrace-Subject", "millrace.events." + ns + ".t");
    }
    headers.insert(headers.end(), more.begin(), more.end());
    letters.push_back({.ns = ns,
                       .sequence = ++last,
                       .stamped = stamped,
                       .message = {"millrace.dlq." + ns + "." + reason, headers, data}});
    return last;
  }
  std::vector<uint64_t> sequences() const {
    std::vector<uint64_t> all;
    for (const StoredEvent& letter : letters) all.push_back(letter.sequence);
    return all;
  }

  Result<StreamSpan> span() override {
    if (failing) return tl::unexpected(*failing);
    return StreamSpan{.created = 7, .first = 1, .last = last};
  }
  Result<std::map<std::string, uint64_t>> count(std::string_view ns) override {
    if (failing) return tl::unexpected(*failing);
    std::map<std::string, uint64_t> counts;
    for (const StoredEvent& letter : letters) {
      if (letter.ns == ns) ++counts[reason_of(letter)];
    }
    return counts;
  }
  Result<std::map<std::string, uint64_t>> count_by_namespace(std::string_view reason) override {
    if (failing) return tl::unexpected(*failing);
    std::map<std::string, uint64_t> counts;
    for (const StoredEvent& letter : letters) {
      if (reason_of(letter) == reason) ++counts[letter.ns];
    }
    return counts;
  }
  Result<StoredEvent> get(std::string_view ns, uint64_t sequence) override {
    for (const StoredEvent& letter : letters) {
      if (letter.ns == ns && letter.sequence == sequence) return letter;
    }
    return fail("dlq.not_found", "no such dead letter");
  }
  Result<StoredEvents::Page> read(const Range& range) override {
    StoredEvents::Page page;
    for (const StoredEvent& letter : letters) {
      if (letter.ns != range.ns || letter.sequence < range.first) continue;
      if (range.last != 0 && letter.sequence > range.last) continue;
      if (!range.reason.empty() && reason_of(letter) != range.reason) continue;
      if (range.limit != 0 && page.events.size() == range.limit) {
        page.next = letter.sequence;
        break;
      }
      page.events.push_back(letter);
    }
    return page;
  }
  Status remove(uint64_t sequence) override {
    ++removals;
    if (failing_removal) return tl::unexpected(*failing_removal);
    std::erase_if(letters, [&](const StoredEvent& letter) { return letter.sequence == sequence; });
    return {};
  }
  Result<uint64_t> remove_all(std::string_view ns, std::string_view reason, uint64_t to) override {
    return std::erase_if(letters, [&](const StoredEvent& letter) {
      return letter.ns == ns && letter.sequence <= to &&
             (reason.empty() || reason_of(letter) == reason);
    });
  }

  std::vector<StoredEvent> letters;
  uint64_t last = 0;
  size_t removals = 0;                                 ///< calls of remove()
  TimePoint stamped = from_millis(1'800'000'000'000);  ///< of the next dead letter
  std::optional<Error> failing;          ///< the error of span(), count(), count_by_namespace()
  std::optional<Error> failing_removal;  ///< the error of remove()

 private:
  static std::string reason_of(const StoredEvent& letter) {
    return *find_header(letter.message.headers, "Millrace-Reason");
  }
};

}  // namespace millrace
