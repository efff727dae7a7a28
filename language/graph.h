// A definition as a picture: a flowchart in mermaid's language, drawn from the text's tree by the
// grammar, so that every state type and every way out is in it.
#pragma once

#include <string>

#include "language/document.h"

namespace millrace {

/// States with their types, the ways between them (those of `catch` dotted) with what leads there,
/// the start and the ends. For a document that the loader takes.
std::string mermaid_graph(const Node& document);

}  // namespace millrace
