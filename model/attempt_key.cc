#include "model/attempt_key.h"

#include <sodium.h>

#include "base/bytes.h"

namespace millrace {

AttemptKeys::AttemptKeys(std::string_view secret)
    : key_(to_hex(keyed_fingerprint(secret, {"keys of attempts"}))) {}

std::string AttemptKeys::key_of(const InstanceId& task) const {
  return to_hex(keyed_fingerprint(key_, {"attempt", to_string(task)}));
}

bool AttemptKeys::is_key_of(const InstanceId& task, std::string_view key) const {
  const std::string expected = key_of(task);
  return key.size() == expected.size() &&
         sodium_memcmp(expected.data(), key.data(), expected.size()) == 0;
}

}  // namespace millrace
