// The table of error codes: its form, docs/errors.md, and that the sources make exactly its codes.
#include "language/error_table.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kErrorsPage = "docs/errors.md";

constexpr const char* kHeadOfErrorsPage = R"(# Error codes

This page lists all error codes of millrace, except those of the findings about a store, which are in [store-check.md](store-check.md).

An error has a code and a text. The code stays the same between releases of millrace; the text is for people. Over HTTP, an error is
`application/problem+json` with the members `code` and `detail` ([http.md](http.md)). The command line prints both.

`language/error_table.h` has these codes for the program. A test compares this page with it, and writes this page with `UPDATE_GOLDEN=1`.
)";

struct ErrorGroup {
  const char* heading;
  const char* about;
  std::span<const ErrorEntry> entries;
};

std::vector<ErrorGroup> groups() {
  return {
      {"Answers of the HTTP API",
       "A call of the HTTP API answers with these errors. The codes `event.…` are also reasons of "
       "dead letters.",
       request_errors()},
      {"Errors of instances",
       "millrace raises these errors in an instance, and `catch` matches them "
       "([language.md](language.md)). Those with a status are also answers of the\nHTTP API. "
       "Functions, subflows and states of `type: error` may raise any other code.",
       instance_errors()},
      {"Findings about definitions",
       "`millrace lint`, `millrace test` and the HTTP API report these findings, each with its "
       "position and a correction. Those that begin with `lint.` are\nwarnings or notes. Those "
       "with a "
       "status are also answers to a trial of an expression.",
       definition_errors()},
      {"Other errors",
       "The command line prints these errors, a server writes them to its log or shows them in "
       "`/readyz`, or they are reasons of dead letters or of a replay that failed. Those with a "
       "status are\nalso answers to a trial of an expression.",
       program_errors()}};
}

std::string errors_page() {
  std::string page = kHeadOfErrorsPage;
  for (const ErrorGroup& group : groups()) {
    const bool has_status = std::any_of(group.entries.begin(), group.entries.end(),
                                        [](const ErrorEntry& one) { return one.status != 0; });
    const std::string column = has_status ? " status |" : "";
    page += fmt::format("\n## {}\n{}\n\n| code |{} meaning | what to do |\n| --- |{} --- | --- |\n",
                        group.heading, group.about, column, has_status ? " --- |" : "");
    for (const ErrorEntry& one : group.entries) {
      const std::string status = one.status == 0 ? "|" : fmt::format("{} |", one.status);
      page += fmt::format("| `{}` |{} {} | {} |\n", one.code, has_status ? " " + status : "",
                          one.meaning, one.action);
    }
  }
  return page;
}

/// Whether the text has the form of a code but is something else: the type of a lifecycle event, a
/// label, the name of a file, a prefix, or a place in a definition.
bool is_no_error(const std::string& text) {
  static const std::set<std::string> others = {
      "backup.json",     "input.json",     "millrace.data", "millrace.quota",
      "millrace.source", "millrace.task",  "start.cron",    "start.correlate",
      "start.events",    "start.lifespan", "start.type",
  };
  for (const char* const prefix : {"millrace.instance.", "millrace.step.", "millrace.retry."}) {
    if (text.starts_with(prefix)) return true;
  }
  return others.contains(text);
}

/// Calls `see` with each source of the program that may make errors of the table, and its text.
void each_source(const std::function<void(const fs::path&, const std::string&)>& see) {
  for (const char* const room :
       {"app", "base", "broker", "cli", "cloudevents", "cluster", "expressions", "functions",
        "gateway", "http", "language", "matchers", "model", "orchestrator", "os", "policies",
        "scenarios", "states"}) {
    for (const auto& entry : fs::recursive_directory_iterator(room)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".cc" && path.extension() != ".h") continue;
      if (path.filename().string().starts_with("errors_of_")) continue;
      if (path == fs::path("orchestrator/check/finding.cc")) continue;  // docs/store-check.md
      see(path, file_bytes(path));
    }
  }
}

/// All texts in quotes in the sources that have the form of a code, each with a file that contains
/// it.
std::map<std::string, std::string> texts_like_codes() {
  // The list of the errors of a route makes none.
  static const std::regex kListed(R"(\.errors = \{[^}]*\})");
  static const std::regex kText(R"x("([a-z]+(\.[A-Za-z0-9_]+)*)")x");
  std::map<std::string, std::string> texts;
  each_source([&](const fs::path& path, const std::string& whole) {
    const std::string source = std::regex_replace(whole, kListed, "");
    for (std::sregex_iterator text(source.begin(), source.end(), kText), end; text != end; ++text) {
      texts.emplace((*text)[1], path.string());
    }
  });
  return texts;
}

TEST(ErrorTable, IsSortedAndSaysOfEachCodeWhatItMeansAndWhatToDo) {
  std::set<std::string_view> all;
  for (const ErrorGroup& group : groups()) {
    std::string_view before;
    for (const ErrorEntry& one : group.entries) {
      EXPECT_LT(before, one.code) << "the codes of a group are sorted";
      EXPECT_TRUE(all.insert(one.code).second) << one.code << " is listed twice";
      EXPECT_EQ(find_error(one.code), &one) << one.code;
      EXPECT_TRUE(one.meaning.ends_with('.') && one.action.ends_with('.')) << one.code;
      EXPECT_TRUE(one.status == 0 || (one.status >= 400 && one.status < 600)) << one.code;
      before = one.code;
    }
  }
  EXPECT_EQ(find_error("no.such_code"), nullptr);
  for (const ErrorEntry& one : request_errors()) EXPECT_NE(one.status, 0U) << one.code;
}

TEST(ErrorTable, HasExactlyTheCodesThatTheSourcesMake) {
  const std::map<std::string, std::string> texts = texts_like_codes();
  std::set<std::string> families;
  for (const ErrorGroup& group : groups()) {
    for (const ErrorEntry& one : group.entries) {
      EXPECT_TRUE(texts.contains(std::string(one.code)))
          << one.code << " is in the error table, but no source makes it";
      const size_t dot = one.code.find('.');
      if (dot != std::string_view::npos) families.emplace(one.code.substr(0, dot));
    }
  }
  for (const auto& [text, file] : texts) {
    const size_t dot = text.find('.');
    if (dot == std::string::npos || !families.contains(text.substr(0, dot))) continue;
    EXPECT_TRUE(is_no_error(text) || find_error(text) != nullptr)
        << file << " makes the code " << text
        << ", which is not in the error table: add it to language/errors_of_*.cc, then run this "
           "test with UPDATE_GOLDEN=1 to write docs/errors.md";
  }
}

TEST(ErrorTable, HasEachCodeWithWhichAFunctionFails) {
  static const std::regex kFails(R"x(\b(fail|Error)\s*[({]\s*"([a-z]+(\.[A-Za-z0-9_]+)*)")x");
  each_source([](const fs::path& path, const std::string& source) {
    for (std::sregex_iterator made(source.begin(), source.end(), kFails), end; made != end;
         ++made) {
      EXPECT_NE(find_error(std::string((*made)[2])), nullptr)
          << path << " fails with " << (*made)[2] << ", which is not in the error table";
    }
  });
}

TEST(ErrorTable, IsThePageOfErrorCodes) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(kErrorsPage) << errors_page();
  EXPECT_EQ(file_bytes(kErrorsPage), errors_page()) << "UPDATE_GOLDEN=1 writes the page";
}

}  // namespace
}  // namespace millrace
