// The bound on the values of the label `namespace` of metrics that any author of workflows can make
// grow: each value is a series that the reader of the metrics stores.
#pragma once

#include <cstddef>

namespace millrace {

/// The most namespaces that such a metric shows by their names.
inline constexpr size_t kMostNamespaceLabels = 100;

/// The label of all others together, and of what is of no namespace. It is not a valid name of a
/// namespace.
inline constexpr const char* kOtherNamespaces = "(other)";

}  // namespace millrace
