// Definitions: which classes, structs, unions, enumerations and other names of types a source file
// defines that other files of the program can see: those that stand in a namespace with a name, or
// in none. A scan of the tokens, not a parser: it knows comments, literals, preprocessor lines and
// braces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The words and marks of a source text, in their order. A literal is one `"`; comments and
/// preprocessor lines are left out.
std::vector<std::string> tokens_of(std::string_view text);

/// Their names with the namespaces before them, `millrace::Event`, in the order of the text. What
/// is local to a function or a class, or stands in a namespace without a name, is not among them.
std::vector<std::string> visible_definitions(std::string_view text);

}  // namespace millrace
