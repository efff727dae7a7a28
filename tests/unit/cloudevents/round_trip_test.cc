// Properties over made-up events and over damaged texts, from fixed seeds.
#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/event_check.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/json_text.h"
#include "cloudevents/nats_binding.h"

namespace millrace {
namespace {

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  size_t below(size_t bound) { return random_() % bound; }
  bool chance(size_t in) { return below(in) == 0; }

  std::string text(size_t at_least) {
    static const std::vector<std::string> kPieces = {"a", "Z",   "7", " ",     "\"", "\\",
                                                     "%", "%41", "ä", "€",     "😀",  "\u00a0",
                                                     "{", ",",   "/", "\ue000"};
    std::string out;
    for (size_t n = at_least + below(6); n > 0; --n) out += kPieces[below(kPieces.size())];
    return out;
  }

  std::string one_of(const std::vector<std::string>& choices) {
    return choices[below(choices.size())];
  }

  /// Compact JSON, with what a tree would change: order of keys, digits, duplicates, escapes.
  std::string json(size_t depth) {
    if (depth == 0 || chance(3)) {
      return one_of({"0", "-0", "1.50", "1E+2", "9007199254740993",
                     "123456789012345678901234567890", "true", "false", "null", R"("")",
                     R"("a b\n")", R"("\u00e4€")", "[]", "{}"});
    }
    std::string out;
    const bool object = chance(2);
    for (size_t n = below(4); n > 0; --n) {
      if (!out.empty()) out += ",";
      if (object) out += one_of({R"("b":)", R"("a":)", R"("data":)", R"("\u0061":)"});
      out += json(depth - 1);
    }
    return object ? "{" + out + "}" : "[" + out + "]";
  }

  std::string bytes() {
    std::string out(below(40), '\0');
    std::generate(out.begin(), out.end(), [&] { return static_cast<char>(below(256)); });
    return out;
  }

  Event event() {
    Event event;
    event.id = text(1);
    event.source = one_of({"/s", "https://example.com/a%20b?c#d", "urn:x:y", "#", "a/b:c"});
    event.type = text(1);
    if (chance(2)) event.subject = text(1);
    if (chance(2))
      event.time = one_of({"2021-09-01T12:00:00Z", "2021-09-01t12:00:00.123456+02:00"});
    if (chance(2)) {
      event.datacontenttype = one_of({"application/json", "text/plain", "a/b+JSON; charset=\"x y\"",
                                      "application/octet-stream"});
    }
    if (chance(3)) event.dataschema = one_of({"urn:x", "https://example.com/s#/a"});
    for (size_t n = below(4); n > 0; --n) {
      const std::string name = one_of({"a", "b1", "traceparent", "averyveryverylongname0123"});
      switch (below(3)) {
        case 0:
          event.extensions[name] = chance(2);
          break;
        case 1:
          event.extensions[name] = static_cast<int32_t>(random_());
          break;
        default:
          event.extensions[name] = text(0);
      }
    }
    switch (below(4)) {
      case 0:
        break;
      case 1:
        event.data = json(4);
        break;
      case 2:
        event.data = text(0);
        break;
      default:
        event.data = bytes();
    }
    return event;
  }

 private:
  std::mt19937 random_;
};

/// Outside strings, bytes that happen to be JSON may hold white space, which encoding takes out.
bool holds_loose_json(const Event& event) {
  return event.data && is_json_content_type(event.datacontenttype) && is_json_text(*event.data) &&
         compact_json(*event.data) != *event.data;
}

TEST(RoundTrip, OfTheJsonFormatIsTheIdentity) {
  Maker maker(1);
  for (int round = 0; round < 5000; ++round) {
    const Event event = maker.event();
    ASSERT_TRUE(check_event(event)) << check_event(event).error().message;
    if (holds_loose_json(event)) continue;
    const std::string text = encode_json_event(event);
    const Result<Event> again = decode_json_event(text);
    ASSERT_TRUE(again) << text << "\n" << again.error().message;
    ASSERT_EQ(*again, event) << text;
    ASSERT_EQ(decode_nats(encode_nats(event)), event) << text;
  }
}

TEST(RoundTrip, KeepsThePayloadOfJsonWithWhiteSpace) {
  Event event{.id = "1", .source = "/s", .type = "t"};
  event.data = " {\"a\" : [1, 2]}\n";
  const Result<Event> again = decode_json_event(encode_json_event(event));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data, "{\"a\":[1,2]}");
  EXPECT_EQ(payload(*again), payload(event));
}

TEST(RoundTrip, OfTheTreeIsTheSamePayloadAndAttributes) {
  Maker maker(2);
  for (int round = 0; round < 2000; ++round) {
    const Event event = maker.event();
    Result<Event> again = decode_json_event(dump_json(event_to_json(event)));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(payload(*again), payload(event));
    again->data = event.data;
    ASSERT_EQ(*again, event);
  }
}

TEST(RoundTrip, OfBinaryModeKeepsAllButTheTypesOfExtensions) {
  Maker maker(3);
  for (int round = 0; round < 5000; ++round) {
    Event event = maker.event();
    const HttpMessage message = encode_http_binary(event);
    for (const auto& [name, value] : message.headers) {
      ASSERT_TRUE(
          std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
          << name << ": " << value;
    }
    for (auto& [name, value] : event.extensions) value = *attribute(event, name);
    if (event.data && is_json_text(*event.data) && !event.datacontenttype) {
      event.datacontenttype = "application/json";
    }
    if (event.data == "") event.data.reset();
    const Result<std::vector<Event>> again = decode_http(message.headers, message.body);
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(*again, std::vector{event});
  }
}

TEST(DamagedTexts, AreTakenOnlyWhereTheyAreStillJson) {
  Maker maker(4);
  size_t taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = encode_json_event(maker.event());
    for (size_t n = 1 + maker.below(3); n > 0; --n) {
      const size_t at = maker.below(text.size());
      static const std::string kBytes("{}[],:\"\\ 01.-etn\0\n\xef\xff", 21);
      const char byte = kBytes[maker.below(kBytes.size())];
      switch (maker.below(3)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1);
      }
    }
    const Result<Event> event = decode_json_event(text);
    if (!event) {
      EXPECT_TRUE(is_utf8(event.error().message));
      if (event.error().code == "event.malformed_json") {
        ASSERT_FALSE(is_json_text(text)) << text;
      }
      continue;
    }
    ++taken;
    ASSERT_TRUE(is_json_text(text)) << text;
    ASSERT_TRUE(check_event(*event)) << text;
    if (!holds_loose_json(*event)) {
      ASSERT_EQ(decode_json_event(encode_json_event(*event)), event) << text;
    }
  }
  EXPECT_GT(taken, 1000U) << "the damage leaves too few events to say anything";
}

}  // namespace
}  // namespace millrace
