#include "broker/pull_status.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace millrace {
namespace {

struct KnownStatus {
  std::string_view code;
  std::string_view text;  ///< the start of the description
  PullStatus meaning;
};

/// The statuses that nats-server 2.9 to 2.15 sends. The first entry that matches a status counts.
constexpr KnownStatus kKnown[] = {
    {"100", "", PullStatus::kAlive},         // Idle Heartbeat
    {"404", "", PullStatus::kRequestEnded},  // No Messages
    {"408", "", PullStatus::kRequestEnded},  // Request Timeout, Interest Expired, Requests Pending
    {"409", "Batch Completed", PullStatus::kRequestEnded},  // 2.10: filled before max_bytes
    {"409", "Message Size Exceeds MaxBytes", PullStatus::kRequestEnded},
    {"409", "Consumer Deleted", PullStatus::kConsumerLost},
    {"409", "Leadership Change", PullStatus::kConsumerLost},
    {"409", "Server Shutdown", PullStatus::kConsumerLost},
    {"503", "", PullStatus::kConsumerLost},  // no responder: JetStream is off
};

constexpr std::string_view kFilled = "Batch Completed";

}  // namespace

PullStatus classify_pull_status(std::string_view code, std::string_view description) {
  const auto* const known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const KnownStatus& one) {
        return one.code == code && description.starts_with(one.text);
      });
  return known == std::end(kKnown) ? PullStatus::kRefused : known->meaning;
}

size_t messages_left(std::string_view description, std::string_view pending, size_t batch) {
  size_t left = description.starts_with(kFilled) ? 0 : batch;
  std::from_chars(pending.data(), pending.data() + pending.size(), left);
  return std::min(left, batch);
}

}  // namespace millrace
