#include "cloudevents/uri.h"

#include <algorithm>
#include <optional>

#include "base/byte_set.h"
#include "base/characters.h"

namespace millrace {
namespace {

/// Unreserved characters and sub-delims; the sets below add the characters of other parts of a URI.
constexpr ByteSet kUserOrHost = kAsciiLettersAndDigits.with("-._~!$&'()*+,;=");
constexpr ByteSet kUserWithColon = kUserOrHost.with(":");
constexpr ByteSet kPath = kUserOrHost.with(":@/");
constexpr ByteSet kQueryOrFragment = kPath.with("?");

constexpr ByteSet kScheme = kAsciiLettersAndDigits.with("+-.");

/// Whether the text has only bytes of the set and percent-encoded bytes (`%` and two hex digits).
bool consists_of(std::string_view text, const ByteSet& set) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (text.size() - i < 3 || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2]))
        return false;
      i += 2;
    } else if (!set.has(c)) {
      return false;
    }
  }
  return true;
}

/// Whether the text is `[userinfo@]host[:port]`; if the host is an address in brackets, only its
/// characters are checked.
bool is_authority(std::string_view text) {
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    if (!consists_of(text.substr(0, at), kUserWithColon)) return false;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos || close == 1) return false;
    if (!consists_of(text.substr(1, close - 1), kUserWithColon)) return false;
    port = text.substr(close + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    if (!consists_of(text.substr(0, colon), kUserOrHost)) return false;
    port = text.substr(colon);
  }
  if (port.empty()) return true;
  return port.front() == ':' && std::all_of(port.begin() + 1, port.end(), is_digit);
}

/// The scheme without its colon; nullopt if the text does not begin with a scheme.
std::optional<std::string_view> scheme_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(text.front())) {
    return std::nullopt;
  }
  const std::string_view scheme = text.substr(0, colon);
  if (!kScheme.has_all(scheme)) return std::nullopt;
  return scheme;
}

}  // namespace

bool is_uri_reference(std::string_view text) {
  const std::optional<std::string_view> scheme = scheme_of(text);
  if (scheme) text.remove_prefix(scheme->size() + 1);

  if (const size_t hash = text.find('#'); hash != std::string_view::npos) {
    if (!consists_of(text.substr(hash + 1), kQueryOrFragment)) return false;
    text = text.substr(0, hash);
  }
  if (const size_t question = text.find('?'); question != std::string_view::npos) {
    if (!consists_of(text.substr(question + 1), kQueryOrFragment)) return false;
    text = text.substr(0, question);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const size_t slash = std::min(text.find('/'), text.size());
    if (!is_authority(text.substr(0, slash))) return false;
    text.remove_prefix(slash);
  } else if (!scheme && text.substr(0, text.find('/')).find(':') != std::string_view::npos) {
    return false;  // a colon in the first segment would be read as a scheme: section 4.2
  }
  return consists_of(text, kPath);
}

bool is_absolute_uri(std::string_view text) {
  return scheme_of(text).has_value() && is_uri_reference(text);
}

}  // namespace millrace
