// The commands of a page of the documentation, which a test runs section by section.
#pragma once

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "tests/support/millrace_server.h"

namespace millrace {

/// The blocks of a language in a section of the page, without the indentation of the list that they
/// are in.
inline std::vector<std::string> blocks_of_page(const std::string& page_file,
                                               const std::string& section,
                                               const std::string& language) {
  const std::string page = read_repository_file(page_file);
  const size_t begin = page.find("\n## " + section + "\n");
  CHECK(begin != std::string::npos, "{} has no section {}", page_file, section);
  std::istringstream lines(page.substr(begin + 1, page.find("\n## ", begin + 1) - begin));
  std::vector<std::string> blocks;
  std::optional<size_t> indentation;
  for (std::string line; std::getline(lines, line);) {
    const size_t fence = line.find("```");
    if (indentation && fence != std::string::npos) {
      indentation.reset();
    } else if (indentation) {
      blocks.back() += line.substr(std::min(*indentation, line.size())) + "\n";
    } else if (fence != std::string::npos && line.substr(fence) == "```" + language) {
      indentation = fence;
      blocks.emplace_back();
    } else if (fence != std::string::npos) {
      while (std::getline(lines, line) && line.find("```") == std::string::npos) {
      }
    }
  }
  return blocks;
}

/// The text with `to` in each place of `from`.
inline std::string with_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace millrace
