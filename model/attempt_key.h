// AttemptKeys: the keys with which a service proves that it has an attempt of a task. The key of an
// attempt is a message authentication code of the action id, which no other attempt has; so nothing
// is stored, and the same attempt has the same key after a restart and on each node of a cluster.
// Whether the attempt has ended, a key does not say. Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace millrace {

/// The header of a task with the key of its attempt, and of the requests that need the key.
inline constexpr const char* kAttemptKeyHeader = "Millrace-Key";

class AttemptKeys {
 public:
  /// `secret`: what only millrace knows, the same on each node of a cluster; the keys do not show
  /// it.
  explicit AttemptKeys(std::string_view secret);

  /// The key of an attempt: 32 hexadecimal digits. `task`: its action id (Task::id).
  std::string key_of(const InstanceId& task) const;

  /// Whether `key` is the key of the attempt. The comparison takes the same time for each key of
  /// the right length.
  bool is_key_of(const InstanceId& task, std::string_view key) const;

  /// The attempt and its key in one text, for a URL: the action id, a `.` and key_of().
  std::string named_key_of(const InstanceId& task) const;

  /// The key of one delivery of an attempt, for what only that delivery has: key_of(), a `-` and
  /// `delivery`, which need not be secret.
  std::string key_of(const InstanceId& task, std::string_view delivery) const;

  /// A key without what it says about the delivery.
  static std::string_view key_of_attempt(std::string_view key) {
    return key.substr(0, key.find('-'));
  }

  /// The action id in such a text, whose key may be that of a delivery; nullopt: the text has not
  /// the key of the attempt that it names.
  std::optional<InstanceId> task_of(std::string_view named_key) const;

 private:
  std::string key_;  ///< derived from the secret for this purpose
};

}  // namespace millrace
