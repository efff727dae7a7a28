#include "base/json.h"

#include <fmt/format.h>

namespace millrace {
namespace {

/// A byte order mark, which nlohmann passes over, and NUL, which it takes for the end of the text,
/// stand in no JSON text (RFC 8259, sections 2 and 8.1).
size_t no_json_at(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) return 0;
  return text.find('\0');
}

/// The first byte at which nesting passes kMaxJsonDepth, or npos. Only brackets outside strings
/// count, so it is right for any text that is JSON at all.
size_t too_deep_at(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return i;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (const size_t at = no_json_at(text); at != std::string_view::npos) {
    return fail("json.malformed",
                fmt::format("byte {} is a NUL or a byte order mark, which JSON does not have", at));
  }
  if (const size_t at = too_deep_at(text); at != std::string_view::npos) {
    return fail("json.depth",
                fmt::format("JSON nests deeper than {} at byte {}", kMaxJsonDepth, at));
  }
  return parse_own_json(text);
}

Result<Json> parse_own_json(std::string_view text) {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": keep what follows.
    std::string_view what = e.what();
    if (const size_t bracket = what.find("] "); bracket != std::string_view::npos) {
      what.remove_prefix(bracket + 2);
    }
    // nlohmann quotes what it read last; bytes that are no UTF-8 must not travel on in a message.
    std::string message;
    for (const char c : what) {
      if (static_cast<unsigned char>(c) < 0x80) message.push_back(c);
    }
    return fail("json.malformed", message);
  }
}

bool is_json(std::string_view text) {
  return no_json_at(text) == std::string_view::npos &&
         too_deep_at(text) == std::string_view::npos && Json::accept(text.begin(), text.end());
}

bool nests_deeper(const Json& value, size_t depth) {
  if (!value.is_structured()) return false;
  if (depth == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& item) { return nests_deeper(item, depth - 1); });
}

std::string dump_json(const Json& value) { return value.dump(); }

}  // namespace millrace
