#include "broker/refused_subject.h"

namespace millrace {

std::optional<std::string> refused_subject(std::string_view complaint) {
  constexpr std::string_view kBegin = "Permissions Violation for Publish to \"";
  if (!complaint.starts_with(kBegin)) return std::nullopt;
  std::string_view quoted = complaint.substr(kBegin.size());
  std::string subject;
  while (!quoted.empty() && quoted.front() != '"') {
    const bool is_escaped = quoted.front() == '\\';
    if (is_escaped) quoted.remove_prefix(1);
    if (quoted.empty()) return std::nullopt;
    const char byte = quoted.front();
    if (is_escaped && byte != '"' && byte != '\\') return std::nullopt;
    subject += byte;
    quoted.remove_prefix(1);
  }
  if (quoted != "\"" || subject.empty()) return std::nullopt;
  return subject;
}

}  // namespace millrace
