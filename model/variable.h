// Variables: values that outlive the state that set them, under a key in the scope of an instance,
// a workflow or a namespace (Direktiv's getter and setter). If several instances set a variable,
// the last write wins.
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

/// The name of the scope: "instance", "workflow" or "namespace".
std::string_view to_string(VariableScope scope);

/// Whether `key` is a valid key of a variable: a letter, then letters, digits, `_`, `-`, `.`; at
/// most 100 bytes.
bool is_variable_key(std::string_view key);
/// The rule for keys of variables, for messages.
inline constexpr std::string_view kVariableKeyRule =
    "a letter, then up to 99 letters, digits, `_`, `-` and `.`";

/// The instance, workflow or namespace that a variable belongs to. Fields that the scope does not
/// use are zero, so that equal owners compare equal.
struct VariableOwner {
  VariableScope scope{};
  NamespaceNumber ns{};
  WorkflowNumber workflow{};
  InstanceId instance;

  bool operator==(const VariableOwner&) const = default;
};

/// The owner of the variables in `scope`, seen from a state of the instance.
VariableOwner owner_of(const Instance& instance, VariableScope scope);
VariableOwner owner_of(NamespaceNumber ns, WorkflowNumber workflow, const InstanceId& instance,
                       VariableScope scope);

struct VariableName {
  VariableOwner owner;
  std::string key;

  bool operator==(const VariableName&) const = default;
};

struct Variable {
  std::string content_type;
  std::string bytes;
  Sealing sealed;  ///< that of the instance that set the variable

  bool operator==(const Variable&) const = default;
};

/// The content type of a variable that a file becomes, which the bytes of the file decide: JSON,
/// text or binary.
std::string content_type_of_file(std::string_view bytes);

/// The error for a variable that does not exist: `variable.not_found`.
Error no_variable(std::string_view key);

}  // namespace millrace
