#include "tests/tidy/citations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr size_t kShortestPage = 5;  // letters; shorter words in capitals are abbreviations

bool is_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

bool names_file(std::string_view word) {
  static constexpr std::array<std::string_view, 6> kEndings = {".h",     ".cc", ".md",
                                                               ".table", ".sh", ".cmake"};
  return std::any_of(kEndings.begin(), kEndings.end(), [word](std::string_view ending) {
    if (word.size() <= ending.size() || !word.ends_with(ending)) return false;
    const char before = word[word.size() - ending.size() - 1];
    return before != '/' && before != '.';
  });
}

bool is_end_of_one(const std::set<std::string>& paths, const std::string& word) {
  return std::any_of(paths.begin(), paths.end(),
                     [end = "/" + word](const std::string& path) { return path.ends_with(end); });
}

bool is_there(const Citable& citable, const std::string& file, const std::string& word) {
  const std::string beside =
      (std::filesystem::path(file).parent_path() / word).lexically_normal().string();
  return citable.files.contains(word) || citable.files.contains(beside) ||
         citable.headers.contains(word) || is_end_of_one(citable.files, word) ||
         is_end_of_one(citable.headers, word);
}

/// Whether a word cites a page or a section that does not exist. A citation of a page is a word in
/// capitals that names a page, or that a quotation follows.
bool misses_page(const Citable& citable, std::string_view word, std::string_view rest) {
  const bool is_page =
      word.size() >= kShortestPage && std::all_of(word.begin(), word.end(), [](char c) {
        return std::isupper(static_cast<unsigned char>(c)) != 0;
      });
  const auto found = citable.headings.find(word);
  const bool is_quoted = rest.starts_with(" \"");
  if (!is_page || (found == citable.headings.end() && !is_quoted)) return false;
  if (found == citable.headings.end() || !is_quoted) return true;
  const std::string_view section = rest.substr(2, rest.find('"', 2) - 2);
  return !found->second.contains(std::string(section));
}

std::string_view comment_of(std::string_view line) {
  const size_t begin = line.find("//");
  if (begin == std::string_view::npos || (begin > 0 && line[begin - 1] == ':')) return {};
  return line.substr(line.find_first_not_of('/', begin) == std::string_view::npos
                         ? line.size()
                         : line.find_first_not_of('/', begin));
}

/// "document" and three digits: the number of a page that is not in the tree.
std::vector<std::string> numbered_pages(std::string_view line) {
  static const std::regex kNumbered("\\b[Dd]ocuments? [0-9]{3}\\b");
  std::vector<std::string> pages;
  using Match = std::regex_iterator<std::string_view::const_iterator>;
  for (Match at(line.begin(), line.end(), kNumbered); at != Match(); ++at)
    pages.push_back(at->str());
  return pages;
}

std::vector<std::string> missing_in_line(const Citable& citable, const std::string& file,
                                         std::string_view line, bool is_comment) {
  std::vector<std::string> missing;
  for (size_t at = 0; at < line.size();) {
    if (!is_part(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && is_part(line[at])) ++at;
    const std::string_view whole = line.substr(begin, at - begin);
    // A path outside the tree, or a part of an address, of a pattern or of a variable's value.
    const bool is_other = begin > 0 && std::string_view("<*?:$}~@+\\").find(line[begin - 1]) !=
                                           std::string_view::npos;
    const std::string word(whole.substr(0, whole.find_last_not_of('.') + 1));
    if (is_other || word.starts_with("/")) continue;
    const bool misses = is_comment && misses_page(citable, word, line.substr(at));
    if (misses || (names_file(word) && !is_there(citable, file, word))) missing.push_back(word);
  }
  return missing;
}

}  // namespace

std::set<std::string> library_headers(std::string_view text) {
  constexpr std::string_view kInclude = "#include <";
  std::set<std::string> headers;
  for (size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at + 1)) {
    const size_t begin = at + kInclude.size();
    headers.emplace(text.substr(begin, text.find('>', begin) - begin));
  }
  return headers;
}

std::set<std::string> headings_of(const std::string& page) {
  std::set<std::string> headings;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    headings.insert(line.substr(text + 1));
  }
  return headings;
}

std::vector<std::string> missing_citations(const Citable& citable, const std::string& file,
                                           const std::string& text) {
  const bool is_code = file.ends_with(".h") || file.ends_with(".cc");
  std::vector<std::string> missing;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view read = is_code ? comment_of(line) : std::string_view(line);
    std::vector<std::string> words = missing_in_line(citable, file, read, is_code);
    std::ranges::copy(numbered_pages(read), std::back_inserter(words));
    for (const std::string& word : words) {
      missing.push_back(fmt::format("{}:{}: {}", file, number, word));
    }
  }
  return missing;
}

std::set<std::string> tests_of(const std::string& source) {
  static const std::regex kTest(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> tests;
  for (std::sregex_iterator at(source.begin(), source.end(), kTest), end; at != end; ++at) {
    tests.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  return tests;
}

std::vector<std::string> missing_tests(const std::set<std::string>& tests, const std::string& file,
                                       const std::string& page) {
  static const std::regex kCited(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
  std::vector<std::string> missing;
  std::istringstream lines(page);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    for (std::sregex_iterator at(line.begin(), line.end(), kCited), end; at != end; ++at) {
      const std::string name = (*at)[1].str();
      if (!tests.contains(name)) missing.push_back(fmt::format("{}:{}: {}", file, number, name));
    }
  }
  return missing;
}

}  // namespace millrace
