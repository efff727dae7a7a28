// A definition as a Mermaid flowchart. The flowchart is made from the parsed text by the grammar's
// tables, so it shows states of every type and every transition.
#pragma once

#include <string>

#include "language/document.h"

namespace millrace {

/// The flowchart of a document that the loader accepts: the states with their types, the
/// transitions with their causes (dotted for `catch`), the start and the ends.
std::string mermaid_graph(const Node& document);

}  // namespace millrace
