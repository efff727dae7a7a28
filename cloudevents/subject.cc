#include "cloudevents/subject.h"

#include "cloudevents/percent.h"

namespace millrace {
namespace {

/// The token for an empty text, because NATS does not allow an empty token. No other text is
/// encoded as a single `%`.
constexpr std::string_view kEmptyToken = "%";

constexpr size_t kMaxSubject = size_t{3} * 1024;

/// Returns the token before the next dot; `subject` becomes the text after that dot, empty after
/// the last token.
std::string_view take_subject_token(std::string_view& subject) {
  const size_t dot = subject.find('.');
  const std::string_view token = subject.substr(0, dot);
  subject = dot == std::string_view::npos ? std::string_view() : subject.substr(dot + 1);
  return token;
}

}  // namespace

std::string event_subject(std::string_view ns, std::string_view type) {
  std::string tail;
  for (size_t i = 0; i < type.size(); ++i) {
    const bool separates =
        type[i] == '.' && i + 1 < type.size() && !tail.empty() && tail.back() != '.';
    const size_t before = tail.size();
    if (separates) {
      tail.push_back('.');
    } else {
      append_percent_encoded(type[i], type[i] == '.' ? "." : "*>", tail);
    }
    if (tail.size() <= kMaxSubjectTail) continue;
    tail.resize(before);
    break;
  }
  if (tail.ends_with('.')) tail.pop_back();  // the type was cut right after a separator
  return std::string(kEventSubjectPrefix) + subject_token(ns) + "." +
         (tail.empty() ? std::string(kEmptyToken) : tail);
}

std::string subject_token(std::string_view text) {
  return text.empty() ? std::string(kEmptyToken) : percent_encode(text, ".*>");
}

bool is_publish_subject(std::string_view subject) {
  if (subject.empty() || subject.size() > kMaxSubject) return false;
  char before = '.';
  for (const char c : subject) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '*' || c == '>') return false;
    if (c == '.' && before == '.') return false;
    before = c;
  }
  return before != '.';
}

bool is_subject_pattern(std::string_view pattern) {
  std::string subject(pattern);
  for (size_t at = 0; at < subject.size(); ++at) {
    const bool is_first = at == 0 || subject[at - 1] == '.';
    const bool is_last = at + 1 == subject.size();
    const bool is_alone = is_first && (is_last || subject[at + 1] == '.');
    const bool is_wildcard = subject[at] == '*' || (subject[at] == '>' && is_last);
    if (is_wildcard && is_alone) subject[at] = 'x';
  }
  return is_publish_subject(subject);
}

bool subject_covers(std::string_view outer, std::string_view inner) {
  while (!outer.empty() && !inner.empty()) {
    const std::string_view wanted = take_subject_token(outer);
    if (wanted == ">") return true;
    const std::string_view token = take_subject_token(inner);
    if (token == ">" || (wanted != "*" && wanted != token)) return false;
  }
  return outer.empty() && inner.empty();
}

bool subjects_overlap(std::string_view first, std::string_view second) {
  while (!first.empty() && !second.empty()) {
    const std::string_view one = take_subject_token(first);
    const std::string_view other = take_subject_token(second);
    if (one == ">" || other == ">") return true;
    if (one != other && one != "*" && other != "*") return false;
  }
  return first.empty() && second.empty();
}

std::optional<std::string> subject_namespace(std::string_view subject, std::string_view prefix) {
  if (!subject.starts_with(prefix)) return std::nullopt;
  subject.remove_prefix(prefix.size());
  const size_t dot = subject.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot + 1 == subject.size()) return std::nullopt;
  const std::string_view token = subject.substr(0, dot);
  return token == kEmptyToken ? std::string() : percent_decode(token);
}

}  // namespace millrace
