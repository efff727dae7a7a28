#include "functions/output_lines.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/bytes.h"

namespace millrace {

std::string as_text(std::string_view bytes) {
  // A cut may have left only a part of the last character.
  const auto is_plain = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  for (std::string_view head = bytes; bytes.size() - head.size() < 4; head.remove_suffix(1)) {
    if (is_utf8(head)) return std::string(head);
    if (is_plain(head.back())) break;
  }
  std::string text(bytes);
  std::replace_if(text.begin(), text.end(), std::not_fn(is_plain), '?');
  return text;
}

std::vector<std::string> OutputLines::add(std::string_view bytes, OutputAllowance& left) {
  std::vector<std::string> lines;
  while (true) {
    const size_t end = bytes.find('\n');
    line_ +=
        bytes.substr(0, std::min(end, kMaxOutputLine - std::min(line_.size(), kMaxOutputLine)));
    if (end == std::string_view::npos) return lines;
    take_line(lines, left);
    bytes.remove_prefix(end + 1);
  }
}

std::vector<std::string> OutputLines::finish(OutputAllowance& left) {
  std::vector<std::string> lines;
  take_line(lines, left);
  return lines;
}

void OutputLines::take_line(std::vector<std::string>& lines, OutputAllowance& left) {
  std::string line = std::exchange(line_, "");
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty() || left.is_said) return;
  if (left.lines == 0 || left.bytes < line.size()) {
    left.is_said = true;
    return lines.push_back("(further output is left out)");
  }
  --left.lines;
  left.bytes -= line.size();
  std::string text = as_text(line);
  if (text.empty()) text.assign(line.size(), '?');  // the line is only a part of a character
  lines.push_back(std::move(text));
}

}  // namespace millrace
