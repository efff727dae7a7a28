#include "tests/fuzz/event_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudevents/json_text.h"

namespace millrace::fuzz {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({
    R"("specversion")",
    R"("id")",
    R"("source")",
    R"("type")",
    R"("subject")",
    R"("time")",
    R"("datacontenttype")",
    R"("dataschema")",
    R"("data")",
    R"("data_base64")",
    R"("ext1")",
    R"("ext2")",
    R"("\u0069d")",
    R"("Ext")",
    R"("a-b")",
    R"("")",
});

constexpr auto kValues = std::to_array<std::string_view>({
    R"("1.0")",
    R"("1")",
    R"("")",
    R"("a b")",
    R"("\u0000")",
    R"("\u0085")",
    R"("\ud83d\ude00")",
    R"("\ud83d")",
    R"("https://example.com/%20#f")",
    R"("2021-09-01T12:00:00Z")",
    R"("2016-12-31T23:59:60.123456789+23:59")",
    R"("0000-01-01T00:00:00Z")",
    R"("application/json")",
    R"("text/plain; charset=\"utf-8\"")",
    R"("application/cloudevents+json")",
    R"("application/octet-stream")",
    R"("AAECAw==")",
    R"("bnVsbA==")",
    R"("eyJhIiA6IDF9")",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "2147483647",
    "2147483648",
    "-2147483648",
    "1.0",
    "1e2",
    "1e999",
    "12345678901234567890123",
    "[]",
    "{}",
    R"({"a": [1, {"b":null}] , "a":2})",
    R"([ "x" , "\n" ])",
});

constexpr std::string_view kEvent = R"({"specversion":"1.0","id":"1","source":"s","type":"t"})";

class EventMutator {
 public:
  explicit EventMutator(unsigned seed) : random_(seed) {}

  size_t below(size_t most) { return random_() % most; }

  /// The event with a change; a minimal event in place of a text that is not an object.
  std::string changed(std::string_view text) {
    const std::optional<std::vector<JsonMember>> members = split_object(text);
    if (!members) return std::string(kEvent);
    std::vector<std::string> pieces;
    for (const JsonMember& member : *members) {
      pieces.push_back(std::string(member.key) + ":" + std::string(member.value));
    }
    change(pieces);
    std::string out = "{";
    for (const std::string& piece : pieces) {
      if (out.size() > 1) out += below(16) == 0 ? " ,\n " : ",";
      out += piece;
    }
    return out + "}";
  }

 private:
  template <size_t kCount>
  std::string one_of(const std::array<std::string_view, kCount>& all) {
    return std::string(all[below(kCount)]);
  }

  std::string member() {
    std::string name = one_of(kNames);
    return name + ":" + one_of(kValues);
  }

  void change(std::vector<std::string>& pieces) {
    const size_t kind = pieces.empty() ? 0 : below(5);
    const size_t at = below(pieces.size() + 1);
    if (kind == 0) {
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), member());
      return;
    }
    std::string& piece = pieces[at % pieces.size()];
    if (kind == 1) {
      piece = member();
    } else if (kind == 2) {
      const size_t colon = piece.find("\":");
      if (colon != std::string::npos) piece = piece.substr(0, colon + 2) + one_of(kValues);
    } else if (kind == 3) {
      std::swap(piece, pieces[below(pieces.size())]);
    } else {
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at % pieces.size()));
    }
  }

  std::minstd_rand random_;
};

size_t put(const std::string& text, uint8_t* data, size_t max_size) {
  const size_t kept = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), kept);
  return kept;
}

}  // namespace

size_t mutate_event(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t begin = std::min(text.find('{'), text.size());
  const std::string before(text.substr(0, begin));
  return put(before + EventMutator(seed).changed(text.substr(begin)), data, max_size);
}

size_t mutate_batch(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  EventMutator mutator(seed);
  std::vector<std::string> events;
  if (const auto elements = split_array(text)) events.assign(elements->begin(), elements->end());
  if (events.empty() || mutator.below(4) == 0) {
    events.emplace_back(kEvent);
  } else if (mutator.below(8) == 0) {
    events.pop_back();
  } else {
    std::string& event = events[mutator.below(events.size())];
    event = mutator.changed(event);
  }
  std::string out = "[";
  for (const std::string& event : events) {
    if (out.size() > 1) out += ",";
    out += event;
  }
  return put(out + "]", data, max_size);
}

}  // namespace millrace::fuzz
