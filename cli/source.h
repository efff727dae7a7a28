// Reads the bytes that a verb sends, from files, standard input or literals; and makes new ids. For
// one thread only.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace millrace {

/// Reads a file, or standard input for `-`. Exit kUsage, `file.unreadable`: the path is a
/// directory, cannot be read, or has more bytes than any verb sends (64 MiB).
Fallible<std::string> read_file(Console& console, const std::string& name);

/// The text of a definition or of an inbound file, and the name with which its findings begin.
struct DefinitionFile {
  std::string name;
  std::string text;
  bool is_inbound = false;  ///< is_inbound_file()
};

/// Reads the definitions and the inbound files that the arguments of `apply` and `lint` name. An
/// argument is a file, `-` for standard input (a definition), or a folder, which stands for the
/// files that definition_files_below finds. Scenario files, and files of a folder that do not hold
/// a definition, are skipped with a line on standard error. Inbound files come last, so that the
/// workflows are known that their events start. Exit kUsage: a file cannot be read, or no file is
/// left.
Fallible<std::vector<DefinitionFile>> read_definitions(Console& console,
                                                       const std::vector<std::string>& names);

/// The bytes of an argument `JSON|@FILE|-`. A literal must be JSON; the contents of a file or of
/// standard input are not checked. Exit kUsage: the literal is not JSON, or a file cannot be read.
Fallible<std::string> read_value(Console& console, const std::string& value);

/// A new random id for an event or an idempotency key: a UUID.
std::string fresh_id(Console& console);

}  // namespace millrace
