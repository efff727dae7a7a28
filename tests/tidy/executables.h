// Executables: which source files belong to each executable, by the CMakeLists.txt files: the
// executable's own files, the files of the libraries that it links, and the headers that these
// files include.
#pragma once

#include <map>
#include <set>
#include <string>

namespace millrace {

/// The files of each executable, by the name of the executable. `texts` has every source file and
/// CMakeLists.txt by its path from the root.
std::map<std::string, std::set<std::string>> executables_of(
    const std::map<std::string, std::string>& texts);

}  // namespace millrace
