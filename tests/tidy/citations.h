// Citations: files, pages and tests that comments and documents name. Each cited file, page and
// test must exist in the tree. The functions scan words; they do not parse C++ or Markdown.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// What a citation may name.
struct Citable {
  std::set<std::string> files;    ///< by their path from the root
  std::set<std::string> headers;  ///< headers of libraries, as sources include them: "date/tz.h"
  /// The headings of each page, by its name without folder and ending.
  std::map<std::string, std::set<std::string>, std::less<>> headings = {};
};

/// The headers that a source includes in angle brackets.
std::set<std::string> library_headers(std::string_view text);

/// The headings of a page in Markdown.
std::set<std::string> headings_of(const std::string& page);

/// A line for each citation of something that does not exist: "base/ids.h:3: POLICIES.md". In C++
/// files it reads the comments, in other files the whole text. A citation is
/// - a word that ends like a source file or a page (`.h`, `.cc`, `.md`, `.table`, `.sh`, `.cmake`):
///   a path from the root, from the folder of the file, or the end of a path in the tree;
/// - in comments, the name of a page in capitals and one of its headings in quotes:
///   `GLOSSARY "Words"`. The name of an existing page in capitals is reported, too, if no
///   heading in quotes follows it.
std::vector<std::string> missing_citations(const Citable& citable, const std::string& file,
                                           const std::string& text);

/// The tests that a source defines, as `Suite.Name`.
std::set<std::string> tests_of(const std::string& source);

/// A line for each test that a page names (`Suite.Name`, with capitals) and that `tests` does not
/// have.
std::vector<std::string> missing_tests(const std::set<std::string>& tests, const std::string& file,
                                       const std::string& page);

}  // namespace millrace
