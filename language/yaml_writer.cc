#include "language/yaml_writer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/characters.h"

namespace millrace {
namespace {

/// Words, in lower case, that some YAML parsers do not read as a string.
constexpr std::array<std::string_view, 11> kWords = {"null", "true", "false", "yes", "no", "on",
                                                     "off",  "y",    "n",     "nan", "inf"};

/// Whether the text needs no quotes; in doubt false.
bool is_plain(const std::string& text) {
  if (text.empty() || !is_letter(text[0])) return false;
  const bool letters = std::all_of(text.begin(), text.end(), [](char c) {
    return is_in_name(c) || c == '-' || c == '.' || c == '/';
  });
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), lower_case);
  return letters && std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

/// A character at the front of a text that a reader of YAML may refuse or take for a line break.
struct SpecialCharacter {
  size_t bytes = 0;  ///< 0: the text begins with none
  unsigned code = 0;
};

/// Special are U+007F to U+009F, U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF. `text` is UTF-8.
SpecialCharacter special_at_front(std::string_view text) {
  const auto byte = [text](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  if (byte(0) == 0x7f) return {.bytes = 1, .code = 0x7f};
  if (byte(0) == 0xc2 && byte(1) <= 0x9f) return {.bytes = 2, .code = byte(1)};
  if (byte(0) < 0xe0 || byte(0) >= 0xf0) return {};
  const unsigned code = (byte(0) & 0xfU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU);
  constexpr std::array<unsigned, 5> kCodes = {0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff};
  if (std::find(kCodes.begin(), kCodes.end(), code) == kCodes.end()) return {};
  return {.bytes = 3, .code = code};
}

bool has_special_character(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (special_at_front(text.substr(at)).bytes > 0) return true;
  }
  return false;
}

/// A scalar as JSON, which is valid YAML, with an escape for each special character.
std::string quoted_scalar(const Json& value) {
  const std::string json = dump_json(value);
  if (!has_special_character(json)) return json;
  std::string out;
  for (size_t at = 0; at < json.size();) {
    const SpecialCharacter special = special_at_front(std::string_view(json).substr(at));
    out += special.bytes > 0 ? fmt::format("\\u{:04x}", special.code) : json.substr(at, 1);
    at += std::max<size_t>(special.bytes, 1);
  }
  return out;
}

/// Whether the text is written as a block: it ends with one line break, and contains nothing that a
/// block cannot represent.
bool is_block(const std::string& text) {
  const auto plain = [](unsigned char c) { return c == '\n' || c >= 0x20; };
  return text.size() > 1 && text.ends_with('\n') && !text.ends_with("\n\n") && text[0] != ' ' &&
         text[0] != '\n' && std::all_of(text.begin(), text.end(), plain) &&
         !has_special_character(text);
}

std::string scalar(const Json& value) {
  if (value.is_string() && is_plain(value.get_ref<const std::string&>())) return value;
  return quoted_scalar(value);
}

void write(std::string& out, const Json& value, size_t indent);

/// Writes the value after `key:` or `-`.
void write_nested(std::string& out, const Json& value, size_t indent, bool in_list) {
  const bool nested = value.is_structured() && !value.empty();
  if (value.is_string() && is_block(value.get_ref<const std::string&>())) {
    out += " |\n";
    std::string_view rest = value.get_ref<const std::string&>();
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      if (end > 0) out += std::string(indent, ' ');
      out += std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(end + 1);
    }
  } else if (!nested) {
    out += " " + scalar(value) + "\n";
  } else if (in_list) {
    std::string inner;
    write(inner, value, indent);
    out += " " + inner.substr(indent);
  } else {
    out += "\n";
    write(out, value, indent);
  }
}

void write(std::string& out, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) {
      out += margin + scalar(key) + ":";
      write_nested(out, member, indent + 2, false);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const Json& item : value) {
      out += margin + "-";
      write_nested(out, item, indent + 2, true);
    }
  } else {
    out += margin + scalar(value) + "\n";
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  std::string out;
  write(out, value, 0);
  return out;
}

}  // namespace millrace
