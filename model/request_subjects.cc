#include "model/request_subjects.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "cloudevents/subject.h"

namespace millrace {
namespace {

/// How many bytes of the list of allowed subjects a message shows.
constexpr size_t kMostShown = 256;

/// Whether the first tokens of `subject` are those of `prefix`.
bool is_under(std::string_view subject, std::string_view prefix) {
  return subject.starts_with(prefix) &&
         (subject.size() == prefix.size() || subject[prefix.size()] == '.');
}

}  // namespace

bool may_be_reply(std::string_view subject, std::string_view prefix) {
  return !subject.starts_with('$') && !is_under(subject, "millrace") && !is_under(subject, prefix);
}

std::optional<std::string> RequestSubjects::refusal(std::string_view subject) const {
  const bool is_reserved =
      subject.starts_with('$') || subject.starts_with(defaults::kInboxPrefix) ||
      is_under(subject, "millrace") || is_under(subject, prefix) || is_under(subject, inbox_prefix);
  if (is_reserved) {
    return fmt::format(
        "no service may be called on the subject {}: subjects that begin with $, _INBOX or "
        "millrace., with the stream prefix {}. or with the inbox prefix {} are reserved, because "
        "millrace sends the request with its own permissions; let the service listen on another "
        "subject",
        excerpt(subject), prefix, inbox_prefix);
  }
  const auto covers = [&](const std::string& pattern) { return subject_covers(pattern, subject); };
  if (allowed.empty() || std::any_of(allowed.begin(), allowed.end(), covers)) return std::nullopt;
  return fmt::format(
      "this server calls services only on the subjects {} (--request-subjects), and {} is none of "
      "them; name another subject, or let the operator add this one",
      excerpt(fmt::format("{}", fmt::join(allowed, ", ")), kMostShown), excerpt(subject));
}

bool RequestSubjects::may_be_answered(std::string_view reply) const {
  const bool is_own_inbox = inbox_prefix != defaults::kInboxPrefix && is_under(reply, inbox_prefix);
  return may_be_reply(reply, prefix) && !is_own_inbox;
}

std::optional<std::vector<std::string>> read_subject_patterns(std::string_view text) {
  std::vector<std::string> patterns;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view pattern = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!is_subject_pattern(pattern)) return std::nullopt;
    patterns.emplace_back(pattern);
  }
  return patterns;
}

}  // namespace millrace
