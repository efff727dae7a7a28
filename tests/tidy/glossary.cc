#include "tests/tidy/glossary.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/characters.h"

namespace millrace {
namespace {

constexpr std::string_view kRetired = "## Retired words";

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

/// The cells of a row of a table in Markdown; none for its head and for other lines.
std::vector<std::string> cells_of(const std::string& line) {
  if (!line.starts_with("| ") || line.starts_with("| ---")) return {};
  std::vector<std::string> cells;
  for (const std::string& cell : split(line.substr(1), '|')) cells.emplace_back(trimmed(cell));
  if (cells.front() == "term" || cells.front() == "retired") return {};
  return cells;
}

/// Replaces the bytes from `begin` to `end` by blanks; line ends stay.
void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

void blank_between(std::string& text, std::string_view from, std::string_view to) {
  for (size_t begin = text.find(from); begin != std::string::npos;) {
    const size_t end = std::min(text.find(to, begin + from.size()), text.size());
    blank(text, begin, end + to.size());
    begin = text.find(from, std::min(end + to.size(), text.size()));
  }
}

/// Blanks each text between two of these marks that has no blank in it. A text ends with its line.
void blank_tokens(std::string& text, char mark) {
  size_t begin = text.find(mark);
  while (begin != std::string::npos) {
    const size_t end = text.find_first_of(std::string{mark, '\n'}, begin + 1);
    if (end == std::string::npos) return;
    const bool is_token = text[end] == mark && text.find(' ', begin) > end;
    if (is_token) blank(text, begin, end + 1);
    begin = text.find(mark, end + 1);
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  bool was_lower = false;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_lower = c >= 'a' && c <= 'z';
    if (!(is_upper || is_lower) || (is_upper && was_lower)) end_word();
    if (is_upper) word.push_back(static_cast<char>(c - 'A' + 'a'));
    if (is_lower) word.push_back(c);
    was_lower = is_lower;
  }
  end_word();
  return words;
}

std::vector<std::string> defined_terms(const std::string& page) {
  std::vector<std::string> terms;
  for (const std::string& line : split(page.substr(0, page.find(kRetired)), '\n')) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty()) continue;
    for (const std::string& term : split(cells.front(), ',')) terms.emplace_back(trimmed(term));
  }
  return terms;
}

std::vector<RetiredTerm> retired_terms(const std::string& page) {
  std::vector<RetiredTerm> terms;
  const size_t begin = page.find(kRetired);
  if (begin == std::string::npos) return terms;
  for (const std::string& line : split(page.substr(begin), '\n')) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 2) continue;
    for (const std::string& term : split(cells[0], ',')) {
      terms.push_back({words_of(term), cells[1]});
    }
  }
  return terms;
}

std::string without_data(const std::string& file, const std::string& text) {
  std::string rest = text;
  if (file.ends_with(".md")) {
    blank_between(rest, "```", "```");
  } else {
    blank_between(rest, "R\"(", ")\"");
    blank_tokens(rest, '"');
  }
  blank_tokens(rest, '`');
  return rest;
}

std::vector<std::string> retired_uses(const std::vector<RetiredTerm>& terms,
                                      const std::string& file, const std::string& text) {
  std::vector<std::string> uses;
  size_t number = 0;
  for (const std::string& line : split(without_data(file, text), '\n')) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    for (const RetiredTerm& term : terms) {
      if (std::search(words.begin(), words.end(), term.words.begin(), term.words.end()) ==
          words.end()) {
        continue;
      }
      uses.push_back(fmt::format("{}:{}: \"{}\": write {}", file, number,
                                 fmt::join(term.words, " "), term.instead));
    }
  }
  return uses;
}

}  // namespace millrace
