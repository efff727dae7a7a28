// Variables: values that outlive the step that set them, under a key in the scope of one instance,
// of a workflow or of a namespace (Direktiv's getter and setter). Between instances the last
// write wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"

namespace millrace {

inline constexpr size_t kMaxVariableBytes = size_t{4} << 20;
inline constexpr size_t kMaxVariableKey = 100;

// On disk: never renumber.
enum class VariableScope : uint8_t {
  kInstance = 0,
  kWorkflow = 1,
  kNamespace = 2,
};

/// "instance", "workflow", "namespace"
std::string_view to_string(VariableScope scope);

/// Whether `key` may name a variable: a letter, then letters, digits, `_`, `-`, `.`; 100 at most.
bool is_variable_key(std::string_view key);
/// That rule, for messages.
inline constexpr std::string_view kVariableKeyRule =
    "a letter, then up to 99 letters, digits, `_`, `-` and `.`";

/// Whose variable it is. What the scope does not need is zero, so that equal owners are equal.
struct VariableOwner {
  VariableScope scope{};
  NamespaceNumber space{};
  WorkflowNumber workflow{};
  InstanceId instance;

  bool operator==(const VariableOwner&) const = default;
};

/// The owner that the scope means for a state of that instance.
VariableOwner owner_of(const Instance& instance, VariableScope scope);
VariableOwner owner_of(NamespaceNumber space, WorkflowNumber workflow, const InstanceId& instance,
                       VariableScope scope);

struct VariableName {
  VariableOwner owner;
  std::string key;

  bool operator==(const VariableName&) const = default;
};

struct Variable {
  std::string content_type;
  std::string bytes;
  bool sealed = false;  ///< it was set by a sealed instance

  bool operator==(const Variable&) const = default;
};

/// The error of one that is not there: `variable.not_found`.
Error no_variable(std::string_view key);

}  // namespace millrace
