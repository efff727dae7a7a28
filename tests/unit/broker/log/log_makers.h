// Messages of a log for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "broker/log/log_message.h"

namespace millrace {

inline const std::string kLogKey(32, 'k');
inline constexpr const char* kLogSubject = "millrace.log.test.0";

inline LogIncarnation incarnation_of(uint8_t number) {
  LogIncarnation incarnation{};
  incarnation.back() = number;
  return incarnation;
}

/// The message with the chain that it must have.
inline LogMessage chained(LogMessage message) {
  message.chain = log_chain(kLogKey, message);
  return message;
}

inline NatsMessage encoded(LogMessage message) {
  return encode_log_message(std::move(message), kLogSubject);
}

}  // namespace millrace
