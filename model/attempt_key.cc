#include "model/attempt_key.h"

#include <fmt/format.h>
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

std::string AttemptKeys::named_key_of(const InstanceId& task) const {
  return fmt::format("{}.{}", to_string(task), key_of(task));
}

std::string AttemptKeys::key_of(const InstanceId& task, std::string_view delivery) const {
  return fmt::format("{}-{}", key_of(task), delivery);
}

std::optional<InstanceId> AttemptKeys::task_of(std::string_view named_key) const {
  const size_t dot = named_key.find('.');
  const auto task = parse_instance_id(named_key.substr(0, dot));
  if (!task || dot == std::string_view::npos) return std::nullopt;
  if (!is_key_of(*task, key_of_attempt(named_key.substr(dot + 1)))) return std::nullopt;
  return *task;
}

}  // namespace millrace
