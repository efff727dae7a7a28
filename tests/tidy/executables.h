// Executables: which source files each executable of the build is made of, by the lists of CMake:
// its own, those of the libraries that it links, and the headers that these include.
#pragma once

#include <map>
#include <set>
#include <string>

namespace millrace {

/// The files of each executable, by its name. `texts` has every source file and CMakeLists.txt by
/// its path from the root.
std::map<std::string, std::set<std::string>> executables_of(
    const std::map<std::string, std::string>& texts);

}  // namespace millrace
