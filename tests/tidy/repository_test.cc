// Rules for the files of the repository: a document repeats no heading, no file is empty, no source
// has more than 500 lines, a scope of CMake looks for a package once, and each function in a header
// is used.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/definitions.h"
#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

/// The headings that a document repeats under the same heading. Lines in a block of code are not
/// headings.
std::vector<std::string> headings_twice(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> above;  // the headings above the line, by level
  std::set<std::string> seen;
  std::vector<std::string> twice;
  bool is_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) is_code = !is_code;
    const size_t level = line.find_first_not_of('#');
    if (is_code || level == 0 || level == std::string::npos || line[level] != ' ') continue;
    above.resize(level);
    above.back() = line;
    std::string path;
    for (const std::string& one : above) path += one + "\n";
    if (!seen.insert(path).second) twice.push_back(line);
  }
  return twice;
}

/// The packages that one file of CMake looks for more than once.
std::vector<std::string> packages_twice(const std::string& text) {
  static const std::regex kCall(R"((find_package|pkg_check_modules)\s*\(\s*(\S+?)[\s)])");
  std::set<std::string> seen;
  std::vector<std::string> twice;
  for (std::sregex_iterator call(text.begin(), text.end(), kCall), end; call != end; ++call) {
    const std::string package = (*call)[2];
    if (!seen.insert(package).second) twice.push_back(package);
  }
  return twice;
}

TEST(Repository, RepeatsNoHeadingInADocument) {
  EXPECT_THAT(headings_twice("# A\n## B\n```sh\n# c\n# c\n```\n## C\n### B\n## D\n### B\n## B\n"),
              ElementsAre("## B"));
  size_t documents = 0;
  for (const auto& path : all_files()) {
    if (path.extension() != ".md") continue;
    ++documents;
    EXPECT_THAT(headings_twice(text_of(path)), IsEmpty()) << path;
  }
  EXPECT_THAT(documents, Gt(20U));
}

TEST(Repository, HasNoEmptyFile) {
  size_t files = 0;
  for (const auto& path : all_files()) {
    ++files;
    EXPECT_GT(std::filesystem::file_size(path), 0U) << path;
  }
  EXPECT_THAT(files, Gt(500U));
}

size_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// A longer source has more than one concept.
constexpr size_t kMostLines = 500;

TEST(Repository, HasNoSourceOverFiveHundredLines) {
  EXPECT_EQ(lines_of("a\nb\n"), 2U);
  size_t sources = 0;
  for (const auto& path : all_files()) {
    if (path.extension() != ".cc" && path.extension() != ".h") continue;
    ++sources;
    EXPECT_LE(lines_of(text_of(path)), kMostLines) << path;
  }
  EXPECT_THAT(sources, Gt(500U));
}

TEST(Repository, LooksForEachCMakePackageOnceInAFile) {
  EXPECT_THAT(packages_twice("find_package(fmt REQUIRED)\npkg_check_modules(A b)\n"
                             "find_package( fmt CONFIG)\n"),
              ElementsAre("fmt"));
  size_t packages = 0;
  for (const auto& path : all_files()) {
    if (path.filename() != "CMakeLists.txt") continue;
    const std::string text = text_of(path);
    EXPECT_THAT(packages_twice(text), IsEmpty()) << path;
    packages += text.find("find_package") != std::string::npos ? 1 : 0;
    if (path.parent_path() == root()) continue;
    const std::string with_first = text_of(root() / "CMakeLists.txt") + text;
    EXPECT_THAT(packages_twice(with_first), IsEmpty()) << path;
  }
  EXPECT_THAT(packages, Gt(5U));
}

/// A function that a header declares.
struct DeclaredFunction {
  std::string name;
  bool has_body = false;  ///< the header has the body, too
};

bool is_word(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token.front())) != 0 || token.front() == '_';
}

/// Whether the token may end a type. In a declaration of a function, a type stands before the name.
/// An expression such as `a * f(x)` looks the same.
bool ends_type(const std::vector<std::string>& tokens, size_t at) {
  static const std::set<std::string> kNoTypes = {"return", "else", "throw", "new", "case"};
  const std::string& token = tokens[at];
  if (token == ">") return at > 0 && tokens[at - 1] != "-";
  if (token == "&" || token == "*") return true;
  return is_word(token) && !kNoTypes.contains(token);
}

std::vector<DeclaredFunction> declared_functions(const std::vector<std::string>& tokens) {
  std::vector<DeclaredFunction> found;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!is_word(tokens[i]) || tokens[i + 1] != "(" || !ends_type(tokens, i - 1)) continue;
    int depth = 0;
    size_t end = i + 1;
    for (; end < tokens.size(); ++end) {
      depth += tokens[end] == "(" ? 1 : tokens[end] == ")" ? -1 : 0;
      if (depth == 0 && (tokens[end] == "{" || tokens[end] == ";")) break;
    }
    found.push_back({tokens[i], end < tokens.size() && tokens[end] == "{"});
  }
  return found;
}

/// The text without `#`, so that tokens_of() reads the bodies of macros, too.
std::string with_macros(std::string text) {
  std::replace(text.begin(), text.end(), '#', ' ');
  return text;
}

/// The functions of the headers whose names occur in their declaration and definition only.
/// unused_functions() compares only names: it does not find an unused function if another function
/// has the same name.
std::vector<std::string> unused_functions(const std::vector<std::string>& headers,
                                          const std::vector<std::string>& sources) {
  std::map<std::string, size_t> mentions;
  std::map<std::string, bool> declared;  // names, and whether the header has the body
  for (const std::string& header : headers) {
    for (const std::string& token : tokens_of(with_macros(header))) ++mentions[token];
    for (const DeclaredFunction& one : declared_functions(tokens_of(header))) {
      declared.emplace(one.name, one.has_body);
    }
  }
  for (const std::string& source : sources) {
    for (const std::string& token : tokens_of(with_macros(source))) ++mentions[token];
  }
  std::vector<std::string> unused;
  for (const auto& [name, has_body] : declared) {
    if (mentions[name] <= (has_body ? 1U : 2U)) unused.push_back(name);
  }
  return unused;
}

TEST(Repository, HasNoUnusedFunctionInAHeader) {
  EXPECT_THAT(unused_functions({R"(
#define CALL(a) in_macro(a)
void in_macro(int a);
class A {
  void used();
  int unused() const;
  bool never() const { return other(); }
  void asked() const { x->wait(1); }
};
int nowhere(int a);)"},
                               {"void A::used() {} int A::unused() const {} int main() { "
                                "a.used(); a.asked(); other(); } void in_macro(int) {}"}),
              ElementsAre("never", "nowhere", "unused"));
  std::vector<std::string> headers;
  std::vector<std::string> sources;
  for (const auto& path : all_files()) {
    if (path.extension() != ".h" && path.extension() != ".cc") continue;
    const bool is_program = is_program_source(path.lexically_relative(root()));
    (is_program && path.extension() == ".h" ? headers : sources).push_back(text_of(path));
  }
  EXPECT_THAT(headers, SizeIs(Gt(200U)));
  EXPECT_THAT(unused_functions(headers, sources), IsEmpty());
}

}  // namespace
}  // namespace millrace
