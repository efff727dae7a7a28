#include "cloudevents/percent.h"

#include "base/characters.h"

namespace millrace {

void append_percent_encoded(char c, std::string_view also, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7f && c != '%' && also.find(c) == std::string_view::npos) {
    out.push_back(c);
  } else {
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 0xf]);
  }
}

std::string percent_encode(std::string_view bytes, std::string_view also) {
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) append_percent_encoded(c, also, out);
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return out;
}

}  // namespace millrace
