// NotedMessages: the messages of millrace that one stream has, as fingerprints. Each takes 24
// bytes. A restored store notes them, so that it does not send a message again that the stream has
// (restored_publisher.h). Pure. Private to broker/; for one thread at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace millrace {

class NotedMessages {
 public:
  /// Notes the message of the stream with that subject, Nats-Msg-Id and sequence. sort() must
  /// follow before find().
  void add(std::string_view subject, std::string_view id, uint64_t sequence);
  void sort();

  /// The sequence of the first message with that subject and Nats-Msg-Id; nullopt: there is none.
  /// The subject counts too: an event of another type under the same id is another message.
  std::optional<uint64_t> find(std::string_view subject, std::string_view id) const;

  size_t size() const { return noted_.size(); }

 private:
  struct Noted {
    Fingerprint message{};
    uint64_t sequence = 0;

    auto operator<=>(const Noted&) const = default;
  };

  /// A deque, because a vector that grows needs up to three times the memory.
  std::deque<Noted> noted_;
};

/// Whether a Nats-Msg-Id has the form of those that millrace gives events (32 lower-case
/// hexadecimal digits). A message with another id is not one of millrace.
bool is_event_message_id(std::string_view id);

}  // namespace millrace
