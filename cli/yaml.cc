#include <algorithm>
#include <array>

#include "base/characters.h"
#include "cli/output.h"

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

/// Whether the text is written as a block: it ends with one line break, and contains nothing that a
/// block cannot represent.
bool is_block(const std::string& text) {
  const auto plain = [](unsigned char c) { return c == '\n' || (c >= 0x20 && c != 0x7f); };
  return text.size() > 1 && text.ends_with('\n') && !text.ends_with("\n\n") && text[0] != ' ' &&
         text[0] != '\n' && std::all_of(text.begin(), text.end(), plain);
}

std::string scalar(const Json& value) {
  if (value.is_string() && is_plain(value.get_ref<const std::string&>())) return value;
  return dump_json(value);  // JSON is valid YAML
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
