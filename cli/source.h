// Where the bytes come from that a verb sends: files, standard input, literals; and fresh ids. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace millrace {

/// The bytes of a file, or of standard input for `-`. Exit kUsage, `file.unreadable`: the path is a
/// directory, may not be read, or holds more than any verb sends.
Fallible<std::string> read_file(Console& console, const std::string& name);

/// A definition with the name that findings about it begin with.
struct DefinitionFile {
  std::string name;
  std::string text;
};

/// The definitions that the arguments of `apply` and `lint` name: a file itself, `-` standard
/// input, a folder all that definition_files_below finds. Scenario files, and files of a folder
/// that hold something else, are skipped with a line on standard error. Exit kUsage: a file
/// cannot be read, or no definition is left.
Fallible<std::vector<DefinitionFile>> read_definitions(Console& console,
                                                       const std::vector<std::string>& names);

/// What `JSON|@file|-` stands for. A literal must be JSON; the bytes of files are not looked at.
Fallible<std::string> read_value(Console& console, const std::string& value);

/// A new random id for an event or an idempotency key: a UUID.
std::string fresh_id(Console& console);

}  // namespace millrace
