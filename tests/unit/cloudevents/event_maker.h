// EventMaker makes random events that are difficult for codecs, and damages texts by changing
// bytes. The seed determines the sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/event.h"

namespace millrace {

class EventMaker {
 public:
  explicit EventMaker(uint32_t seed) : random_(seed) {}

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

  /// Compact JSON that a JSON tree would change: its order of keys, digits, duplicate keys and
  /// escapes are unusual.
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

  /// Changes one to three bytes.
  void damage(std::string& text) {
    for (size_t n = 1 + below(3); n > 0 && !text.empty(); --n) {
      const size_t at = below(text.size());
      static const std::string kBytes("{}[],:\"\\ 01.-etn\0\n\xef\xff", 21);
      const char byte = kBytes[below(kBytes.size())];
      switch (below(3)) {
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
  }

 private:
  std::mt19937 random_;
};

}  // namespace millrace
