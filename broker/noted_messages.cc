#include "broker/noted_messages.h"

#include <algorithm>

namespace millrace {

void NotedMessages::add(std::string_view subject, std::string_view id, uint64_t sequence) {
  noted_.push_back({fingerprint({subject, id}), sequence});
}

void NotedMessages::sort() { std::sort(noted_.begin(), noted_.end()); }

std::optional<uint64_t> NotedMessages::find(std::string_view subject, std::string_view id) const {
  const Noted wanted{.message = fingerprint({subject, id})};
  const auto found = std::lower_bound(noted_.begin(), noted_.end(), wanted);
  if (found == noted_.end() || found->message != wanted.message) return std::nullopt;
  return found->sequence;
}

bool is_event_message_id(std::string_view id) {
  return id.size() == 2 * sizeof(Fingerprint) && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace millrace
