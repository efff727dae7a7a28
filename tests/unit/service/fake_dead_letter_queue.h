// FakeDeadLetterQueue: a DeadLetterQueue in memory. The test fills it, and can make requests fail.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/ports/dead_letter_queue.h"

namespace millrace {

class FakeDeadLetterQueue final : public DeadLetterQueue {
 public:
  struct Letter {
    std::string ns;
    LetterPlace place;
  };

  /// Adds a dead letter, with the next sequence.
  void add(const std::string& ns, TimePoint stored_at) {
    letters.push_back({ns, {.sequence = ++last_sequence, .stored_at = stored_at}});
  }

  /// The sequences of the dead letters of the namespace.
  std::vector<uint64_t> sequences(std::string_view ns) const {
    std::vector<uint64_t> all;
    for (const Letter& letter : letters) {
      if (letter.ns == ns) all.push_back(letter.place.sequence);
    }
    return all;
  }

  bool is_usable() const override { return usable; }

  Result<uint64_t> count(std::string_view ns) override {
    TRY(note("count", ns));
    return sequences(ns).size();
  }

  Result<std::optional<LetterPlace>> next(std::string_view ns, uint64_t from) override {
    TRY(note("next", ns));
    auto at = std::lower_bound(
        letters.begin(), letters.end(), from,
        [](const Letter& letter, uint64_t sequence) { return letter.place.sequence < sequence; });
    at = std::find_if(at, letters.end(), [&](const Letter& letter) { return letter.ns == ns; });
    return at == letters.end() ? std::nullopt : std::optional(at->place);
  }

  Result<uint64_t> delete_before(std::string_view ns, uint64_t sequence) override {
    TRY(note("delete", ns));
    return std::erase_if(letters, [&](const Letter& letter) {
      return letter.ns == ns && letter.place.sequence < sequence;
    });
  }

  Result<uint64_t> delete_all_but(std::string_view ns, uint64_t kept) override {
    TRY(note("delete", ns));
    uint64_t left = sequences(ns).size();
    return std::erase_if(letters,
                         [&](const Letter& letter) { return letter.ns == ns && left-- > kept; });
  }

  std::vector<Letter> letters;  ///< by their sequences, ascending
  uint64_t last_sequence = 0;
  bool usable = true;
  /// By namespace: the error of each request.
  std::map<std::string, Error, std::less<>> errors;
  /// The requests so far: `count`, `next` or `delete`, and the namespace.
  std::vector<std::string> requests;
  /// Called at each request, on its thread.
  std::function<void()> on_request = [] {};

 private:
  Status note(const char* request, std::string_view ns) {
    requests.push_back(std::string(request) + " " + std::string(ns));
    on_request();
    const auto error = errors.find(ns);
    if (error != errors.end()) return tl::unexpected(error->second);
    return {};
  }
};

}  // namespace millrace
