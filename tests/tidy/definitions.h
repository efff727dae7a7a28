// Definitions: the classes, structs, unions, enumerations and aliases of types in a source file
// that other files of the program can see. These are in a named namespace or in the global one. The
// functions scan tokens: they recognize comments, literals, preprocessor lines and braces, but do
// not parse C++.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The tokens of a source text, in their order. A literal is one `"`. Comments and preprocessor
/// lines have no tokens.
std::vector<std::string> tokens_of(std::string_view text);

/// The visible definitions, with their namespaces (`millrace::Event`), in the order of the text.
/// Definitions in a function, a class or an unnamed namespace are not visible.
std::vector<std::string> visible_definitions(std::string_view text);

}  // namespace millrace
